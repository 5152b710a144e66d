//! The report from outside: complete without a script, made from the folder alone, and judged by `check`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;
use serde_json::json;

use crate::run::bed::{Bed, IMAGES, Left, PIXELS, TABLE, assert_says, check, deepconcolic, said};

const NEURONS: [&str; 8] = [
    "--criterion",
    "nc",
    "--seeds",
    "1",
    "--radius",
    "0.3",
    "--quantise",
    "255",
];

/// Exit code, standard output and standard error of `report`.
fn report(folder: &Path, more: &[&str]) -> (i32, String) {
    let arguments = [&["report", folder.to_str().unwrap()], more].concat();
    let output = deepconcolic(&arguments).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap() + &said(&output);
    (output.status.code().unwrap(), text)
}

fn text(run: &Left, file: &str) -> String {
    fs::read_to_string(run.0.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The pages of a folder.
fn pages(run: &Left) -> Vec<(String, String)> {
    let entries = fs::read_dir(&run.0).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| Path::new(name).extension().is_some_and(|e| e == "html"));
    names.map(|name| (name.clone(), text(run, &name))).collect()
}

/// What stands in quotes after each occurrence of a name.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    let parts = page.split(start.as_str());
    parts
        .skip(1)
        .map(|part| part.split('"').next().unwrap())
        .collect()
}

#[test]
fn a_run_leaves_pages_that_need_no_script_no_network_and_no_inline_style() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &NEURONS);
    let pages = pages(&run);
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    for expected in [
        "index.html",
        "adversarial.html",
        "requirements.html",
        "run.html",
        "layer-relu1.html",
    ] {
        assert!(names.contains(&expected), "{names:?}");
    }
    for (name, page) in &pages {
        for forbidden in [
            " style=",
            " onclick=",
            " onload=",
            " onmouse",
            "javascript:",
            "http://",
            "https://",
            "<style",
        ] {
            assert!(!page.contains(forbidden), "{name} has {forbidden}");
        }
        for link in attributes(page, "href")
            .into_iter()
            .chain(attributes(page, "src"))
        {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { name } else { file };
            assert!(run.0.join(file).is_file(), "{name} leads to {link}");
            assert!(
                anchor.is_empty() || text(&run, file).contains(&format!("id=\"{anchor}\"")),
                "{name} leads to {link}"
            );
        }
        assert!(page.contains("name=\"viewport\""), "{name}");
    }
}

#[test]
fn the_first_page_says_what_run_json_says_and_what_is_not_claimed() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &NEURONS);
    let (summary, index) = (run.summary(), text(&run, "index.html"));
    let adversarial = summary["adversarial"]["count"].as_u64().unwrap();
    assert_says(
        &index,
        &[
            "Within 0.3 (L-infinity) of 1 image",
            "1,726 of 1,728",
            "88 provably cannot be; 2 are open",
            &format!("{adversarial} adversarial inputs, the nearest "),
            "What this does not say",
            "and of no others",
            "not that answers are right",
        ],
    );
    let order = [
        "class=\"headline\"",
        "class=\"bars\"",
        "class=\"card\"",
        "What this does not say",
        "How coverage grew",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|part| index.find(part).expect(part))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    // Every neuron stands in the table of its layer, with what shows it.
    let layer = text(&run, "layer-relu3.html");
    assert_says(
        &layer,
        &["32 of 32 requirements covered", "seed 0", "suite.npz"],
    );
}

#[test]
fn build_servers_get_cases_and_pull_requests_a_summary() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &NEURONS);
    let junit = text(&run, "junit.xml");
    let cases = junit.matches("<testcase ").count();
    assert_says(
        &junit,
        &[
            &format!("tests=\"{cases}\""),
            "reproduce: deepconcolic replay ",
            "open: neither a test nor a proof",
        ],
    );
    let adversarial = run.summary()["adversarial"]["count"].as_u64().unwrap() as usize;
    assert_eq!(junit.matches("<failure ").count(), adversarial);
    let summary = text(&run, "summary.md");
    assert_says(
        &summary,
        &[
            "| relu1 | 1,352 | 1,262 | 88 | 2 |",
            "Coverage is of what is not proven impossible.",
            // 87.66 % of all, as the command prints.
            "as many random inputs reach 92.1 % of the same",
            "deepconcolic check ",
        ],
    );
}

