//! What a run says is infeasible: random tests never meet it, `check` finds it to follow from the
//! certificates, and notices when it does not.

use std::fs;
use std::path::PathBuf;

use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;

use super::bed::{Bed, IMAGES, Left, TABLE, assert_says, check, count, deepconcolic};

/// `check` rejects the run, in these words.
fn assert_rejected(run: &Left, parts: &[&str]) {
    let (code, text) = check(run, &[]);
    assert_eq!(code, 1, "{text}");
    assert_says(&text, parts);
}

/// Flags of a run near so many seeds.
fn near<'a>(criterion: &'a str, seeds: &'a str, radius: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let seeds = ["--seeds", seeds, "--radius", radius];
    [&["--criterion", criterion], &seeds[..], more].concat()
}

/// A run, and how many of its requirements are infeasible. As many are so in `run.json`, and `check`
/// agrees.
fn checked(bed: &Bed, name: &str, subject: [&str; 3], flags: &[&str]) -> (Left, usize) {
    let run = bed.run(name, subject, flags);
    let (code, text) = check(&run, &[]);
    assert_eq!(code, 0, "{flags:?}: {text}");
    let (state, _) = run.requirements();
    let infeasible = count(&state, 2);
    let summary = run.summary();
    assert_eq!(
        summary["requirements"]["infeasible"], infeasible,
        "{flags:?}"
    );
    assert!(summary["executions"]["nodes"].as_u64().unwrap() > 0);
    assert_eq!(shown_by_certificates(&text), infeasible, "{text}");
    if infeasible > 0 {
        assert!(covered_executions(&text) <= infeasible, "{text}");
    }
    (run, infeasible)
}

/// Of how many requirements `check` says that certificates decide them: goals that cannot be met, properties that hold.
fn shown_by_certificates(text: &str) -> usize {
    let mut lines = text.lines();
    let line = lines.find(|line| line.contains("certificates: ") && line.contains(" accepted; "));
    let (_, shown) = line
        .and_then(|line| line.split_once("; "))
        .expect("check says it");
    let numbers = shown
        .split_whitespace()
        .filter_map(|word| word.parse::<usize>().ok());
    numbers.sum()
}

/// For how many requirements `check` says that what is proven of them is so of executions, too.
fn covered_executions(text: &str) -> usize {
    let line = text
        .lines()
        .find(|line| line.contains("in any order of summation"));
    let line = line.expect("check says it");
    assert!(line.ends_with("in any order of summation"), "{line}");
    let count = line.split(' ').nth(1).expect("for N of them");
    count.parse().expect("a number")
}

/// The same, where nothing that random tests cover is infeasible.
fn settled(bed: &Bed, name: &str, subject: [&str; 3], flags: &[&str]) -> (Left, usize) {
    let (run, infeasible) = checked(bed, name, subject, flags);
    let (state, _) = run.requirements();
    let random = [flags, &["--strategy", "random", "--max-executions", "5000"]].concat();
    let random = bed.run(&format!("{name}-random"), subject, &random);
    let (met, _) = random.requirements();
    let both = state.iter().zip(&met).filter(|pair| *pair == (&2, &1));
    assert_eq!(both.count(), 0, "{flags:?}");
    (run, infeasible)
}

#[test]
fn criteria_of_one_input() {
    let bed = Bed::new();
    for (criterion, more) in [
        ("nc", [].as_slice()),
        ("nbc", &[]),
        ("kmnc", &["--sections", "12"]),
        ("tknc", &["--top", "1"]),
    ] {
        let flags = near(criterion, "2", "0.02", more);
        let (run, infeasible) = settled(&bed, criterion, TABLE, &flags);
        assert!(infeasible > 0, "{criterion}");
        // Little is left: the network is small.
        let (state, _) = run.requirements();
        assert!(count(&state, 0) * 20 <= state.len(), "{criterion}");
    }
}

