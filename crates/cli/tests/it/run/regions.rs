//! Where generated tests lie, measured again here: within the radius, the domain, the grid, a box.

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;

use super::bed::{Bed, IMAGES, Left, PIXELS, Suite, TABLE, count, replay};
use super::picture::Picture;

const FEW: [&str; 6] = [
    "--criterion",
    "nc",
    "--seeds",
    "2",
    "--max-executions",
    "2500",
];

/// A distance of two inputs.
type Norm = fn(&[f32], &[f32]) -> f64;

fn differences<'a>(a: &'a [f32], b: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
    a.iter()
        .zip(b)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs())
}

fn linf(a: &[f32], b: &[f32]) -> f64 {
    differences(a, b).fold(0.0, f64::max)
}

fn l1(a: &[f32], b: &[f32]) -> f64 {
    differences(a, b).sum()
}

fn l2(a: &[f32], b: &[f32]) -> f64 {
    differences(a, b).map(|d| d * d).sum::<f64>().sqrt()
}

fn in_unit_box(x: &[f32]) -> bool {
    x.iter().all(|x| (0.0..=1.0).contains(x))
}

/// Checks every generated test, and that there are some; gives the suite.
fn examine(run: &Left, sound: impl Fn(&[f32], &[f32], f64) -> bool) -> Suite {
    let (code, text) = replay(run, &[]);
    assert_eq!(code, 0, "{text}");
    let suite = run.suite();
    assert!(suite.rows.len() > suite.seeds, "nothing was generated");
    for (test, x, root) in suite.generated() {
        let distance = f64::from(suite.distance[test]);
        assert!(sound(x, root, distance), "test {test} at {distance}");
    }
    suite
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-5 * a.abs().max(1.0)
}

#[test]
fn balls_of_every_norm_hold() {
    let bed = Bed::new();
    let norms: [(&str, &str, Norm); 4] = [
        ("linf", "0.1", linf),
        ("l1", "20", l1),
        ("l2", "2", l2),
        ("linf", "0", linf),
    ];
    for (number, (name, radius, norm)) in norms.into_iter().enumerate() {
        let flags = [&FEW[..], &["--norm", name, "--radius", radius]].concat();
        let run = bed.run(&number.to_string(), IMAGES, &flags);
        let radius: f64 = radius.parse().unwrap();
        if radius == 0.0 {
            let suite = run.suite();
            assert!(suite.generated().all(|(_, x, root)| x == root));
            continue;
        }
        let suite = examine(&run, |x, root, distance| {
            let found = norm(x, root);
            found <= radius && in_unit_box(x) && near(found, distance)
        });
        let furthest = suite.distance.iter().copied().fold(0.0, f32::max);
        assert!(f64::from(furthest) > 0.5 * radius, "{name}: {furthest}");
        assert_eq!(run.summary()["radius"], radius);
    }
}

#[test]
fn without_a_radius_the_domain_is_the_limit() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &[&FEW[..], &["--radius", "none"]].concat());
    let suite = examine(&run, |x, root, distance| {
        in_unit_box(x) && near(linf(x, root), distance)
    });
    assert!(suite.distance.iter().any(|&d| d > 0.3));
    assert!(run.summary()["radius"].is_null());
    let narrow = ["--radius", "none", "--domain", "-0.5..1.5"];
    let run = bed.run("wide", IMAGES, &[&FEW[..], &narrow].concat());
    // Distances are in units of the width, which is 2.
    let suite = examine(&run, |x, root, distance| {
        x.iter().all(|x| (-0.5..=1.5).contains(x)) && near(linf(x, root) / 2.0, distance)
    });
    assert!(suite.rows.iter().any(|x| !in_unit_box(x)));
}

#[test]
fn tabular_tests_stay_in_the_observed_ranges() {
    let bed = Bed::new();
    let run = bed.run("run", TABLE, &["--criterion", "nbc", "--radius", "none"]);
    let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = manifest.join("../../testdata/data_mlp.npz");
    let data = NpzReader::open(&path).unwrap().read::<f32>("x").unwrap();
    let end = |i: usize, f: fn(f32, f32) -> f32| {
        data.values.chunks(4).map(|row| row[i]).reduce(f).unwrap()
    };
    examine(&run, |x, _, _| {
        let inside = |(i, x): (usize, &f32)| (end(i, f32::min)..=end(i, f32::max)).contains(x);
        x.iter().enumerate().all(inside)
    });
}

