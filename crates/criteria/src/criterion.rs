//! What a criterion is: a name, and for a network a family of requirements that can be counted,
//! named, printed, and measured over a suite without being spelled out.

use std::ops::Range;

use deepconcolic_geometry::{InputSpace, Together};
use deepconcolic_language::{Inputs, Quantifier, Requirement};
use deepconcolic_network::{BitSet, Network, Point, Trace};

use super::guide::Guide;
use super::objective::Objective;
use super::pair_requirement::{Change, PairRequirement};
use super::parameters::Parameters;
use super::polarity::Polarity;
use super::profile::Profile;
use super::ratio::Ratio;
use super::selection::Selection;
use crate::Decision;

/// A coverage criterion, before it meets a network.
pub trait Criterion: Sync {
    /// What it is called on the command line.
    fn name(&self) -> &'static str;

    /// When one of its requirements is met, in one sentence.
    fn definition(&self) -> &'static str;

    /// Whether it compares with bounds seen in profile data.
    fn needs_profile(&self) -> bool {
        false
    }

    /// Whether a witness is wanted, or wanted not to be.
    fn polarity(&self) -> Polarity {
        Polarity::Goal
    }

    /// Whether its requirements are pairs of neurons.
    fn is_about_pairs(&self) -> bool {
        false
    }

    /// Its requirements for a network, or why there are none.
    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String>;
}

/// Why criteria over hidden neurons have nothing to ask.
pub(super) const NO_LAYER: &str = "the network has no hidden layer, so no neurons to cover; safety, lipschitz and \
                                   requirement files ask about its outputs";

/// What a criterion is applied to.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The network.
    pub network: &'a Network,
    /// Which neurons requirements are wanted for.
    pub selection: &'a Selection,
    /// The criterion's knobs.
    pub parameters: &'a Parameters,
    /// What the network's answer is.
    pub decision: &'a Decision,
    /// The inputs that regions are built round.
    pub seeds: &'a [Vec<f32>],
    /// How distances between inputs are measured.
    pub space: &'a InputSpace,
    /// Bounds seen in data, for the criteria that compare with them.
    pub profile: Option<&'a Profile>,
}

/// The requirements of one layer (for pair criteria: of one pair of layers).
#[derive(Clone, Debug)]
pub struct Group {
    /// The hidden layer it is reported under, `0..`; for pairs, the decision's. `None` for
    /// requirements on the network as a whole.
    pub layer: Option<usize>,
    /// Slots that are numbered here but required of nobody: neurons not selected, sections of a
    /// neuron that never moves.
    pub not_required: BitSet,
}

impl Group {
    /// A group in which every slot is a requirement.
    pub fn full(layer: Option<usize>, slots: usize) -> Self {
        Self {
            layer,
            not_required: BitSet::new(slots),
        }
    }

    /// Numbered slots.
    pub fn slots(&self) -> usize {
        self.not_required.len()
    }

    /// Requirements.
    pub fn total(&self) -> usize {
        self.slots() - self.not_required.count()
    }
}

/// The requirements of a criterion on a network.
pub trait Family: Send + Sync {
    /// The groups, in the order of the layers.
    fn groups(&self) -> &[Group];

    /// The first group of each of the families that are joined here; of a single one, the first.
    fn starts(&self) -> Vec<usize> {
        vec![0]
    }

    /// What a person calls one requirement: `layer:neuron` and what is asked of it.
    fn label(&self, group: usize, slot: usize) -> String;

    /// One requirement as a formula, or why the language cannot say it.
    fn requirement(&self, group: usize, slot: usize) -> Result<Requirement, String>;

    /// Whether one requirement asks for an input or speaks of all.
    fn quantifier(&self, group: usize, slot: usize) -> Quantifier {
        let requirement = self.requirement(group, slot);
        requirement.map_or(Quantifier::Exists, |requirement| requirement.quantifier)
    }

    /// What one requirement asks of inputs, for those who search and judge them.
    fn objective(&self, group: usize, slot: usize) -> Result<Objective, String> {
        match self.pairs(group) {
            Some(pairs) => Ok(Objective::PairOfChanges(pairs.requirement(group, slot))),
            None => Ok(Objective::of(&self.requirement(group, slot)?)),
        }
    }

    /// The pairs of neurons that the slots of a group stand for, if it is a group of pairs; groups have the same
    /// numbers there.
    fn pairs(&self, _group: usize) -> Option<&dyn Pairs> {
        None
    }

    /// Whether some group is one of pairs.
    fn has_pairs(&self) -> bool {
        (0..self.groups().len()).any(|group| self.pairs(group).is_some())
    }

    /// What the slots of one group ask about ratios, with the number of that group, if there is one.
    fn ratios(&self) -> Option<(usize, &dyn Ratios)> {
        None
    }

    /// Whether a group is the one about ratios.
    fn is_about_ratios(&self, group: usize) -> bool {
        self.ratios().is_some_and(|(number, _)| number == group)
    }

    /// Whether a group is one of pairs of neurons or of ratios: searches for one input cannot serve it.
    fn asks_for_two(&self, group: usize) -> bool {
        self.pairs(group).is_some() || self.is_about_ratios(group)
    }

