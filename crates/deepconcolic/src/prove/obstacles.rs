//! What was in the way of proofs: at most one reason for a requirement, and told only of those that are
//! open in the end.

use std::collections::BTreeMap;

use deepconcolic_check::Slot;
use deepconcolic_criteria::Family;
use deepconcolic_network::BitSet;

/// The reason when there was no time.
pub const LATE: &str = "the time for proofs was up";
/// The reason when a limit on passes, which proofs get a part of, was reached.
pub const SPENT: &str = "--max-executions leaves no more for proofs";

/// By reason, the requirements of every group.
#[derive(Default)]
pub struct Obstacles(BTreeMap<String, Vec<BitSet>>);

impl Obstacles {
    /// Enters a reason for requirements, in place of any that was known.
    pub fn enter(
        &mut self,
        family: &dyn Family,
        reason: &str,
        slots: impl IntoIterator<Item = Slot>,
    ) {
        let mut slots = slots.into_iter().peekable();
        if slots.peek().is_none() {
            return;
        }
        let empty = || {
            let groups = family.groups().iter();
            groups.map(|group| BitSet::new(group.slots())).collect()
        };
        self.0.entry(reason.to_owned()).or_insert_with(empty);
        for slot in slots {
            let (group, number) = (slot.group as usize, slot.slot as usize);
            for (known, sets) in &mut self.0 {
                if known == reason {
                    sets[group].insert(number);
                } else {
                    sets[group].remove(number);
                }
            }
        }
    }

    /// The same for all requirements of some sets, group by group.
    pub fn enter_all(&mut self, family: &dyn Family, reason: &str, all: &[BitSet]) {
        if all.iter().all(|set| set.count() == 0) {
            return;
        }
        self.enter(family, reason, first(all));
        for (known, sets) in &mut self.0 {
            for (set, entered) in sets.iter_mut().zip(all) {
                for (word, entered) in set.words_mut().iter_mut().zip(entered.words()) {
                    *word = if known == reason {
                        *word | entered
                    } else {
                        *word & !entered
                    };
                }
            }
        }
    }

    /// Takes back that there was no time for a requirement.
    pub fn in_time(&mut self, slot: Slot) {
        if let Some(sets) = self.0.get_mut(LATE) {
            sets[slot.group as usize].remove(slot.slot as usize);
        }
    }

    /// Of open requirements, how many each reason holds for.
    fn counts<'a>(&'a self, open: &'a [BitSet]) -> impl Iterator<Item = (&'a str, usize)> {
        let counts = self.0.iter().map(move |(reason, sets)| {
            let both = sets.iter().zip(open);
            let count = both.map(|(set, open)| set.count() - set.count_without(open));
            (reason.as_str(), count.sum())
        });
        counts.filter(|(_, count)| *count > 0)
    }

    /// What the user should know, given what is open in the end.
    pub fn notes(&self, open: &[BitSet]) -> Vec<String> {
        let all: usize = open.iter().map(BitSet::count).sum();
        let note = |(reason, count): (&str, usize)| {
            format!(
                "{count} of {all} open requirements were not tried for proofs to the end: {reason}"
            )
        };
        self.counts(open).map(note).collect()
    }

    /// Whether time was up before something that is open in the end was tried.
    pub fn is_cut(&self, open: &[BitSet]) -> bool {
        self.counts(open).any(|(reason, _)| reason == LATE)
    }

    /// Whether a limit on passes kept proofs from something that is open in the end.
    pub fn is_spent(&self, open: &[BitSet]) -> bool {
        self.counts(open).any(|(reason, _)| reason == SPENT)
    }
}

/// The first requirement of some sets.
fn first(sets: &[BitSet]) -> Option<Slot> {
    let mut groups = sets.iter().enumerate();
    groups.find_map(|(group, set)| {
        let slot = set.iter().next()?;
        Some(Slot {
            group: group as u32,
            slot: slot as u32,
        })
    })
}

#[cfg(test)]
mod tests {
    use deepconcolic_campaign::Stop;
    use deepconcolic_criteria::Written;
    use deepconcolic_geometry::InputSpace;
    use deepconcolic_language::{RequirementFile, Signature};
    use deepconcolic_network::{NetworkBuilder, Shape};

    use super::super::Proven;
    use super::*;

    fn family() -> Written {
        let shape = Shape::new([1, 2]).unwrap();
        let (builder, input) = NetworkBuilder::new("x", shape);
        let network = builder.finish(&[("y", input)], 0).unwrap();
        let file = RequirementFile::parse(&"exists x: v[x][1,0] > 0\n".repeat(5)).unwrap();
        let set = file.resolve(&Signature::of(&network)).unwrap();
        Written::new(&network, &set, &InputSpace::default()).unwrap()
    }

    fn slot(slot: u32) -> Slot {
        Slot { group: 0, slot }
    }

    #[test]
    fn every_open_requirement_is_counted_once_and_no_other() {
        let family = family();
        let mut obstacles = Obstacles::default();
        obstacles.enter(&family, LATE, (0..5).map(slot));
        obstacles.enter(&family, "it is too large", [slot(1), slot(2)]);
        let mut open = BitSet::new(5);
        open.insert(0);
        open.insert(1);
        let said = obstacles.notes(&[open]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said.iter().all(|note| note.starts_with("1 of 2 open")),
            "{said:?}"
        );
        assert!(obstacles.notes(&[BitSet::new(5)]).is_empty());
    }

    #[test]
    fn a_set_is_entered_like_its_members() {
        let family = family();
        let (mut each, mut all) = (Obstacles::default(), Obstacles::default());
        for obstacles in [&mut each, &mut all] {
            obstacles.enter(&family, "it is too large", (1..4).map(slot));
        }
        let mut some = BitSet::new(5);
        for number in [0, 2, 4] {
            some.insert(number);
        }
        each.enter(&family, LATE, some.iter().map(|n| slot(n as u32)));
        all.enter_all(&family, LATE, std::slice::from_ref(&some));
        let open = [BitSet::new(5).complement()];
        assert_eq!(each.notes(&open), all.notes(&open));
        all.enter_all(&family, "nothing", &[BitSet::new(5)]);
        assert_eq!(each.notes(&open), all.notes(&open));
    }

    #[test]
    fn a_run_is_complete_only_if_time_did_not_end_proofs_of_what_is_open() {
        let family = family();
        let mut proven = Proven::default();
        proven.obstacles.enter(&family, LATE, [slot(3)]);
        let mut open = BitSet::new(5);
        open.insert(2);
        let stop = |open: &BitSet, interrupted| {
            proven.stop(Stop::Complete, std::slice::from_ref(open), interrupted)
        };
        assert_eq!(stop(&open, false), Stop::Complete);
        open.insert(3);
        assert_eq!(stop(&open, false), Stop::Budget);
        assert_eq!(stop(&open, true), Stop::Interrupted);
    }
}
