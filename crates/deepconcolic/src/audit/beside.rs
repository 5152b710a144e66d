//! What lies beside the suite: adversarial tests and their pictures, nearest witnesses, what is seen of neurons, the profile.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use deepconcolic_check::audit::SeenLayer;
use deepconcolic_check::{Audit, Claim};
use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_network::BitSet;
use deepconcolic_record::{
    ADVERSARIAL_TABLE, AdversarialTable, Drawn, JOURNAL, NeuronRanges, RequirementTable, RunFolder,
    State, SuiteTable, draw,
};

use super::RunFindings;
use super::left_out::Halt;
use super::opened::Opened;
use super::origins::Origins;
use crate::conclude::confidence::{adversarial_tests, agree};
use crate::conclude::parts;
use crate::error::Error;
use crate::folder::{self, profile_file};
use crate::plan;

/// `adversarial/`: the tests that the verdicts name, and a picture of each.
pub fn adversarial(
    opened: &Opened,
    suite: &SuiteTable,
    report: &mut RunFindings,
) -> Result<(), Error> {
    let folder = opened.dir.join(folder::ADVERSARIAL);
    let expected = adversarial_tests(&opened.network, &opened.decision, suite);
    let mut names = entries(&folder)?;
    if expected.is_empty() {
        if !names.is_empty() {
            report.differs(
                folder::ADVERSARIAL,
                "files",
                names.len(),
                "no adversarial test",
            );
        }
        return Ok(());
    }
    let name = |file: &str| format!("{}/{file}", folder::ADVERSARIAL);
    if names.remove(ADVERSARIAL_TABLE) {
        let claimed = AdversarialTable::read(&folder.join(ADVERSARIAL_TABLE))?;
        columns(&name(ADVERSARIAL_TABLE), &claimed, &expected, report);
        let (file, found) = (name(ADVERSARIAL_TABLE), &expected.confidence);
        confidence_column(&file, &claimed.confidence, found, report);
    } else {
        report.differs(
            &name(ADVERSARIAL_TABLE),
            "file",
            "nothing",
            "adversarial tests",
        );
    }
    let shape = opened.network.input_shape().without_batch().to_vec();
    let drawn = draw(&folder, &expected, &shape, &opened.space.domain)?;
    pictures(opened, folder::ADVERSARIAL, names, &drawn, report)
}

/// How sure the network is of each input, beside what a table says.
pub fn confidence_column(file: &str, claimed: &[f32], found: &[f32], report: &mut RunFindings) {
    if claimed.len() != found.len() {
        let claimed = format!("{} values", claimed.len());
        report.differs(file, "confidence", claimed, found.len());
    } else if let Some(at) = (0..found.len()).find(|&at| !agree(claimed[at], found[at])) {
        let field = format!("confidence[{at}]");
        report.differs(file, field, claimed[at], found[at]);
    }
}

/// The pictures of a folder, beside those that should be there; no other names are left.
pub fn pictures(
    opened: &Opened,
    folder: &str,
    mut names: BTreeSet<String>,
    drawn: &Drawn,
    report: &mut RunFindings,
) -> Result<(), Error> {
    let dir = opened.dir.join(folder);
    let name = |file: &str| format!("{folder}/{file}");
    for (file, contents) in &drawn.pictures {
        if !names.remove(file) {
            report.differs(&name(file), "file", "nothing", "a picture of the test");
        } else if fs::read(dir.join(file)).map_err(Error::unreadable(&dir.join(file)))? != *contents
        {
            report.differs(&name(file), "picture", "of the test", "another picture");
        }
    }
    for note in &drawn.notes {
        if !opened.summary.notes.contains(note) {
            report.differs(crate::folder::SUMMARY, "notes", "no such note", note);
        }
    }
    for file in &names {
        report.differs(
            &name(file),
            "file",
            "one of the run's",
            "no adversarial test of the suite",
        );
    }
    Ok(())
}

pub fn entries(folder: &Path) -> Result<BTreeSet<String>, Error> {
    let mut names = BTreeSet::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder).map_err(Error::unreadable(folder))? {
            names.insert(
                entry
                    .map_err(Error::unreadable(folder))?
                    .file_name()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
    }
    Ok(names)
}