    /// Whether every group is one of pairs of neurons or of ratios.
    fn asks_only_for_two(&self) -> bool {
        (0..self.groups().len()).all(|group| self.asks_for_two(group))
    }

    /// What must be kept of a run to measure it.
    fn points(&self) -> Vec<Point>;

    /// An empty suite's measurement.
    fn tally(&self) -> Box<dyn Tally + '_>;

    /// The same of those groups that are counted; of a criterion that has others nothing is.
    fn tally_of(&self, is_counted: &dyn Fn(usize) -> bool) -> Box<dyn Tally + '_> {
        if (0..self.groups().len()).all(is_counted) {
            self.tally()
        } else {
            Box::new(Uncounted::of(self.groups()))
        }
    }

    /// What steers a search towards its requirements on one input, or why they cannot be searched for this way.
    fn guide(&self) -> Result<&dyn Guide, String>;

    /// How many inputs a requirement speaks of.
    fn inputs(&self, group: usize, _slot: usize) -> Inputs {
        if self.asks_for_two(group) {
            Inputs::Two
        } else {
            Inputs::One
        }
    }

    /// What the user should know about how requirements were counted.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How the slots of a pair criterion stand for neurons, so that searches need not read it off formulas
/// as long as a layer.
pub trait Pairs {
    /// How the condition and the decision change.
    fn changes(&self) -> (Change, Change);

    /// The hidden layers of a group's conditions and decisions.
    fn layers(&self, group: usize) -> (usize, usize);

    /// Condition and decision of a slot.
    fn neurons(&self, group: usize, slot: usize) -> (usize, usize);

    /// The same of many slots, in their order.
    fn each_pair(
        &self,
        group: usize,
        slots: &BitSet,
        visit: &mut dyn FnMut(usize, (usize, usize)),
    ) {
        for slot in slots.iter() {
            visit(slot, self.neurons(group, slot));
        }
    }

    /// What a slot asks of two inputs.
    fn requirement(&self, group: usize, slot: usize) -> PairRequirement;

    /// The decisions of a group that have the same conditions as this one.
    fn alike(&self, group: usize, decision: usize) -> Vec<usize>;

    /// The slots of a decision, which follow each other in the order of its conditions; none of what is no decision.
    fn slots(&self, group: usize, decision: usize) -> Range<usize>;

    /// The slot of a condition and a decision, if they are connected.
    fn slot(&self, group: usize, condition: usize, decision: usize) -> Option<usize>;
}

/// What the slots of a group of ratios ask.
pub trait Ratios: Sync {
    /// What a person calls the region of a slot.
    fn region(&self, slot: usize) -> String;

    /// What a slot asks of two inputs.
    fn ratio(&self, slot: usize) -> Ratio;

    /// The seed that a slot's region lies round, by number; none where it lies round no seed.
    fn seed(&self, slot: usize) -> Option<usize>;
}

/// Runs some of the tests seen so far again, by number, keeping these tensors.
pub type Rerun<'a> = dyn Fn(&[usize], &[Point]) -> Trace<f32> + Sync + 'a;

/// Coverage of a suite that grows.
pub trait Tally: Send {
    /// Adds the tests of a trace, in order.
    fn observe(&mut self, trace: &Trace<f32>);

    /// Parts in which a trace can be observed. Tallies that take turns part by part read what the cache still holds.
    fn parts(&self) -> usize {
        1
    }

    /// Adds the tests of a trace as far as one part of it shows them; all parts together are [`Tally::observe`].
    fn observe_part(&mut self, trace: &Trace<f32>, _part: usize) {
        self.observe(trace);
    }

    /// Neurons of a part, where a part can be observed in stretches of neurons: a layer of a large network is more than a
    /// cache holds.
    fn neurons(&self, _part: usize) -> Option<usize> {
        None
    }

    /// Adds the tests of a trace as far as some neurons of a part show them, from a multiple of 64 on. Stretches come in
    /// the order of the neurons, from the first one on; all of them together are [`Tally::observe_part`].
    fn observe_neurons(&mut self, trace: &Trace<f32>, part: usize, _neurons: Range<usize>) {
        self.observe_part(trace, part);
    }

    /// Settles what needs the whole suite; nothing to do for one-input requirements. Two tests count
    /// together only where they may.
    fn finish(&mut self, _rerun: &Rerun<'_>, _together: &Together) {}

    /// The slots covered, group by group.
    fn covered(&self) -> &[BitSet];

    /// Two tests that cover a slot together, once a suite is decided; for one-input requirements none.
    fn shown_by(&self, _group: usize, _slot: usize) -> Option<(usize, usize)> {
        None
    }
}

/// What is counted of a suite whose tests are not compared: nothing.
struct Uncounted {
    covered: Vec<BitSet>,
}

impl Uncounted {
    fn of(groups: &[Group]) -> Self {
        let nothing = |group: &Group| BitSet::new(group.slots());
        Self {
            covered: groups.iter().map(nothing).collect(),
        }
    }
}

impl Tally for Uncounted {
    fn observe(&mut self, _trace: &Trace<f32>) {}

    fn covered(&self) -> &[BitSet] {
        &self.covered
    }
}