#[test]
fn check_makes_the_pages_again_and_notices_an_edited_one() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &NEURONS);
    assert_eq!(check(&run, &[]).0, 0);
    for (file, from, to) in [
        ("index.html", "1,726 of 1,728", "1,728 of 1,728"),
        ("layer-relu1.html", "2 open", "0 open"),
        ("summary.md", "| 88 | 2 |", "| 90 | 0 |"),
        ("junit.xml", "<failure ", "<skipped "),
    ] {
        let whole = text(&run, file);
        assert!(whole.contains(from), "{file}");
        fs::write(run.0.join(file), whole.replace(from, to)).unwrap();
        let (code, said) = check(&run, &[]);
        assert_eq!(code, 1, "{file}: {said}");
        assert_says(&said, &[&format!("differs: {file}: ")]);
        fs::write(run.0.join(file), whole).unwrap();
    }
    fs::write(run.0.join("layer-of-nobody.html"), "all is well").unwrap();
    assert_says(
        &check(&run, &[]).1,
        &["layer-of-nobody.html", "no page of the report"],
    );
    assert_eq!(report(&run.0, &[]).0, 0);
    assert!(!run.0.join("layer-of-nobody.html").exists());
    assert_eq!(check(&run, &[]).0, 0);
}

#[test]
fn names_of_a_hostile_folder_stay_text_and_stay_in_it() {
    let bed = Bed::new();
    let run = bed.run("deep/run", IMAGES, &NEURONS);
    let mut summary = run.summary();
    let evil = "../../<script>alert(1)</script>\" onload=\"x";
    let rename = |name: &mut serde_json::Value| {
        if name == "relu1" {
            *name = json!(evil);
        }
    };
    rename(&mut summary["layers"][0]["name"]);
    rename(&mut summary["rows"][0]["layer"]);
    rename(&mut summary["model"]["layers"][0]);
    summary["model"]["path"] = json!(evil);
    summary["notes"] = json!([evil]);
    summary["command"] = json!(["deepconcolic", "run", "--out", evil]);
    summary["settings"]["names"] = json!({"classes": vec![evil; 10]});
    fs::write(run.0.join("run.json"), summary.to_string()).unwrap();
    let outside = fs::read_dir(bed.path("")).unwrap().count();
    let (code, said) = report(&run.0, &["--single-file"]);
    assert_eq!(code, 0, "{said}");
    for (name, page) in pages(&run) {
        assert!(!page.contains("<script>alert"), "{name}");
        assert!(!page.contains("onload=\"x"), "{name}");
    }
    assert!(!text(&run, "summary.md").contains("<script>alert"));
    assert!(!text(&run, "junit.xml").contains("<script>alert"));
    assert!(
        run.0
            .join("layer-script-alert-1---script---onload.html")
            .is_file()
    );
    assert_eq!(fs::read_dir(bed.path("")).unwrap().count(), outside);
}

#[cfg(unix)]
#[test]
fn a_link_in_a_folder_is_not_written_through() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &NEURONS);
    fs::write(bed.path("precious"), "mine").unwrap();
    fs::remove_file(run.0.join("index.html")).unwrap();
    std::os::unix::fs::symlink(bed.path("precious"), run.0.join("index.html")).unwrap();
    let (code, said) = report(&run.0, &[]);
    assert_eq!(code, 2, "{said}");
    assert_says(&said, &["index.html is a link"]);
    assert_eq!(fs::read_to_string(bed.path("precious")).unwrap(), "mine");
}

