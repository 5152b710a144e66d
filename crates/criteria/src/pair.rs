//! Pair criteria (the paper's MC/DC variants): between two tests, one condition of a layer changes,
//! the others keep their signs, and a decision of a following layer changes.
//!
//! A change is of sign or of value; the four combinations are the four criteria. A suite is
//! measured from the sign patterns of its tests alone (one bit a neuron); values are looked up, by
//! running again, only for tests that can be part of a pair.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use deepconcolic_geometry::Together;
use deepconcolic_language::{Inputs, Quantifier, Requirement};
use deepconcolic_network::{BitSet, Cones, Layer, Network, Point, Trace, bits, ones};

use super::criterion::{Family, Group, NO_LAYER, Pairs, Rerun, Setting, Tally};
use super::guide::Guide;
use super::pair_requirement::{Change, Changing, Kept, PairRequirement};
use super::parameters::Scope;
use super::patterns::Patterns;

/// The requirements of a pair criterion.
pub(super) struct PairFamily {
    condition: Change,
    decision: Change,
    scope: Scope,
    blocks: Vec<Block>,
    groups: Vec<Group>,
    names: Vec<String>,
    sizes: Vec<usize>,
}

/// Two layers that follow each other.
struct Block {
    before: usize,
    layer: usize,
    /// The distinct sets of conditions; most decisions share theirs with others.
    cones: Vec<Arc<[usize]>>,
    /// Which set each decision has.
    cone_of: Vec<usize>,
    /// First slot of each decision, and the end.
    starts: Vec<usize>,
}

impl Block {
    fn new(network: &Network, setting: &Setting<'_>, before: usize, layer: usize) -> Self {
        let Cones { sets, of } =
            network.cones(before, layer, |neuron| setting.selection.has(layer, neuron));
        let mut starts = Vec::with_capacity(of.len() + 1);
        starts.push(0);
        let mut end = 0;
        starts.extend(of.iter().map(|&cone| {
            end += sets[cone].len();
            end
        }));
        Self {
            before,
            layer,
            cones: sets,
            cone_of: of,
            starts,
        }
    }

    fn cone(&self, decision: usize) -> &[usize] {
        &self.cones[self.cone_of[decision]]
    }

    fn slot(&self, condition: usize, decision: usize) -> Option<usize> {
        // Numbers may come from a file.
        let cone = &self.cones[*self.cone_of.get(decision)?];
        let position = cone.binary_search(&condition).ok()?;
        Some(self.starts[decision] + position)
    }

    /// Condition and decision of a slot.
    fn pair(&self, slot: usize) -> (usize, usize) {
        let decision = self.starts.partition_point(|&start| start <= slot) - 1;
        (self.cone(decision)[slot - self.starts[decision]], decision)
    }
}

/// Why there are no pairs: the network has none, or the selection leaves none.
fn no_pairs(network: &Network) -> String {
    let layers = network.layers();
    let decisions = (0..layers.len()).filter(|&layer| !network.layers_before(layer).is_empty());
    let names: Vec<String> = decisions
        .map(|layer| format!("`{}`", layers[layer].name()))
        .collect();
    match names.as_slice() {
        [] if layers.is_empty() => NO_LAYER.into(),
        [] => "pairs are of two hidden layers that follow each other, and the network has no such two; \
               nc, nbc, snac, kmnc and tknc look at single neurons"
            .into(),
        names => format!(
            "none of the layers selected follows another hidden layer; --layers and --neurons choose the decisions of \
             pairs, which are in {}",
            names.join(", ")
        ),
    }
}

impl PairFamily {
    pub fn new(setting: &Setting<'_>, condition: Change, decision: Change) -> Result<Self, String> {
        let network = setting.network;
        let mut blocks = Vec::new();
        for layer in setting.selection.layers() {
            for before in network.layers_before(layer) {
                blocks.push(Block::new(network, setting, before, layer));
            }
        }
        if blocks.is_empty() {
            return Err(no_pairs(network));
        }
        let slots = |block: &Block| block.starts.last().copied().unwrap_or(0);
        Ok(Self {
            condition,
            decision,
            scope: setting.parameters.scope,
            groups: blocks
                .iter()
                .map(|block| Group::full(Some(block.layer), slots(block)))
                .collect(),
            blocks,
            names: network
                .layers()
                .iter()
                .map(|l| l.name().to_owned())
                .collect(),
            sizes: network.layers().iter().map(Layer::neurons).collect(),
        })
    }