#[test]
fn formulas_of_every_form() {
    let bed = Bed::new();
    let text = "exists x: v[x][4,0] > 20 and v[x][4,1] > 20\n\
                forall x: u[x][2,0] <= 100\n\
                forall x: u[x][2,0] <= 100 and |{ap[x][2,i] for i in neurons(2)}| >= 0\n\
                exists x: |{u[x][2,i] > 50 for i in neurons(2)}| >= 2\n\
                exists x1, x2: u[x1][2,0] > 50 and u[x2][2,0] < -50\n\
                exists x1, x2: u[x1][2,0] - u[x2][2,0] > 1000\n\
                exists x: u[x][2,0] > -1000\n";
    let file = bed.file("own.dr", text);
    let flags = ["--requirements", &file, "--seeds", "2", "--radius", "0.05"];
    let (run, _) = settled(&bed, "own", TABLE, &flags);
    let (state, _) = run.requirements();
    assert_eq!(state, [2, 2, 2, 2, 2, 2, 1]);
    // All of them by far.
    let (_, text) = check(&run, &[]);
    assert_eq!(covered_executions(&text), 6, "{text}");
}

#[test]
fn pairs_follow_from_neurons() {
    let bed = Bed::new();
    for criterion in ["ssc", "vsc", "svc", "vvc"] {
        let flags = near(criterion, "2", "0.02", &["--max-executions", "600"]);
        let run = bed.run(criterion, IMAGES, &flags);
        let (code, text) = check(&run, &[]);
        assert_eq!(code, 0, "{criterion}: {text}");
        let (state, _) = run.requirements();
        assert!(count(&state, 2) > 1000, "{criterion}");
        let infeasible = &run.summary()["requirements"]["infeasible"];
        assert_eq!(*infeasible, count(&state, 2), "{criterion}");
    }
}

