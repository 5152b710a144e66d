//! What is still open: requirements not met at all, and requirements not met by the margin.

use deepconcolic_check::{Confirmed, Slot, Standing};
use deepconcolic_criteria::{Family, Group};
use deepconcolic_network::BitSet;

/// The state of every requirement, two bits each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Not yet met by the margin: what a search works on.
    open: Vec<BitSet>,
    /// Not yet met as coverage counts.
    uncovered: Vec<BitSet>,
    total: usize,
}

impl Ledger {
    /// Everything open.
    pub fn new(family: &dyn Family) -> Self {
        let required: Vec<BitSet> = family
            .groups()
            .iter()
            .map(|group| group.not_required.complement())
            .collect();
        Self {
            open: required.clone(),
            uncovered: required,
            total: family.groups().iter().map(Group::total).sum(),
        }
    }

    /// Enters what a confirmed input meets. Returns how many requirements it is the first to meet
    /// by the margin.
    pub fn enter(&mut self, confirmed: &Confirmed) -> usize {
        for slot in confirmed.exact() {
            self.uncovered[slot.group as usize].remove(slot.slot as usize);
        }
        let mut new = 0;
        for slot in confirmed.firm() {
            new += usize::from(self.is_open(*slot));
            self.open[slot.group as usize].remove(slot.slot as usize);
        }
        new
    }

    /// Enters a requirement that two inputs meet. Returns how much further that is than it was: firm if
    /// they are the first to meet it by the margin, fragile if they are the first to meet it at all.
    pub fn enter_pair(&mut self, slot: Slot, standing: Standing) -> Standing {
        let (group, number) = (slot.group as usize, slot.slot as usize);
        let uncovered = self.uncovered[group].contains(number);
        let gained = match standing {
            Standing::Firm if self.is_open(slot) => Standing::Firm,
            Standing::Firm | Standing::Fragile if uncovered => Standing::Fragile,
            _ => Standing::False,
        };
        if gained != Standing::False {
            self.uncovered[group].remove(number);
        }
        if gained == Standing::Firm {
            self.open[group].remove(number);
        }
        gained
    }

    /// Takes a requirement off the search: it was proven that nothing meets it.
    pub fn set_aside(&mut self, slot: Slot) {
        self.open[slot.group as usize].remove(slot.slot as usize);
    }

    /// How many requirements an input would be the first to meet by the margin.
    pub fn gain(&self, confirmed: &Confirmed) -> usize {
        let firm = confirmed.firm().iter();
        firm.filter(|slot| self.is_open(**slot)).count()
    }

    /// Whether a requirement is not yet met by the margin.
    pub fn is_open(&self, slot: Slot) -> bool {
        self.open[slot.group as usize].contains(slot.slot as usize)
    }

    /// What a search works on.
    pub fn open(&self) -> &[BitSet] {
        &self.open
    }

    /// What is not covered.
    pub fn uncovered(&self) -> &[BitSet] {
        &self.uncovered
    }

    /// Requirements.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Requirements not yet met by the margin.
    pub fn open_count(&self) -> usize {
        self.open.iter().map(BitSet::count).sum()
    }

    /// Requirements that some input meets.
    pub fn covered_count(&self) -> usize {
        self.total - self.uncovered.iter().map(BitSet::count).sum::<usize>()
    }
}