    /// The hidden layers that pairs look at.
    fn layers(&self) -> Vec<usize> {
        let layers = self.blocks.iter().flat_map(|b| [b.before, b.layer]);
        let mut layers: Vec<usize> = layers.collect();
        layers.sort_unstable();
        layers.dedup();
        layers
    }
}

impl Family for PairFamily {
    fn guide(&self) -> Result<&dyn Guide, String> {
        Err("it asks for two inputs at once".into())
    }

    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn label(&self, group: usize, slot: usize) -> String {
        let block = &self.blocks[group];
        let (condition, decision) = block.pair(slot);
        let (before, layer) = (&self.names[block.before], &self.names[block.layer]);
        format!("{before}:{condition} -> {layer}:{decision}")
    }

    fn requirement(&self, group: usize, slot: usize) -> Result<Requirement, String> {
        Ok(Requirement {
            name: None,
            quantifier: Quantifier::Exists,
            inputs: Inputs::Two,
            formula: Pairs::requirement(self, group, slot).formula(),
        })
    }

    fn pairs(&self, _group: usize) -> Option<&dyn Pairs> {
        Some(self)
    }

    fn points(&self) -> Vec<Point> {
        self.layers().into_iter().map(Point::Pre).collect()
    }

    fn tally(&self) -> Box<dyn Tally + '_> {
        let layers = self.layers().into_iter();
        let patterns = layers.map(|layer| (layer, Patterns::new(self.sizes[layer])));
        Box::new(PairTally {
            family: self,
            patterns: patterns.collect(),
            covered: self.groups.iter().map(|g| BitSet::new(g.slots())).collect(),
            shown_by: vec![HashMap::new(); self.groups.len()],
        })
    }
}

impl Pairs for PairFamily {
    fn changes(&self) -> (Change, Change) {
        (self.condition, self.decision)
    }

    fn layers(&self, group: usize) -> (usize, usize) {
        let block = &self.blocks[group];
        (block.before, block.layer)
    }

    fn neurons(&self, group: usize, slot: usize) -> (usize, usize) {
        self.blocks[group].pair(slot)
    }

    fn each_pair(
        &self,
        group: usize,
        slots: &BitSet,
        visit: &mut dyn FnMut(usize, (usize, usize)),
    ) {
        let block = &self.blocks[group];
        let mut decision = 0;
        for slot in slots.iter() {
            while block.starts[decision + 1] <= slot {
                decision += 1;
            }
            let condition = block.cone(decision)[slot - block.starts[decision]];
            visit(slot, (condition, decision));
        }
    }

    fn requirement(&self, group: usize, slot: usize) -> PairRequirement {
        let block = &self.blocks[group];
        let (condition, decision) = block.pair(slot);
        let changing = |layer: usize, neuron: usize, change: Change| Changing {
            layer,
            neuron,
            change,
        };
        PairRequirement {
            condition: changing(block.before, condition, self.condition),
            decision: changing(block.layer, decision, self.decision),
            kept: match self.scope {
                Scope::Layer => Kept::Layer(self.sizes[block.before]),
                Scope::Field => Kept::Field(block.cones[block.cone_of[decision]].clone()),
            },
        }
    }

    fn alike(&self, group: usize, decision: usize) -> Vec<usize> {
        let cones = &self.blocks[group].cone_of;
        let same = |&other: &usize| cones[other] == cones[decision];
        (0..cones.len()).filter(same).collect()
    }

    fn slots(&self, group: usize, decision: usize) -> Range<usize> {
        match self.blocks[group].starts.get(decision..=decision + 1) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        }
    }

    fn slot(&self, group: usize, condition: usize, decision: usize) -> Option<usize> {
        self.blocks[group].slot(condition, decision)
    }
}

struct PairTally<'a> {
    family: &'a PairFamily,
    /// By layer.
    patterns: HashMap<usize, Patterns>,
    covered: Vec<BitSet>,
    /// By group: the tests that cover a slot.
    shown_by: Vec<HashMap<usize, (usize, usize)>>,
}