/// The certificates of a run, by number.
fn certificates(run: &Left) -> Vec<PathBuf> {
    let folder = fs::read_dir(run.0.join("certificates")).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

/// Of a small network nothing is left open, and what the last certificate says of both inputs together is
/// needed for that.
#[test]
fn pairs_are_settled_both_inputs_at_once() {
    let bed = Bed::new();
    let mut together = 0;
    for criterion in ["ssc", "vsc", "svc", "vvc"] {
        for (seeds, radius) in [("1", "0.05"), ("1", "0.3"), ("2", "0.1")] {
            let name = format!("{criterion}-{seeds}-{radius}");
            let flags = near(criterion, seeds, radius, &[]);
            let (run, infeasible) = checked(&bed, &name, TABLE, &flags);
            let (state, _) = run.requirements();
            assert_eq!(count(&state, 0), 0, "{name}");
            assert!(infeasible > 0, "{name}");
            let files = certificates(&run);
            let said =
                |file: &PathBuf| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
            let Some(last) = files.last().filter(|file| said(file).contains(" and ")) else {
                continue;
            };
            fs::remove_file(last).unwrap();
            assert_rejected(&run, &["not shown to be infeasible"]);
            together += 1;
        }
    }
    assert!(together > 3, "{together}");
}

#[test]
fn formulas_on_two_inputs_share_a_pattern() {
    let bed = Bed::new();
    // Sign-sign pairs, spelled out: whatever one input does to a neuron, the other signs stay.
    let text = "for i in neurons(2), j in neurons(3): exists x1, x2: ap[x1][2,i] != ap[x2][2,i] \
                and all{ap[x1][2,m] = ap[x2][2,m] for m in neurons(2) if m != i} \
                and ap[x1][3,j] != ap[x2][3,j]\n";
    let file = bed.file("pairs.dr", text);
    let own = ["--requirements", &file, "--seeds", "1", "--radius", "0.3"];
    let (run, _) = settled(&bed, "own", TABLE, &own);
    let (written, _) = run.requirements();
    let flags = near("ssc", "1", "0.3", &[]);
    let (run, _) = checked(&bed, "ssc", TABLE, &flags);
    let (named, _) = run.requirements();
    let mut file = NpzReader::open(&run.0.join("requirements.npz")).unwrap();
    let [conditions, decisions] = ["i", "j"].map(|name| file.read::<i64>(name).unwrap().values);
    assert_eq!(named.len(), written.len());
    for ((state, i), j) in named.iter().zip(conditions).zip(decisions) {
        assert_eq!(*state, written[(i * 6 + j) as usize], "{i}, {j}");
    }
}

#[test]
fn many_balls_are_proven_one_by_one() {
    let bed = Bed::new();
    // A box round all the balls is most of the domain.
    for criterion in ["kmnc", "tknc"] {
        let more = ["--sections", "12", "--top", "1"];
        let flags = near(criterion, "12", "0.01", &more);
        let (run, infeasible) = settled(&bed, criterion, TABLE, &flags);
        let (state, _) = run.requirements();
        let unresolved = count(&state, 0);
        assert!(infeasible > 4 * unresolved, "{infeasible}, {unresolved}");
    }
}

/// The arrays of `requirements.npz` with one of them changed.
fn rewrite(run: &Left, change: impl Fn(&mut Vec<u8>)) {
    let path = run.0.join("requirements.npz");
    let mut file = NpzReader::open(&path).unwrap();
    let mut state: Vec<u8> = file.read("state").unwrap().values;
    let whole =
        ["test", "test2", "certificate"].map(|name| (name, file.read::<i64>(name).unwrap().values));
    let bound: Vec<f32> = file.read("bound").unwrap().values;
    let fragile: Vec<u8> = file.read("fragile").unwrap().values;
    change(&mut state);
    let rows = [state.len()];
    let mut file = NpzWriter::create(&path).unwrap();
    file.add("state", &rows, &state).unwrap();
    file.add("bound", &rows, &bound).unwrap();
    file.add("fragile", &rows, &fragile).unwrap();
    for (name, values) in whole {
        file.add(name, &rows, &values).unwrap();
    }
    file.finish().unwrap();
}

#[test]
fn what_does_not_follow_is_noticed() {
    let bed = Bed::new();
    let flags = |radius| near("kmnc", "2", radius, &["--sections", "8"]);
    let (run, infeasible) = settled(&bed, "run", TABLE, &flags("0.02"));
    assert!(infeasible > 1);
    let folder = run.0.join("certificates");
    let files = certificates(&run);
    // A broken file, and a missing one.
    let bytes = fs::read(&files[0]).unwrap();
    let mut broken = bytes.clone();
    broken[100] ^= 1;
    fs::write(&files[0], &broken).unwrap();
    assert_rejected(&run, &["rejected", "not shown to be infeasible"]);
    fs::remove_file(&files[0]).unwrap();
    assert_rejected(&run, &["not shown to be infeasible"]);
    fs::write(&files[0], &bytes).unwrap();
    assert_eq!(check(&run, &[]).0, 0);
    // A certificate of smaller balls shows nothing of these.
    let (other, _) = settled(&bed, "smaller", TABLE, &flags("0.01"));
    for file in &files {
        fs::remove_file(file).unwrap();
    }
    for file in fs::read_dir(other.0.join("certificates")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    assert_rejected(&run, &["; 0 of the requirements cannot be met"]);
}

#[test]
fn claims_without_a_certificate_are_noticed() {
    let bed = Bed::new();
    let flags = near("kmnc", "2", "0.02", &["--sections", "8", "--no-proofs"]);
    let run = bed.run("run", TABLE, &flags);
    assert_eq!(check(&run, &[]).0, 0);
    let (state, _) = run.requirements();
    assert!(count(&state, 2) == 0 && count(&state, 0) > 0);
    rewrite(&run, |state| {
        let open = state.iter_mut().find(|s| **s == 0);
        *open.unwrap() = 2;
    });
    assert_rejected(&run, &["not shown to be infeasible"]);
}

/// Of a run from which all certificates from some number on are taken away, exactly those requirements are
/// still shown to be infeasible that name an earlier one.
#[test]
fn a_requirement_names_the_certificate_that_completes_its_proof() {
    let bed = Bed::new();
    for (criterion, more) in [("kmnc", ["--sections", "12"]), ("ssc", ["--sigma", "2"])] {
        let flags = near(criterion, "2", "0.05", &more);
        let (run, _) = checked(&bed, criterion, TABLE, &flags);
        let mut file = NpzReader::open(&run.0.join("requirements.npz")).unwrap();
        let named = file.read::<i64>("certificate").unwrap().values;
        let (state, _) = run.requirements();
        assert!(
            named
                .iter()
                .zip(&state)
                .all(|(n, state)| (*n >= 0) == (*state == 2))
        );
        let mut files = certificates(&run);
        let mut distinct = 0;
        while let Some(last) = files.pop() {
            fs::remove_file(last).unwrap();
            let left = named
                .iter()
                .filter(|&&n| n >= 0 && n < files.len() as i64)
                .count();
            let (_, text) = check(&run, &[]);
            assert_says(
                &text,
                &[&format!("; {left} of the requirements cannot be met")],
            );
            distinct += usize::from(left > 0);
        }
        assert!(distinct > 0, "{criterion}");
    }
}

/// Balls of l0: what one changed feature cannot do is proven over exactly those inputs, with certificates that count
/// changes; pairs and requirements that name the ball included.
#[test]
fn balls_of_few_changes() {
    let bed = Bed::new();
    let flags = |criterion| {
        let norm = ["--norm", "l0-elements", "--budget", "60"];
        near(criterion, "1", "1", &norm)
    };
    for (criterion, least) in [("nbc", 1), ("tknc", 1), ("ssc", 5)] {
        let judge = if criterion == "ssc" { checked } else { settled };
        let (run, infeasible) = judge(&bed, criterion, TABLE, &flags(criterion));
        assert!(infeasible >= least, "{criterion}: {infeasible}");
        let files = fs::read_dir(run.0.join("certificates")).unwrap();
        let counted = files.filter(|file| {
            let bytes = fs::read(file.as_ref().unwrap().path()).unwrap();
            bytes.starts_with(b"DCCERT3\n")
        });
        assert!(counted.count() > 0, "{criterion}");
    }
    // One pixel changes the label of one image, and is proven not to change those of two others.
    let images = near("safety", "3", "1", &["--norm", "l0", "--budget", "120"]);
    let (run, infeasible) = checked(&bed, "pixels", IMAGES, &images);
    let (state, _) = run.requirements();
    assert_eq!((count(&state, 0), infeasible), (0, 2));
}

/// Pairs of inputs that proofs find are run again within the limit on passes; what it leaves none for stays open with that
/// as the reason, and more passes decide it.
#[test]
fn pairs_that_proofs_find_are_run_again_within_the_limit() {
    let bed = Bed::new();
    for (criterion, radius, limit) in [("vvc", "0.2", "600"), ("svc", "0.3", "640")] {
        let name = format!("{criterion}-{limit}");
        let flags = ["--criterion", criterion, "--seeds", "3", "--radius", radius];
        let more = ["--max-executions", limit, "--budget", "none"];
        let run = bed.run(&name, TABLE, &[&flags[..], &more].concat());
        let made = |run: &Left| {
            let executions = &run.summary()["executions"];
            let of = |kind: &str| executions[kind].as_u64().unwrap();
            of("forward") + of("vjp")
        };
        let most: u64 = limit.parse().unwrap();
        // A pair takes up to four passes: fewer are not enough for one.
        assert!((most - 3..=most).contains(&made(&run)), "{}", made(&run));
        let summary = run.summary();
        assert_eq!(summary["stop"], "executions");
        let notes = summary["notes"].to_string();
        assert_says(&notes, &["--max-executions leaves no more for proofs"]);
        assert_eq!(check(&run, &[]).0, 0);
        let folder = run.0.to_str().unwrap();
        let resumed = ["resume", folder, "--max-executions", "5000"];
        let resumed = [&resumed[..], &["--budget", "none"]].concat();
        let output = deepconcolic(&resumed).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(made(&run) > most);
        assert_eq!(run.summary()["stop"], "complete");
        assert_eq!(check(&run, &[]).0, 0);
    }
}
