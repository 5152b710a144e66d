//! A part of a family: the same requirements with the same numbers, of which only some are required.
//! Workers that each take a part of one family can be joined, since nothing is renumbered.
//!
//! The split: the requirements of every group, in the order of their numbers, are cut into n runs of
//! consecutive ones as equal as can be; part i of n has the i-th run of every group. So parts are disjoint,
//! together they are everything, each has its share of every layer, and requirements on one neuron mostly
//! stay together.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use deepconcolic_language::{Inputs, Quantifier, Requirement};
use deepconcolic_network::{BitSet, Point};
use serde::{Deserialize, Serialize};

use crate::{Family, Group, Guide, Objective, Pairs, Ratios, Tally};

/// One of n parts, written `i/n` with i from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Partition {
    part: usize,
    of: usize,
}

impl Partition {
    /// Most parts: beyond that the numbers of requirements could overflow.
    const MAX: usize = 1_000_000;

    /// Into how many parts the requirements are split.
    pub fn parts(self) -> usize {
        self.of
    }

    /// All parts of the split that this is one of.
    pub fn all(self) -> impl Iterator<Item = Self> {
        let of = self.of;
        (1..=of).map(move |part| Self { part, of })
    }

    /// Which of so many things, in their order, are in the part.
    pub fn range(self, count: usize) -> Range<usize> {
        let cut = |part: usize| count * part / self.of;
        cut(self.part - 1)..cut(self.part)
    }

    /// A group of which only the requirements of the part are required.
    pub fn of_group(self, group: &Group) -> Group {
        let required: Vec<usize> = group.not_required.complement().iter().collect();
        let mut not_required = BitSet::new(group.slots()).complement();
        for &slot in &required[self.range(required.len())] {
            not_required.remove(slot);
        }
        Group {
            layer: group.layer,
            not_required,
        }
    }

    /// The part of a family.
    pub fn restrict(self, family: Box<dyn Family>) -> Box<dyn Family> {
        let groups = family.groups().iter();
        let groups = groups.map(|group| self.of_group(group)).collect();
        Box::new(Part {
            partition: self,
            groups,
            family,
        })
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<usize>().ok().filter(|_| digits)
        };
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(part, of)| Some((number(part)?, number(of)?)));
        match numbers {
            Some((part, of)) if (1..=of).contains(&part) && of <= Self::MAX => {
                Ok(Self { part, of })
            }
            _ => Err(format!(
                "`{text}` is no part of requirements: give i/n with i from 1 to n, for example 1/4 (n at most {})",
                Self::MAX
            )),
        }
    }
}

impl TryFrom<String> for Partition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Partition> for String {
    fn from(partition: Partition) -> Self {
        partition.to_string()
    }
}

/// A family of which only a part is required.
struct Part {
    partition: Partition,
    family: Box<dyn Family>,
    groups: Vec<Group>,
}

impl Family for Part {
    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn starts(&self) -> Vec<usize> {
        self.family.starts()
    }

    fn label(&self, group: usize, slot: usize) -> String {
        self.family.label(group, slot)
    }

    fn requirement(&self, group: usize, slot: usize) -> Result<Requirement, String> {
        self.family.requirement(group, slot)
    }

    fn quantifier(&self, group: usize, slot: usize) -> Quantifier {
        self.family.quantifier(group, slot)
    }

    fn objective(&self, group: usize, slot: usize) -> Result<Objective, String> {
        self.family.objective(group, slot)
    }

    fn pairs(&self, group: usize) -> Option<&dyn Pairs> {
        self.family.pairs(group)
    }

    fn ratios(&self) -> Option<(usize, &dyn Ratios)> {
        self.family.ratios()
    }

    fn points(&self) -> Vec<Point> {
        self.family.points()
    }

    fn tally(&self) -> Box<dyn Tally + '_> {
        self.family.tally()
    }

    fn tally_of(&self, is_counted: &dyn Fn(usize) -> bool) -> Box<dyn Tally + '_> {
        self.family.tally_of(is_counted)
    }

    fn guide(&self) -> Result<&dyn Guide, String> {
        self.family.guide()
    }

    fn inputs(&self, group: usize, slot: usize) -> Inputs {
        self.family.inputs(group, slot)
    }

    fn notes(&self) -> Vec<String> {
        let total = |groups: &[Group]| groups.iter().map(Group::total).sum::<usize>();
        let mut notes = self.family.notes();
        notes.push(format!(
            "part {}: {} of the {} requirements are required here, the others of other parts",
            self.partition,
            total(&self.groups),
            total(self.family.groups())
        ));
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(slots: usize, not_required: &[usize]) -> Group {
        let mut group = Group::full(None, slots);
        for &slot in not_required {
            group.not_required.insert(slot);
        }
        group
    }

    #[test]
    fn parts_are_disjoint_and_together_everything() {
        for (slots, not_required) in [(0, &[][..]), (1, &[]), (7, &[0, 3]), (100, &[99])] {
            let whole = group(slots, not_required);
            for of in [1, 2, 3, 5, 200] {
                let first: Partition = format!("1/{of}").parse().unwrap();
                let mut seen = whole.not_required.clone();
                let mut sizes = Vec::new();
                for part in first.all() {
                    let required = part.of_group(&whole).not_required.complement();
                    sizes.push(required.count());
                    for slot in required.iter() {
                        assert!(!seen.contains(slot), "{slot} is in two parts or void");
                        seen.insert(slot);
                    }
                }
                assert_eq!(seen.count(), slots);
                let (least, maximum) = (sizes.iter().min(), sizes.iter().max());
                assert!(maximum.unwrap() - least.unwrap() <= 1, "{sizes:?}");
            }
        }
    }

    #[test]
    fn a_part_is_written_as_two_numbers() {
        let part: Partition = "2/3".parse().unwrap();
        assert_eq!(part.to_string(), "2/3");
        for bad in [
            "",
            "2",
            "0/3",
            "4/3",
            "1/0",
            "+1/2",
            "1/2/3",
            "a/b",
            "1/9999999999",
        ] {
            let why = bad.parse::<Partition>().unwrap_err();
            assert!(why.contains("i/n"), "{why}");
        }
    }
}