fn columns(
    file: &str,
    claimed: &AdversarialTable,
    found: &AdversarialTable,
    report: &mut RunFindings,
) {
    let bits = |values: &[f32]| values.iter().map(|v| i64::from(v.to_bits())).collect();
    let wide = |values: &[f64]| values.iter().map(|v| v.to_bits().cast_signed()).collect();
    let columns: [(&str, Vec<i64>, Vec<i64>); 8] = [
        ("x", bits(&claimed.x), bits(&found.x)),
        ("y", claimed.classes.clone(), found.classes.clone()),
        ("y", wide(&claimed.quantities), wide(&found.quantities)),
        ("output", wide(&claimed.output), wide(&found.output)),
        ("label", claimed.label.clone(), found.label.clone()),
        ("test", claimed.test.clone(), found.test.clone()),
        (
            "reference",
            claimed.reference.clone(),
            found.reference.clone(),
        ),
        ("distance", bits(&claimed.distance), bits(&found.distance)),
    ];
    for (column, claimed, found) in columns {
        if claimed.len() != found.len() {
            report.differs(
                file,
                column,
                format!("{} values", claimed.len()),
                found.len(),
            );
        } else if let Some(at) = (0..found.len()).find(|&at| claimed[at] != found[at]) {
            let field = format!("{column}[{at}]");
            report.differs(file, field, "a value of the suite", "another value there");
        }
    }
}

/// `nearest.npz`: each input is a test of the run, as near as it says, and meets its requirement.
pub fn nearest(opened: &Opened, suite: &SuiteTable, report: &mut RunFindings) -> Result<(), Halt> {
    const FILE: &str = folder::NEAREST;
    let path = opened.dir.join(FILE);
    if !path.exists() {
        return Ok(());
    }
    let mut file = NpzReader::open(&path).map_err(Error::from)?;
    let rows = file.read::<i64>("row").map_err(Error::from)?.values;
    let x = file.read::<f32>("x").map_err(Error::from)?.values;
    let roots = file.read::<i64>("root").map_err(Error::from)?.values;
    let distances = file.read::<f32>("distance").map_err(Error::from)?.values;
    let bounds = file.read::<f32>("bound").map_err(Error::from)?.values;
    let each = opened.network.input_elements();
    let fits = [roots.len(), distances.len(), bounds.len()]
        .iter()
        .all(|&n| n == rows.len())
        && x.len() == rows.len() * each;
    if !fits {
        report.differs(
            FILE,
            "arrays",
            "a row for each witness",
            "arrays that do not fit each other",
        );
        return Ok(());
    }
    if !rows.is_sorted_by(|a, b| a < b) {
        report.differs(FILE, "row", "rows in order", "another order");
    }
    let (table, family, space) = (&opened.table, opened.family.as_ref(), &opened.space);
    for (at, &row) in rows.iter().enumerate() {
        opened.in_time()?;
        let field = |column: &str| format!("{column}[{at}]");
        let input = &x[at * each..(at + 1) * each];
        let row = usize::try_from(row).ok().filter(|&row| {
            table.state.get(row) == Some(&(State::Covered as u8)) && table.test[row] >= 0
        });
        let seed = opened
            .settings
            .seeds
            .iter()
            .position(|&s| s as i64 == roots[at]);
        let slot = row.and_then(|row| table.slot(family, row));
        let (Some(row), Some(slot)) = (row, slot) else {
            report.differs(FILE, field("row"), rows[at], "no covered requirement");
            continue;
        };
        let Some(seed) = seed else {
            report.differs(FILE, field("root"), roots[at], "no seed of the run");
            continue;
        };
        let root = opened.seeds.input(seed);
        let distance = space.distance(input, root) as f32;
        if distance.to_bits() != distances[at].to_bits() {
            report.differs(FILE, field("distance"), distances[at], distance);
        }
        let known = suite.distance.get(table.test[row] as usize);
        if known.is_some_and(|known| distance > *known) {
            report.differs(
                FILE,
                field("distance"),
                "no more than the suite's",
                distance,
            );
        }
        if bounds[at] > distance {
            report.differs(
                FILE,
                field("bound"),
                bounds[at],
                format!("a witness at {distance}"),
            );
        }
        let sets = family
            .groups()
            .iter()
            .map(|group| BitSet::new(group.slots()));
        let mut wanted: Vec<BitSet> = sets.collect();
        wanted[slot.group as usize].insert(slot.slot as usize);
        let confirmed = opened
            .witnesses()
            .confirm(&[Claim { input, root }], &wanted, &wanted);
        match confirmed.into_iter().next() {
            Some(Ok(confirmed)) if confirmed.exact().contains(&slot) => {}
            Some(Err(why)) => report.differs(FILE, field("x"), "a test of the run", why),
            _ => report.differs(
                FILE,
                field("x"),
                "a witness",
                "an input that does not meet it",
            ),
        }
    }
    report.unverified.push(
        "nearest.npz: bound, beyond that no witness of the file lies below it; that no nearer witness is known".into(),
    );
    Ok(())
}