#[test]
fn boxes_hold_as_json_and_as_arrays() {
    let bed = Bed::new();
    let json = bed.file(
        "boxes.json",
        r#"[{"lower": 0.4, "upper": 0.6}, {"lower": 0, "upper": 0.2}]"#,
    );
    let path = bed.path("boxes.npz");
    let mut file = NpzWriter::create(&path).unwrap();
    let lower = [vec![0.4f64; PIXELS], vec![0.0; PIXELS]].concat();
    let upper = [vec![0.6f64; PIXELS], vec![0.2; PIXELS]].concat();
    file.add("lower", &[2, 1, 28, 28], &lower).unwrap();
    file.add("upper", &[2, 1, 28, 28], &upper).unwrap();
    file.finish().unwrap();
    let inside = |x: &[f32], low: f32, high: f32| x.iter().all(|x| (low..=high).contains(x));
    let runs = [("a", json), ("b", bed.name("boxes.npz"))].map(|(out, region)| {
        let run = bed.run(out, IMAGES, &[&FEW[..], &["--region", &region]].concat());
        let suite = examine(&run, |x, _, _| inside(x, 0.4, 0.6) || inside(x, 0.0, 0.2));
        let generated = &suite.rows[suite.seeds..];
        assert!(generated.iter().any(|x| inside(x, 0.4, 0.6)));
        assert!(generated.iter().any(|x| inside(x, 0.0, 0.2)));
        run
    });
    // Two ways to write the same boxes.
    assert!(runs[0].bytes("suite.npz") == runs[1].bytes("suite.npz"));
}

#[test]
fn quantised_tests_are_their_pictures() {
    let bed = Bed::new();
    let flags = [&FEW[..], &["--quantise", "255", "--radius", "0.2"]].concat();
    let run = bed.run("run", IMAGES, &flags);
    let suite = examine(&run, |x, root, _| {
        let on_grid = |x: &f32| ((x * 255.0).round() / 255.0).to_bits() == x.to_bits();
        x.iter().all(on_grid) && linf(x, root) <= 0.2
    });
    let folder = run.0.join("adversarial");
    let mut file = NpzReader::open(&folder.join("adversarial.npz")).unwrap();
    let x = file.read::<f32>("x").unwrap().values;
    let test = file.read::<i64>("test").unwrap().values;
    let truth = file.read::<i64>("y").unwrap().values;
    let label = file.read::<i64>("label").unwrap().values;
    let marked = count(&suite.verdict, 1);
    assert!(marked > 0 && marked == test.len());
    assert_eq!(run.summary()["adversarial"]["count"], marked);
    for (row, x) in x.chunks(PIXELS).enumerate() {
        let number = usize::try_from(test[row]).unwrap();
        assert_eq!(x, suite.rows[number]);
        assert_eq!(
            (suite.verdict[number], suite.label[number]),
            (1, label[row])
        );
        assert_ne!(truth[row], label[row]);
        let name = format!("{number:06}-{}-as-{}.png", truth[row], label[row]);
        let picture = Picture::read(&folder.join(name));
        let levels: Vec<u16> = x.iter().map(|x| (x * 255.0).round() as u16).collect();
        assert_eq!((picture.bits, picture.levels), (8, levels));
    }
}

/// Structural similarity as its definition has it: the mean over all 7 x 7 windows, variances with
/// one degree of freedom less.
fn ssim(a: &[f32], b: &[f32]) -> f64 {
    let mut total = 0.0;
    for corner in (0..22).flat_map(|row| (0..22).map(move |column| row * 28 + column)) {
        let at = |x: &[f32]| -> Vec<f64> {
            let places = (0..49).map(|i| corner + i / 7 * 28 + i % 7);
            places.map(|i| f64::from(x[i])).collect()
        };
        let (a, b) = (at(a), at(b));
        let mean = |x: &[f64]| x.iter().sum::<f64>() / 49.0;
        let (ma, mb) = (mean(&a), mean(&b));
        let moment = |x: &[f64], mx: f64, y: &[f64], my: f64| {
            let products = x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my));
            products.sum::<f64>() / 48.0
        };
        let (aa, bb, ab) = (
            moment(&a, ma, &a, ma),
            moment(&b, mb, &b, mb),
            moment(&a, ma, &b, mb),
        );
        let (c1, c2) = (0.01f64.powi(2), 0.03f64.powi(2));
        total +=
            (2.0 * ma * mb + c1) * (2.0 * ab + c2) / ((ma * ma + mb * mb + c1) * (aa + bb + c2));
    }
    total / (22.0 * 22.0)
}

#[test]
fn valid_tests_look_like_their_seeds() {
    let bed = Bed::new();
    let run = bed.run(
        "run",
        IMAGES,
        &[&FEW[..], &["--validity", "ssim:0.9"]].concat(),
    );
    examine(&run, |x, root, _| {
        ssim(x, root) >= 0.9 - 1e-9 && linf(x, root) <= 0.3 && in_unit_box(x)
    });
}

#[test]
fn seeds_outside_the_boxes_cover_nothing_and_boxes_end_at_the_domain() {
    let bed = Bed::new();
    // The upper half of the domain and far beyond it.
    let boxes = bed.file("boxes.json", r#"[{"lower": 0.75, "upper": 7}]"#);
    let flags = [&FEW[..], &["--region", &boxes]].concat();
    let run = bed.run("run", IMAGES, &flags);
    let notes = run.summary()["notes"].to_string();
    assert!(notes.contains("box 0 reaches beyond the domain"), "{notes}");
    let suite = examine(&run, |x, _, _| x.iter().all(|x| (0.75..=1.0).contains(x)));
    let (state, test) = run.requirements();
    assert!(count(&state, 1) > 0);
    for (row, _) in state.iter().enumerate().filter(|(_, state)| **state == 1) {
        let test = usize::try_from(test[row]).unwrap();
        assert!(test >= suite.seeds, "row {row} is shown by a seed");
    }
}