#[test]
fn one_file_holds_everything() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &NEURONS);
    assert_eq!(report(&run.0, &["--single-file"]).0, 0);
    let page = text(&run, "report.html");
    assert_says(
        &page,
        &[
            "<style>",
            "data:image/png;base64,",
            "id=\"layer-relu1\"",
            "href=\"#adversarial\"",
        ],
    );
    for link in attributes(&page, "href") {
        let inside = link
            .strip_prefix('#')
            .is_some_and(|id| page.contains(&format!("id=\"{id}\"")));
        let beside = link.starts_with("certificates/") || link == "statement.md";
        assert!(inside || beside, "{link}");
    }
    assert!(!page.contains("src=\"report.js\""));
    assert_eq!(check(&run, &[]).0, 0);
}

#[test]
fn a_run_is_compared_with_another() {
    let bed = Bed::new();
    let before = bed.run(
        "before",
        IMAGES,
        &["--criterion", "nc", "--seeds", "1", "--radius", "0.1"],
    );
    let run = bed.run("now", IMAGES, &NEURONS);
    let (code, said) = report(&run.0, &["--compare", before.0.to_str().unwrap()]);
    assert_eq!(code, 0, "{said}");
    let page = text(&run, "compare.html");
    assert_says(
        &page,
        &[
            "Within 0.1 (L-infinity)",
            "Within 0.3 (L-infinity)",
            "radius",
            "relu1:",
            "ended otherwise",
        ],
    );
    assert!(text(&run, "index.html").contains("compare.html"));
    let (code, said) = check(&run, &[]);
    assert_eq!(code, 0, "{said}");
    assert_says(&said, &["not verified: compare.html"]);
}

#[test]
fn several_runs_have_an_index() {
    let bed = Bed::new();
    bed.run("runs/nc", IMAGES, &NEURONS);
    bed.run(
        "runs/safety",
        TABLE,
        &["--criterion", "safety", "--seeds", "3", "--radius", "0.1"],
    );
    let (code, said) = report(&bed.path("runs"), &[]);
    assert_eq!(code, 0, "{said}");
    let index = text(&Left(bed.path("runs")), "index.html");
    assert_says(
        &index,
        &[
            "href=\"./nc/index.html\"",
            "href=\"./safety/index.html\"",
            "99.8 %",
        ],
    );
    let (code, said) = report(&bed.path(""), &[]);
    assert_eq!(code, 2, "{said}");
    assert_says(&said, &["name a folder that `run` or `verify --out` wrote"]);
}

#[test]
fn tables_show_changed_features_by_their_names() {
    let bed = Bed::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut data = NpzReader::open(&root.join("testdata/data_mlp.npz")).unwrap();
    let (x, y) = (
        data.read::<f32>("x").unwrap(),
        data.read::<i64>("y").unwrap(),
    );
    let features = x.values.len() / y.values.len();
    let names: Vec<String> = (0..features)
        .map(|n| format!("<b>feature {n}</b>"))
        .collect();
    let mut csv = names.join(",") + ",label\n";
    for (row, label) in x.values.chunks(features).zip(&y.values) {
        let values: Vec<String> = row.iter().map(ToString::to_string).collect();
        writeln!(csv, "{},class {label}", values.join(",")).unwrap();
    }
    let data = bed.file("data.csv", &csv);
    let subject = [TABLE[0], "--data", &data];
    let run = bed.run(
        "run",
        subject,
        &["--criterion", "safety", "--seeds", "3", "--radius", "0.1"],
    );
    let page = text(&run, "adversarial.html");
    assert_says(
        &page,
        &[
            "&lt;b&gt;feature 0&lt;/b&gt;",
            "<del>",
            "<ins>",
            "of its range",
            "class 0",
        ],
    );
    let requirements = text(&run, "requirements.html");
    assert_says(&requirements, &["refuted", "test "]);
    assert_eq!(check(&run, &[]).0, 0);
}

#[test]
fn what_is_no_run_is_refused_in_one_line() {
    let bed = Bed::new();
    fs::create_dir(bed.path("empty")).unwrap();
    for (folder, more) in [("empty", &[][..]), ("nowhere", &[])] {
        let (code, said) = report(&bed.path(folder), more);
        assert_eq!(code, 2, "{folder}: {said}");
        assert!(said.starts_with("error: "), "{said}");
    }
}