/// `requirements-NAME.npz`: the rows of each of several criteria are those of the whole table.
pub fn criteria(opened: &Opened, report: &mut RunFindings) {
    for (name, part) in parts(&opened.settings, opened.family.as_ref(), &opened.table) {
        let file = folder::requirements_of(&name);
        match RequirementTable::read(&opened.dir.join(&file)) {
            Ok(found) if found.is_same(&part) => {}
            Ok(_) => report.differs(&file, "rows", "other rows", "those of requirements.npz"),
            Err(error) => report.differs(&file, "file", error, "the rows of the criterion"),
        }
    }
}

/// `journal`: its steps are as they were written. What they say of how the run went nothing else shows.
pub fn journal(opened: &Opened, report: &mut RunFindings) {
    const FILE: &str = JOURNAL;
    if !opened.dir.join(FILE).exists() {
        return;
    }
    match RunFolder::steps(&opened.dir) {
        Ok(_) => report.unverified.push(
            "journal: its steps, beyond that each is whole (resume goes on from them)".into(),
        ),
        Err(error) => report.differs(FILE, "file", error, "steps that can be read"),
    }
}

/// `neurons.npz`: the ranges that the suite shows.
pub fn neurons(opened: &Opened, audit: &Audit, report: &mut RunFindings) {
    const FILE: &str = folder::NEURONS;
    let path = opened.dir.join(FILE);
    // Folders of versions that did not keep it claim nothing.
    let is_claimed = opened.summary.files.contains_key(FILE);
    if !path.exists() && (audit.seen.is_empty() || !is_claimed) {
        return;
    }
    let found = match NeuronRanges::read(&path) {
        Ok(found) => found,
        Err(error) => {
            report.differs(FILE, "file", error, "the range of every neuron");
            return;
        }
    };
    let layers = |seen: &[SeenLayer]| -> Vec<(usize, usize)> {
        seen.iter().map(|s| (s.layer, s.low.len())).collect()
    };
    if layers(&found.0) != layers(&audit.seen) {
        report.differs(FILE, "layer", "other layers", "those that were looked at");
        return;
    }
    for (claimed, seen) in found.0.iter().zip(&audit.seen) {
        let name = opened.network.layers()[seen.layer].name();
        for (column, claimed, seen) in [
            ("low", &claimed.low, &seen.low),
            ("high", &claimed.high, &seen.high),
        ] {
            // Zero has two signs, and which is the least is nobody's business.
            let differs = |(a, b): (&f32, &f32)| a.partial_cmp(b) != Some(Ordering::Equal);
            let wrong = claimed.iter().zip(seen).position(differs);
            if let Some(neuron) = wrong {
                let field = format!("{name}:{neuron}: {column}");
                report.differs(FILE, field, claimed[neuron], seen[neuron]);
            }
        }
    }
}

/// `profile.npz`: the bounds that the data give.
pub fn profile(opened: &Opened, origins: &Origins, report: &mut RunFindings) -> Result<(), Error> {
    const FILE: &str = folder::PROFILE;
    let settings = &opened.settings;
    let needed = plan::needs_profile(settings)?;
    let path = opened.dir.join(FILE);
    if !needed {
        if path.exists() {
            report.differs(
                FILE,
                "file",
                "bounds of neurons",
                "a criterion that needs none",
            );
        }
        return Ok(());
    }
    let found = origins.data.as_ref().and_then(|data| {
        let given = settings.profile_data.as_deref();
        let extent = profile_file::Extent {
            samples: settings.profile_samples,
            ..profile_file::Extent::default()
        };
        profile_file::find(given, &settings.data, data, &opened.network, &extent).ok()
    });
    let Some(profile_file::Source {
        profile: found,
        words,
        ..
    }) = found
    else {
        let about = "that the bounds of profile.npz are those of the data";
        let line = format!("without the data of the profile: {about} (settings.profile)");
        report.unverified.push(line);
        return Ok(());
    };
    let claimed = profile_file::load(&path, &opened.network)?;
    if !claimed.is_some_and(|claimed| found.comes_back_as(&claimed)) {
        report.differs(FILE, "bounds", "those of the profile data", "others");
    }
    let claimed = settings.profile.as_deref().unwrap_or("nothing");
    report.compare(folder::SUMMARY, "settings.profile", claimed, words.as_str());
    Ok(())
}