impl Tally for PairTally<'_> {
    fn observe(&mut self, trace: &Trace<f32>) {
        for (layer, patterns) in &mut self.patterns {
            let neurons = self.family.sizes[*layer];
            for row in trace.get(Point::Pre(*layer)).chunks_exact(neurons.max(1)) {
                patterns.push(bits::pack(row, |u| u >= 0.0));
            }
        }
    }

    fn finish(&mut self, rerun: &Rerun<'_>, together: &Together) {
        let results = self.covered.iter_mut().zip(&mut self.shown_by);
        for (block, (covered, shown_by)) in self.family.blocks.iter().zip(results) {
            let conditions = &self.patterns[&block.before];
            let mut settle = Settle {
                family: self.family,
                block,
                decisions: &self.patterns[&block.layer],
                rerun,
                together,
                covered,
                shown_by,
            };
            match self.family.scope {
                Scope::Layer => {
                    let all: Vec<usize> = (0..self.family.sizes[block.before]).collect();
                    settle.conditions(conditions, &all, None);
                }
                Scope::Field => {
                    for (cone, neurons) in block.cones.iter().enumerate() {
                        if !neurons.is_empty() {
                            let narrow = conditions.restricted(neurons);
                            settle.conditions(&narrow, neurons, Some(cone));
                        }
                    }
                }
            }
        }
    }

    fn covered(&self) -> &[BitSet] {
        &self.covered
    }

    fn shown_by(&self, group: usize, slot: usize) -> Option<(usize, usize)> {
        self.shown_by[group].get(&slot).copied()
    }
}

/// Finds the pairs of tests of one block and marks what they cover.
struct Settle<'a> {
    family: &'a PairFamily,
    block: &'a Block,
    decisions: &'a Patterns,
    rerun: &'a Rerun<'a>,
    together: &'a Together,
    covered: &'a mut BitSet,
    shown_by: &'a mut HashMap<usize, (usize, usize)>,
}

impl Settle<'_> {
    /// `patterns` are of `neurons`; only decisions with this cone count, if one is given.
    fn conditions(&mut self, patterns: &Patterns, neurons: &[usize], cone: Option<usize>) {
        let groups = patterns.groups();
        match (self.family.condition, self.family.decision) {
            (Change::Sign, Change::Sign) => {
                let classes: Vec<Vec<Class>> =
                    groups.iter().map(|tests| self.classes(tests)).collect();
                for (a, b, bit) in patterns.neighbours(&groups) {
                    for (a, b) in classes[a]
                        .iter()
                        .flat_map(|a| classes[b].iter().map(move |b| (a, b)))
                    {
                        if !self.together.meet(a.number, b.number) {
                            continue;
                        }
                        let changed = a.sides.changed(&b.sides);
                        let decisions = self.decisions;
                        let tests = |j: usize| differing(decisions, &a.tests, &b.tests, j);
                        self.mark(neurons[bit], ones(&changed), cone, &tests);
                    }
                }
            }
            (Change::Sign, decision @ Change::Value(_)) => {
                let pairs = patterns.neighbours(&groups);
                let values = self.values(pairs.iter().flat_map(|(a, b, _)| [*a, *b]), &groups);
                for (a, b, bit) in pairs {
                    for (x1, x2) in ordered(self.together, &groups[a], &groups[b]) {
                        let changed = changed_decisions(&values, x1, x2, decision);
                        self.mark(neurons[bit], changed.into_iter(), cone, &|_| Some((x1, x2)));
                    }
                }
            }
            (condition @ Change::Value(_), decision) => {
                let shared = (0..groups.len()).filter(|&g| groups[g].len() > 1);
                let values = self.values(shared.clone(), &groups);
                for group in shared {
                    for (x1, x2) in ordered(self.together, &groups[group], &groups[group]) {
                        let changes = (condition, decision);
                        self.equal_patterns(&values, (x1, x2), changes, neurons, cone);
                    }
                }
            }
        }
    }

    /// The tests of a group by the parts of the search region they lie in.
    fn classes(&self, tests: &[usize]) -> Vec<Class> {
        let divided = self.together.divide(tests).into_iter();
        let class = |(number, tests): (usize, Vec<usize>)| Class {
            number,
            sides: Sides::of(self.decisions, &tests),
            tests,
        };
        divided.map(class).collect()
    }

    /// Two tests with equal patterns: every condition that changed, with every decision that did.
    fn equal_patterns(
        &mut self,
        values: &Values,
        (x1, x2): (usize, usize),
        (condition, decision): (Change, Change),
        neurons: &[usize],
        cone: Option<usize>,
    ) {
        let (first, second) = (&values[&x1].0, &values[&x2].0);
        let changed_value = |n: &&usize| condition.happens(first[**n], second[**n]);
        let conditions: Vec<usize> = neurons.iter().filter(changed_value).copied().collect();
        if conditions.is_empty() {
            return;
        }
        let changed: Vec<usize> = match decision {
            Change::Sign => {
                let pair = (self.decisions.get(x1), self.decisions.get(x2));
                let words: Vec<u64> = pair.0.iter().zip(pair.1).map(|(a, b)| a ^ b).collect();
                ones(&words).collect()
            }
            Change::Value(_) => changed_decisions(values, x1, x2, decision),
        };
        for condition in conditions {
            let tests = |_| Some((x1, x2));
            self.mark(condition, changed.iter().copied(), cone, &tests);
        }
    }

    /// Values of the tests in some groups, by running them again.
    fn values(&self, wanted: impl Iterator<Item = usize>, groups: &[Vec<usize>]) -> Values {
        let mut tests: Vec<usize> = wanted.flat_map(|g| groups[g].iter().copied()).collect();
        tests.sort_unstable();
        tests.dedup();
        let points = [Point::Pre(self.block.before), Point::Pre(self.block.layer)];
        let mut values = HashMap::new();
        for batch in tests.chunks(256) {
            let trace = (self.rerun)(batch, &points);
            for (row, &test) in batch.iter().enumerate() {
                let [before, layer] = points.map(|p| trace.sample(p, row).to_vec());
                values.insert(test, (before, layer));
            }
        }
        values
    }

    fn mark(
        &mut self,
        condition: usize,
        decisions: impl Iterator<Item = usize>,
        cone: Option<usize>,
        tests: &dyn Fn(usize) -> Option<(usize, usize)>,
    ) {
        for decision in decisions {
            if cone.is_none_or(|cone| self.block.cone_of[decision] == cone)
                && let Some(slot) = self.block.slot(condition, decision)
            {
                if !self.covered.contains(slot)
                    && let Some(tests) = tests(decision)
                {
                    self.shown_by.insert(slot, tests);
                }
                self.covered.insert(slot);
            }
        }
    }
}

