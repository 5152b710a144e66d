//! Criteria by name.

use deepconcolic_criteria::{ALL, Criterion, Family, Group, Polarity};
use deepconcolic_language::Quantifier;
use deepconcolic_network::BitSet;
use deepconcolic_record::Summary;

use crate::error::Error;
use crate::settings::Settings;

/// What a witness of a requirement means in a run. A file may hold goals and properties; it is then one of goals.
pub fn polarity(summary: &Summary) -> Polarity {
    match &summary.properties {
        Some(some) if some.total == summary.requirements.total => Polarity::Property,
        _ => Polarity::Goal,
    }
}

/// What a witness of one requirement means. A criterion speaks for all of its requirements; those of a file say it
/// one by one, and a property of the verification competition asks for what should not be.
pub fn polarity_of(
    settings: &Settings,
    family: &dyn Family,
    group: usize,
    slot: usize,
) -> Polarity {
    let criteria = settings.criterion.as_deref().map(find_all);
    if let Some(Ok(criteria)) = criteria {
        let number = family.starts().partition_point(|&start| start <= group);
        let criterion = criteria.get(number.saturating_sub(1));
        return criterion.map_or(Polarity::Goal, |criterion| criterion.polarity());
    }
    let file = settings.requirements.as_ref().map_or("", |file| &file.name);
    polarity_in_file(file, family.quantifier(group, slot))
}

/// What a witness of a requirement of a file means: a `forall` should have no counterexample, and a property of the
/// verification competition asks for what should not be.
pub fn polarity_in_file(file: &str, quantifier: Quantifier) -> Polarity {
    if is_competition(file) || quantifier == Quantifier::Forall {
        Polarity::Property
    } else {
        Polarity::Goal
    }
}

/// The properties among what is required, group by group.
pub fn properties(settings: &Settings, family: &dyn Family) -> Vec<BitSet> {
    let of_group = |(number, group): (usize, &Group)| {
        let required = group.not_required.complement();
        let is_property = |slot| polarity_of(settings, family, number, slot) == Polarity::Property;
        let mut properties = BitSet::new(group.slots());
        // A criterion speaks for all of its requirements.
        match &settings.criterion {
            Some(_) if is_property(0) => return required,
            Some(_) => {}
            None => {
                for slot in required.iter().filter(|&slot| is_property(slot)) {
                    properties.insert(slot);
                }
            }
        }
        properties
    };
    family.groups().iter().enumerate().map(of_group).collect()
}

/// Whether a file of requirements is a property of the verification competition, by its name.
pub fn is_competition(file: &str) -> bool {
    file.strip_suffix(".gz")
        .unwrap_or(file)
        .ends_with(".vnnlib")
}

/// The criteria of names given by the user, with commas between them; each once.
pub fn find_all(names: &str) -> Result<Vec<&'static dyn Criterion>, Error> {
    let mut criteria: Vec<&'static dyn Criterion> = Vec::new();
    for name in names.split(',') {
        let criterion = find(name.trim())?;
        if !criteria
            .iter()
            .any(|known| known.name() == criterion.name())
        {
            criteria.push(criterion);
        }
    }
    Ok(criteria)
}

/// Options that have the number which people write behind the name of a criterion, as in `kmnc:10`.
const NUMBERS: [(&str, &str); 3] = [
    ("nc", "--threshold"),
    ("kmnc", "--sections"),
    ("tknc", "--top"),
];

/// The criterion of a name given by the user, in capitals or not.
pub fn find(name: &str) -> Result<&'static dyn Criterion, Error> {
    deepconcolic_criteria::find(&name.to_lowercase()).ok_or_else(|| {
        if let Some((criterion, number)) = name.split_once(':') {
            let named = |(known, _): &&(&str, &str)| criterion.eq_ignore_ascii_case(known);
            if let Some((known, option)) = NUMBERS.iter().find(named) {
                return Error::Request(format!(
                    "`{name}`: the number is an option of its own: --criterion {known} {option} {number}"
                ));
            }
        }
        let names: Vec<&str> = ALL.iter().map(|c| c.name()).collect();
        let meant = match nearest(name, &names) {
            Some(meant) => format!("did you mean `{meant}`? "),
            None => String::new(),
        };
        Error::Request(format!(
            "there is no criterion `{name}`; {meant}there are {}",
            names.join(", ")
        ))
    })
}

/// Whether the requirements of the criterion of a name are pairs of neurons.
pub fn is_about_pairs(name: &str) -> bool {
    find(name).is_ok_and(Criterion::is_about_pairs)
}

/// The name that was probably meant, if one is near.
pub fn nearest<'n>(given: &str, names: &[&'n str]) -> Option<&'n str> {
    let given = given.to_lowercase();
    let distances = names.iter().map(|name| (edits(&given, name), *name));
    let (distance, name) = distances.min()?;
    (distance <= 1 + name.len() / 4 && distance < name.len()).then_some(name)
}

/// How many characters must be added, removed, replaced or swapped with their neighbour to make one word another.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_capitals_and_near_ones_are_suggested() {
        assert_eq!(find("NC").map(Criterion::name).ok(), Some("nc"));
        assert_eq!(
            find("Lipschitz").map(Criterion::name).ok(),
            Some("lipschitz")
        );
        for (given, meant) in [
            ("kmcn", "kmnc"),
            ("lipshitz", "lipschitz"),
            ("saftey", "safety"),
            ("sssc", "ssc"),
        ] {
            let message = find(given).err().unwrap().to_string();
            let words = format!("did you mean `{meant}`?");
            assert!(message.contains(&words), "{message}");
        }
        let message = find("coverage").err().unwrap().to_string();
        assert!(!message.contains("did you mean"), "{message}");
    }

    #[test]
    fn a_number_behind_a_name_is_sent_to_its_option() {
        let message = find("kmnc:10").err().unwrap().to_string();
        assert!(
            message.contains("--criterion kmnc --sections 10"),
            "{message}"
        );
        let message = find("ssc:10").err().unwrap().to_string();
        assert!(
            message.contains("there is no criterion `ssc:10`"),
            "{message}"
        );
    }

    #[test]
    fn files_of_the_competition_are_known_by_their_names() {
        assert!(is_competition("a/b.vnnlib") && is_competition("b.vnnlib.gz"));
        assert!(!is_competition("b.dr") && !is_competition("b.vnnlib.txt"));
    }
}
