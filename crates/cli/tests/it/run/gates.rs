//! Gates: each says in one line whether it passes and why, the exit code follows, and `check` judges them again.

use serde_json::{Value, json};

use super::bed::{Bed, IMAGES, Left, TABLE, assert_says, check, deepconcolic, replay, said};

const NC: [&str; 8] = [
    "--criterion",
    "nc",
    "--seeds",
    "1",
    "--quantise",
    "255",
    "--max-executions",
    "4000",
];

/// Exit code, standard output and standard error of a run.
fn run(bed: &Bed, out: &str, subject: [&str; 3], flags: &[&str]) -> (i32, String, String) {
    let output = bed.command(out, subject, flags).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output.status.code().unwrap(), text, said(&output))
}

#[test]
fn every_gate_says_in_a_line_whether_it_passes_and_why() {
    let bed = Bed::new();
    let gates = [
        "--fail-under",
        "nc=99,50",
        "--fail-on",
        "adversarial,refuted,open",
    ];
    let (code, text, _) = run(&bed, "run", IMAGES, &[&NC[..], &gates].concat());
    assert_eq!(code, 1, "{text}");
    let left = Left(bed.path("run"));
    let summary = left.summary();
    let counts = &summary["requirements"];
    let feasible = counts["total"].as_u64().unwrap() - counts["infeasible"].as_u64().unwrap();
    assert!(
        counts["infeasible"].as_u64().unwrap() > 0,
        "some are proven"
    );
    assert_says(
        &text,
        &[
            "PASS --fail-under nc=99: nc: ",
            &format!("{} of {feasible} covered", counts["covered"]),
            "more are proven impossible",
            "PASS --fail-under 50: ",
            "FAIL --fail-on adversarial: ",
            "PASS --fail-on refuted: no requirement is a property",
            "FAIL --fail-on open: ",
        ],
    );
    let saved = summary["gates"].as_array().unwrap();
    let lines = saved.iter().map(|gate| {
        let word = if gate["passes"] == true {
            "PASS"
        } else {
            "FAIL"
        };
        format!(
            "{word} {}: {}",
            gate["gate"].as_str().unwrap(),
            gate["reason"].as_str().unwrap()
        )
    });
    assert!(lines.into_iter().all(|line| text.contains(&line)));
    assert_eq!(check(&left, &[]).0, 0);
    let mut edited = summary.clone();
    edited["gates"][2]["passes"] = json!(true);
    std::fs::write(left.0.join("run.json"), edited.to_string()).unwrap();
    let (code, text) = check(&left, &[]);
    assert_eq!(code, 1, "{text}");
    assert_says(&text, &["gates[2].passes: claimed true, found false"]);
}

#[test]
fn scripts_hear_of_failed_gates_beside_the_output() {
    let bed = Bed::new();
    let gate = ["--fail-on", "adversarial", "--json"];
    let mut command = bed.command("run", IMAGES, &[&NC[..], &gate].concat());
    let output = command.env("GITHUB_ACTIONS", "true").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["gates"][0]["passes"], false);
    assert_says(
        &said(&output),
        &[
            "FAIL --fail-on adversarial: ",
            "::error title=deepconcolic --fail-on adversarial::",
        ],
    );
    let quiet = [&NC[..], &["--fail-on", "adversarial", "--quiet"]].concat();
    let (code, text, errors) = run(&bed, "quiet", IMAGES, &quiet);
    assert_eq!((code, text.as_str()), (1, ""));
    assert_says(&errors, &["FAIL --fail-on adversarial: "]);
    assert!(!errors.contains("::error"), "{errors}");
}