/// The first two tests, one of each group, on different sides of a decision.
fn differing(decisions: &Patterns, a: &[usize], b: &[usize], j: usize) -> Option<(usize, usize)> {
    let side = |test: usize| decisions.get(test)[j / 64] >> (j % 64) & 1;
    let first = |group: &[usize], wanted: u64| {
        let mut tests = group.iter().copied();
        tests.find(|&test| side(test) == wanted)
    };
    let pair = |wanted: u64| Some((first(a, wanted)?, first(b, 1 - wanted)?));
    pair(0).or_else(|| pair(1))
}

/// u of the condition's and the decision's layer, by test.
type Values = HashMap<usize, (Vec<f32>, Vec<f32>)>;

/// Decisions that change from one test to the other.
fn changed_decisions(values: &Values, x1: usize, x2: usize, change: Change) -> Vec<usize> {
    let (first, second) = (&values[&x1].1, &values[&x2].1);
    (0..first.len())
        .filter(|&j| change.happens(first[j], second[j]))
        .collect()
}

/// Ordered pairs with one member from each, both ways round, that may count together.
fn ordered<'a>(
    together: &'a Together,
    a: &'a [usize],
    b: &'a [usize],
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let pairs = a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y)));
    pairs
        .flat_map(|(x, y)| [(x, y), (y, x)])
        .filter(|&(x, y)| x != y && together.may_pair(x, y))
}

/// Tests of a group that lie in the same parts of the search region.
struct Class {
    number: usize,
    tests: Vec<usize>,
    sides: Sides,
}

/// For some tests: decisions that are active on some, and inactive on some.
struct Sides {
    on: Vec<u64>,
    off: Vec<u64>,
}

impl Sides {
    fn of(decisions: &Patterns, tests: &[usize]) -> Self {
        let words = decisions.get(tests[0]).len();
        let mut sides = Self {
            on: vec![0; words],
            off: vec![0; words],
        };
        for &test in tests {
            for (w, &word) in decisions.get(test).iter().enumerate() {
                sides.on[w] |= word;
                sides.off[w] |= !word;
            }
        }
        sides
    }

    /// Decisions that differ between some test of one group and some of the other. Bits past the
    /// last neuron are off everywhere and never differ.
    fn changed(&self, other: &Self) -> Vec<u64> {
        (0..self.on.len())
            .map(|w| self.on[w] & other.off[w] | self.off[w] & other.on[w])
            .collect()
    }
}