#[test]
fn coverage_and_verify_leave_a_page_too() {
    let bed = Bed::new();
    let out = bed.name("measured");
    let own = bed.file(
        "own.dr",
        "exists x: v[x][1,0] >= 0\nforall x: v[x][1,0] >= 0\nforall x: v[x][1,0] > 9\n",
    );
    let arguments = [
        &["coverage"],
        &IMAGES[..],
        &["--criterion", "nc", "--out", &out, "--requirements", &own],
    ]
    .concat();
    let output = deepconcolic(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let measured = Left(bed.path("measured"));
    assert_says(
        &text(&measured, "index.html"),
        &[
            "300 samples cover ",
            "relu1",
            "may be reachable or impossible",
            "own.dr: of 2 properties the data refute 1 and do not refute 1 (open)",
            "refuted by sample 0",
        ],
    );
    assert_says(
        &text(&measured, "summary.md"),
        &[
            "| nc | 1,816 |",
            "own.dr | 1 | 1 | 100 % |",
            "own.dr | 2 | 1 | 1 |",
        ],
    );
    let before = text(&measured, "index.html");
    assert_eq!(report(&measured.0, &[]).0, 0);
    assert_eq!(text(&measured, "index.html"), before);

    let inputs = (0..4).map(|n| {
        format!("(declare-const X_{n} Real)\n(assert (>= X_{n} 0))\n(assert (<= X_{n} 1))\n")
    });
    let outputs = (0..3).map(|n| format!("(declare-const Y_{n} Real)\n"));
    let property: String = outputs.chain(inputs).collect();
    let property = bed.file("p.vnnlib", &(property + "(assert (>= Y_0 100000))\n"));
    let answer = bed.name("answer");
    let output = deepconcolic(&["verify", TABLE[0], &property, "--out", &answer])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let answer = Left(bed.path("answer"));
    let verdict = String::from_utf8(output.stdout).unwrap();
    let verdict = verdict.lines().next().unwrap();
    assert_says(
        &text(&answer, "index.html"),
        &[verdict, "p.vnnlib", "of no others"],
    );
    assert_eq!(check(&answer, &[]).0, 0);
    fs::write(
        answer.0.join("index.html"),
        text(&answer, "index.html").replace("p.vnnlib", "q.vnnlib"),
    )
    .unwrap();
    assert_eq!(check(&answer, &[]).0, 1);
}

/// Numbers without an order that a file could be made small by.
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let next = |state: &u64| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    };
    std::iter::successors(Some(seed), next).map(|state| state >> 33)
}