#[test]
fn properties_have_gates_of_their_own() {
    let bed = Bed::new();
    let safety = ["--criterion", "safety", "--seeds", "3", "--radius", "0.3"];
    let refused = bed.refusal(IMAGES, &[&safety[..], &["--fail-under", "5"]].concat());
    assert_says(
        &refused,
        &["safety is a property", "--fail-on refuted,open"],
    );
    let flags = [&safety[..], &["--fail-on", "refuted", "--budget", "20s"]].concat();
    let (code, text, _) = run(&bed, "safety", IMAGES, &flags);
    assert_eq!(code, 1, "{text}");
    assert_says(
        &text,
        &["FAIL --fail-on refuted: ", "of 3 properties refuted"],
    );
    assert!(!text.contains("coverage"), "{text}");
    let properties = &Left(bed.path("safety")).summary()["properties"];
    assert_eq!(properties["total"], 3);
}

#[test]
fn a_file_of_goals_and_properties_has_two_accounts() {
    let bed = Bed::new();
    let file = bed.file(
        "own.dr",
        "exists x: v[x][2,0] > 0\nexists x: v[x][2,1] > 1000000\nforall x: v[x][2,0] < 1000000\n\
         forall x: v[x][2,0] < 0\n",
    );
    let flags = [
        "--requirements",
        &file,
        "--fail-under",
        "100",
        "--fail-on",
        "refuted",
    ];
    let (code, text, _) = run(&bed, "own", TABLE, &flags);
    assert_eq!(code, 1, "{text}");
    let left = Left(bed.path("own"));
    let summary = left.summary();
    assert_eq!(
        summary["properties"],
        json!({"total": 2, "refuted": 1, "proven": 1, "open": 0}),
        "{text}"
    );
    assert_eq!(summary["coverage"], 0.5);
    assert_says(
        &text,
        &[
            "covered 1 of the 1 that can be (100.00 %); 1 proven impossible, 0 open",
            "properties: 1 of 2 refuted, 1 proven, 0 open",
            "PASS --fail-under 100: requirements: 1 of 1 covered",
            "FAIL --fail-on refuted: 1 of 2 properties refuted, 1 proven, 0 open",
        ],
    );
    assert_eq!(
        sums(&text),
        [
            ("all goals", [2, 1, 1, 0]),
            ("all properties", [2, 1, 1, 0])
        ]
    );
    let (code, text) = check(&left, &[]);
    assert_eq!(code, 0, "{text}");
    assert_says(
        &text,
        &[
            "tests run again: of 2 goals 1 are covered (0 within the margin of rounding), of 2 properties 1 are refuted",
            "1 of the goals cannot be met and 1 of the properties hold in the search region",
        ],
    );
    assert!(!text.contains("of 4 requirements"), "{text}");
    let page = std::fs::read_to_string(left.0.join("summary.md")).unwrap();
    assert_says(
        &page,
        &[
            "1 goal is met by a test, 1 cannot be met, none is open; 1 property is proven, 1 refuted by a test, none is open.",
            "| goals | required | covered | impossible | open | coverage |",
            "| goals | 2 | 1 | 1 | 0 | 100 % |",
            "| properties | required | refuted | proven | open |\n",
            "| properties | 2 | 1 | 1 | 0 |\n",
        ],
    );
    assert!(!page.contains("covered or refuted"), "{page}");
    let statement = std::fs::read_to_string(left.0.join("statement.md")).unwrap();
    let meaning = "*Infeasible*, of a goal, and *proven*, of a property, mean";
    assert_says(&statement, &[meaning]);
    let output = deepconcolic(&["replay", &bed.name("own")])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_says(
        &text,
        &[
            "; covered 1 then (50.00 %), 1 now (50.00 %) of 2 goals; refuted 1 then, 1 now, of 2 properties",
        ],
    );
}

/// The rows of a run's output that add up others: names and counts.
fn sums(text: &str) -> Vec<(&str, [usize; 4])> {
    let rows = text.lines().filter(|line| line.starts_with("all"));
    rows.map(|line| {
        let (name, counts) = line.split_at(line.find("  ").unwrap());
        let counts: Vec<usize> = counts
            .split_whitespace()
            .take(4)
            .map(|count| count.parse().unwrap())
            .collect();
        (name, counts.try_into().unwrap())
    })
    .collect()
}

