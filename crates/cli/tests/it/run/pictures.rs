//! Pictures of adversarial tests: of every shape that is an image, exact or with a note.

use deepconcolic_dataset::arrays::NpzReader;

use super::bed::{Bed, IMAGES, Left};
use super::onnx::{Channels, IMAGE, images, twin};
use super::picture::Picture;

/// The adversarial tests of a run with their pictures, one after the other.
fn pictures(run: &Left) -> Vec<(Vec<f32>, Picture)> {
    let folder = run.0.join("adversarial");
    let mut file = NpzReader::open(&folder.join("adversarial.npz")).unwrap();
    let x = file.read::<f32>("x").unwrap();
    let each: usize = x.shape[1..].iter().product();
    let column = |file: &mut NpzReader, name: &str| file.read::<i64>(name).unwrap().values;
    let (test, truth) = (column(&mut file, "test"), column(&mut file, "y"));
    let label = column(&mut file, "label");
    let rows = x.values.chunks(each).enumerate();
    rows.map(|(row, x)| {
        let name = format!("{:06}-{}-as-{}.png", test[row], truth[row], label[row]);
        (x.to_vec(), Picture::read(&folder.join(name)))
    })
    .collect()
}

fn notes(run: &Left) -> Vec<String> {
    let notes = run.summary()["notes"].clone();
    let notes = notes.as_array().unwrap().clone();
    let texts = notes.iter().map(|note| note.as_str().unwrap().to_owned());
    texts.filter(|note| note.contains("picture")).collect()
}

const SEARCH: [&str; 10] = [
    "--criterion",
    "nc",
    "--seeds",
    "4",
    "--radius",
    "0.4",
    "--adversarial-radius",
    "0.4",
    "--max-executions",
    "3000",
];

#[test]
fn small_images_of_three_channels_have_exact_pictures_wherever_their_channels_are() {
    let bed = Bed::new();
    let data = bed.name("data.npz");
    images(&bed.path("data.npz"), 30);
    let [height, width, depth] = IMAGE;
    for channels in [Channels::Last, Channels::First] {
        let out = if channels == Channels::Last {
            "last"
        } else {
            "first"
        };
        let model = bed.name(&format!("{out}.onnx"));
        twin(&bed.path(&format!("{out}.onnx")), channels, 1);
        let flags = [
            "--criterion",
            "kmnc",
            "--radius",
            "0.6",
            "--adversarial-radius",
            "1",
        ];
        let more = [
            "--quantise",
            "255",
            // Fewer tests than pictures are written of.
            "--max-executions",
            "900",
            "--seeds",
            "9",
        ];
        let flags = [&flags[..], &more].concat();
        let run = bed.run(out, [&model, "--data", &data], &flags);
        let all = pictures(&run);
        assert!(!all.is_empty());
        for (x, picture) in all {
            assert_eq!(picture.size, [height, width, depth]);
            for (row, column, channel) in (0..height * width * depth)
                .map(|i| (i / (width * depth), i / depth % width, i % depth))
            {
                let at = match channels {
                    Channels::Last => (row * width + column) * depth + channel,
                    _ => (channel * height + row) * width + column,
                };
                let level = picture.levels[(row * width + column) * depth + channel];
                assert_eq!((f32::from(level) / 255.0).to_bits(), x[at].to_bits());
            }
        }
        assert_eq!(notes(&run), [""; 0]);
    }
}

#[test]
fn a_grid_that_sixteen_bits_hold_gets_such_pictures() {
    let bed = Bed::new();
    // Seeds of the demo are 8-bit images, and 257 x 255 is 65535.
    let flags = [&SEARCH[..], &["--quantise", "65535"]].concat();
    let run = bed.run("run", IMAGES, &flags);
    let all = pictures(&run);
    assert!(!all.is_empty());
    for (x, picture) in all {
        assert_eq!(picture.bits, 16);
        let values = picture
            .levels
            .iter()
            .map(|&level| f32::from(level) / 65535.0);
        assert!(
            values
                .zip(&x)
                .all(|(value, x)| value.to_bits() == x.to_bits())
        );
    }
    assert_eq!(notes(&run), [""; 0]);
}

#[test]
fn pictures_that_are_not_exactly_the_tests_say_by_how_much() {
    let bed = Bed::new();
    for (out, more) in [("sixteenths", &["--quantise", "16"][..]), ("any", &[])] {
        let run = bed.run(out, IMAGES, &[&SEARCH[..], more].concat());
        let mut off = 0.0_f64;
        for (x, picture) in pictures(&run) {
            assert_eq!(picture.bits, 8);
            for (level, x) in picture.levels.iter().zip(x) {
                off = off.max((f64::from(*level) / 255.0 - f64::from(x)).abs());
            }
        }
        let notes = notes(&run);
        let [note] = &notes[..] else {
            panic!("{notes:?}")
        };
        let number = note
            .split("at most ")
            .nth(1)
            .unwrap()
            .split(';')
            .next()
            .unwrap();
        let stated: f64 = number.parse().unwrap();
        assert!(
            off > 0.0015 && off <= stated + 1e-9 && stated < off + 2e-4,
            "{note}: {off}"
        );
    }
}

#[test]
fn where_there_are_no_pictures_a_note_says_why() {
    let bed = Bed::new();
    let data = bed.name("data.npz");
    images(&bed.path("data.npz"), 30);
    twin(&bed.path("flat.onnx"), Channels::Flat, 1);
    let flags = [
        "--criterion",
        "kmnc",
        "--radius",
        "0.6",
        "--adversarial-radius",
        "1",
    ];
    let flags = [&flags[..], &["--max-executions", "3000", "--seeds", "9"]].concat();
    let run = bed.run("flat", [&bed.name("flat.onnx"), "--data", &data], &flags);
    assert!(run.summary()["adversarial"]["count"].as_u64().unwrap() > 0);
    let notes = notes(&run);
    assert!(
        notes[0].contains("no pictures: inputs of shape 90 are no images"),
        "{notes:?}"
    );
    assert!(
        !std::fs::read_dir(run.0.join("adversarial"))
            .unwrap()
            .any(|entry| {
                entry
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|e| e == "png")
            })
    );
}