/// Makes the folder of a run one of a network with 50,000 neurons and a suite of 5,000 tests, most of them adversarial.
fn enlarge(run: &Left) {
    const NEURONS: usize = 50_000;
    const TESTS: usize = 5_000;
    let mut summary = run.summary();
    let root = summary["settings"]["seeds"][0].as_i64().unwrap();
    let half = NEURONS / 2;
    let layer = |name: &str| json!({"name": name, "total": half, "covered": 0, "infeasible": 0, "unresolved": 0});
    summary["layers"] = json!([layer("conv"), layer("next")]);
    let group = |name: &str| json!({"layer": name, "rows": half});
    summary["rows"] = json!([group("conv"), group("next")]);
    summary["baseline"]["layers"] = json!([]);
    summary["model"]["layers"] = json!(["conv", "next"]);
    summary["settings"]["shapes"]["layers"] = json!([[50, 50, 10], [50, 50, 10]]);
    fs::write(run.0.join("run.json"), summary.to_string()).unwrap();
    let column = |of: &dyn Fn(usize) -> i64| (0..TESTS).map(of).collect::<Vec<i64>>();
    let random: Vec<u64> = noise(1).take(NEURONS).collect();
    let mut suite = NpzWriter::create(&run.0.join("suite.npz")).unwrap();
    let x: Vec<f32> = noise(2)
        .take(TESTS * PIXELS)
        .map(|n| (n % 256) as f32 / 255.0)
        .collect();
    suite.add("x", &[TESTS, 1, 28, 28], &x).unwrap();
    suite.add("root", &[TESTS], &vec![root; TESTS]).unwrap();
    suite
        .add(
            "parent",
            &[TESTS],
            &column(&|test| if test == 0 { -1 } else { 0 }),
        )
        .unwrap();
    suite.add("stage", &[TESTS], &vec![1_u8; TESTS]).unwrap();
    suite
        .add("distance", &[TESTS], &vec![0.25_f32; TESTS])
        .unwrap();
    suite
        .add(
            "label",
            &[TESTS],
            &column(&|test| (random[test] % 10) as i64),
        )
        .unwrap();
    suite
        .add("reference", &[TESTS], &vec![root; TESTS])
        .unwrap();
    let distances: Vec<f64> = random[..TESTS]
        .iter()
        .map(|n| (n % 1000) as f64 / 3000.0)
        .collect();
    suite
        .add("reference_distance", &[TESTS], &distances)
        .unwrap();
    suite
        .add("reference_label", &[TESTS], &vec![9_i64; TESTS])
        .unwrap();
    suite.add("verdict", &[TESTS], &vec![1_u8; TESTS]).unwrap();
    suite.finish().unwrap();
    let states: Vec<u8> = random.iter().map(|n| (n % 3) as u8).collect();
    let rows = [NEURONS];
    let where_state = |state: u8, of: &dyn Fn(u64) -> i64| -> Vec<i64> {
        let both = random.iter().zip(&states);
        both.map(|(&n, &s)| if s == state { of(n) } else { -1 })
            .collect()
    };
    let mut table = NpzWriter::create(&run.0.join("requirements.npz")).unwrap();
    table.add("state", &rows, &states).unwrap();
    table
        .add(
            "test",
            &rows,
            &where_state(1, &|n| (n / 3 % TESTS as u64) as i64),
        )
        .unwrap();
    table.add("test2", &rows, &vec![-1_i64; NEURONS]).unwrap();
    table.add("fragile", &rows, &vec![0_u8; NEURONS]).unwrap();
    table.add("bound", &rows, &vec![f32::NAN; NEURONS]).unwrap();
    table
        .add("certificate", &rows, &where_state(2, &|n| (n % 50) as i64))
        .unwrap();
    table.finish().unwrap();
    let mut seen = NpzWriter::create(&run.0.join("neurons.npz")).unwrap();
    seen.add("layer", &[2], &[2_i64, 3]).unwrap();
    seen.add("neurons", &[2], &[half as i64; 2]).unwrap();
    let u: Vec<f32> = random.iter().map(|n| (n % 9973) as f32 / 700.0).collect();
    let low: Vec<f32> = u.iter().map(|u| -u).collect();
    seen.add("low", &rows, &low).unwrap();
    seen.add("high", &rows, &u).unwrap();
    seen.finish().unwrap();
}

#[test]
fn fifty_thousand_neurons_and_five_thousand_tests_stay_small() {
    let bed = Bed::new();
    let run = bed.run("run", IMAGES, &NEURONS);
    enlarge(&run);
    let (code, said) = report(&run.0, &[]);
    assert_eq!(code, 0, "{said}");
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(size(&run.0.join("index.html")) < 300_000);
    let mut all = 0;
    for (name, page) in pages(&run) {
        assert!(page.len() < 3_000_000, "{name}: {}", page.len());
        all += page.len() as u64;
    }
    let pictures = fs::read_dir(run.0.join("pictures")).unwrap();
    let pictures: Vec<u64> = pictures.map(|entry| size(&entry.unwrap().path())).collect();
    assert_eq!(pictures.len(), 200);
    all += pictures.iter().sum::<u64>() + size(&run.0.join("junit.xml"));
    assert!(all < 8_000_000, "{all}");
    // Every neuron is in the table of its layer.
    let layer = text(&run, "layer-conv.html");
    assert_says(
        &layer,
        &[
            "10 feature maps of 50 × 50 neurons",
            "certificate 00049",
            "nothing",
            "The range of u of each neuron",
        ],
    );
    let listed = layer.split("id=\"seen\">").nth(1).unwrap();
    let listed = listed.split("</pre>").next().unwrap();
    assert_eq!(listed.lines().count(), 25_000);
}