#[test]
fn criteria_of_goals_and_of_properties_have_a_table_each() {
    let bed = Bed::new();
    let flags = [
        "-c", "nc", "-c", "safety", "--seeds", "2", "--budget", "20s",
    ];
    let (code, text, _) = run(&bed, "both", TABLE, &flags);
    assert_eq!(code, 0, "{text}");
    let left = Left(bed.path("both"));
    let summary = left.summary();
    let counts = |criterion: usize| {
        let counts = &summary["criteria"][criterion]["requirements"];
        ["total", "covered", "infeasible", "unresolved"]
            .map(|name| counts[name].as_u64().unwrap() as usize)
    };
    let expected = [("all goals", counts(0)), ("all properties", counts(1))];
    assert_eq!(sums(&text), expected, "{text}");
    let statement = std::fs::read_to_string(left.0.join("statement.md")).unwrap();
    let rows = expected.map(|(_, [total, ..])| format!("| all | {total} |"));
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    assert_says(&statement, &rows);
    assert_eq!(check(&left, &[]).0, 0);
}

#[test]
fn coverage_of_data_has_a_gate_for_each_criterion() {
    let measure = |gate: &str| {
        let mut arguments = vec!["coverage"];
        arguments.extend(IMAGES);
        arguments.extend([
            "-c",
            "NC",
            "-c",
            "kmnc",
            "--sections",
            "10",
            "--fail-under",
            gate,
        ]);
        let output = deepconcolic(&arguments).output().unwrap();
        let text = String::from_utf8(output.stdout.clone()).unwrap() + &said(&output);
        (output.status.code().unwrap(), text)
    };
    let (code, text) = measure("nc=99.7,kmnc=20");
    assert_eq!(code, 0, "{text}");
    assert_says(
        &text,
        &["PASS --fail-under nc=99.7: nc: 1812 of 1816 covered (99.77 %)"],
    );
    let (code, text) = measure("99");
    assert_eq!(code, 1, "{text}");
    assert_says(
        &text,
        &["PASS --fail-under 99: nc", "FAIL --fail-under 99: kmnc"],
    );
    let (code, text) = measure("ssc=5");
    assert_eq!(code, 2, "{text}");
    assert_says(&text, &["error: ", "not among what is asked for: nc, kmnc"]);
}

#[test]
fn another_model_passes_unless_it_loses_something_and_all_of_that_is_listed() {
    let bed = Bed::new();
    let left = bed.run("run", IMAGES, &NC);
    let root = deepconcolic(&[]).get_current_dir().unwrap().to_owned();
    let bytes = std::fs::read(root.join(IMAGES[0])).unwrap();
    // The same model under another name and with another producer is another file that loses nothing.
    let mut renamed = bytes.clone();
    let name = b"deepconcolic demo";
    let at = renamed.windows(name.len()).position(|w| w == name).unwrap();
    renamed[at] = b'D';
    std::fs::write(bed.path("same.onnx"), renamed).unwrap();
    let (code, text) = replay(&left, &["--model", &bed.name("same.onnx")]);
    assert_eq!(code, 0, "{text}");
    assert_says(&text, &["PASS regression", "nothing is proven here"]);
    // Weights with other exponents lose a lot.
    let mut other = bytes.clone();
    let middle = other.len() / 2;
    for float in other[middle..middle + 4000].chunks_exact_mut(4) {
        float[2] ^= 0x10;
    }
    std::fs::write(bed.path("other.onnx"), other).unwrap();
    let (code, text) = replay(&left, &["--model", &bed.name("other.onnx")]);
    let (_, printed) = replay(&left, &["--model", &bed.name("other.onnx"), "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let lost = printed["coverage"]["lost"].as_array().unwrap();
    let tests = printed["newly_adversarial"].as_array().unwrap();
    assert_eq!(code, i32::from(lost.len() + tests.len() > 0), "{text}");
    let listed = |word: &str| text.lines().filter(|line| line.starts_with(word)).count();
    assert_eq!(listed("no longer covered: "), lost.len());
    assert_eq!(listed("newly adversarial: test "), tests.len());
    assert!(lost.len() + tests.len() > 0, "{text}");
}
