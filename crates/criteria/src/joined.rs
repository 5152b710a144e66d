//! Several families as one, over one suite: their groups one after the other. Searches, proofs and checks see one family.

use std::ops::Range;

use deepconcolic_geometry::Together;
use deepconcolic_language::{Inputs, Requirement};
use deepconcolic_network::{BitSet, Point, Seed, Trace};

use crate::criterion::Rerun;
use crate::{
    Change, Clearance, Confinement, Family, Group, Guide, Objective, PairRequirement, Pairs,
    Ratios, SampleView, Sections, Tally,
};

/// Several families of requirements: on one input, on pairs of neurons, on ratios.
pub struct Joined {
    members: Vec<Member>,
    groups: Vec<Group>,
    /// The first group of each family.
    starts: Vec<usize>,
}

/// One of several families.
struct Member {
    /// The name of its criterion.
    name: &'static str,
    family: Box<dyn Family>,
    /// Its first group among those of all.
    start: usize,
}

impl Member {
    /// Its pairs, and the number that a group of all has in it.
    fn pairs_of(&self, group: usize) -> (&dyn Pairs, usize) {
        let own = group - self.start;
        // Which groups are of pairs follows from the criteria asked for, and `Joined::pairs` hands out no member for
        // any other group: no file has a say in it.
        let pairs = self.family.pairs(own);
        (
            pairs.expect("`Joined::pairs` gives members with pairs only"),
            own,
        )
    }

    /// Of what there is for each group of all, its own part.
    fn part<'p, T>(&self, all: &'p [T]) -> &'p [T] {
        &all[self.start..self.start + self.family.groups().len()]
    }
}

impl Joined {
    /// Families with the names of their criteria, at most one of them of ratios.
    pub fn new(families: Vec<(&'static str, Box<dyn Family>)>) -> Self {
        let mut joined = Self {
            members: Vec::new(),
            groups: Vec::new(),
            starts: Vec::new(),
        };
        for (name, family) in families {
            let start = joined.groups.len();
            joined.starts.push(start);
            joined.groups.extend_from_slice(family.groups());
            joined.members.push(Member {
                name,
                family,
                start,
            });
        }
        joined
    }

    /// The family that a group belongs to.
    fn member(&self, group: usize) -> &Member {
        let number = self.starts.partition_point(|&start| start <= group) - 1;
        &self.members[number]
    }

    /// The family that a group belongs to, and the number that the group has there.
    fn find(&self, group: usize) -> (&dyn Family, usize) {
        let member = self.member(group);
        (member.family.as_ref(), group - member.start)
    }

    fn joined_tally<'f>(&'f self, tallies: Vec<Box<dyn Tally + 'f>>) -> Box<dyn Tally + 'f> {
        let mut tally = JoinedTally {
            tallies,
            covered: Vec::new(),
            starts: &self.starts,
        };
        tally.gather();
        Box::new(tally)
    }
}

impl Family for Joined {
    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn starts(&self) -> Vec<usize> {
        self.starts.clone()
    }

    fn label(&self, group: usize, slot: usize) -> String {
        let name = self.member(group).name;
        let (family, group) = self.find(group);
        format!("{name} {}", family.label(group, slot))
    }

    fn requirement(&self, group: usize, slot: usize) -> Result<Requirement, String> {
        let (family, group) = self.find(group);
        family.requirement(group, slot)
    }

    fn objective(&self, group: usize, slot: usize) -> Result<Objective, String> {
        let (family, group) = self.find(group);
        family.objective(group, slot)
    }

    fn pairs(&self, group: usize) -> Option<&dyn Pairs> {
        let member = self.member(group);
        let pairs = member.family.pairs(group - member.start);
        pairs.map(|_| member as &dyn Pairs)
    }

    fn ratios(&self) -> Option<(usize, &dyn Ratios)> {
        self.members.iter().find_map(|member| {
            let (group, ratios) = member.family.ratios()?;
            Some((member.start + group, ratios))
        })
    }

    fn points(&self) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        for point in self
            .members
            .iter()
            .flat_map(|member| member.family.points())
        {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        points
    }

    /// Ratios are left out: what counts of them is what is certain, which no tally says.
    fn tally(&self) -> Box<dyn Tally + '_> {
        self.tally_of(&|group| !self.is_about_ratios(group))
    }

    fn tally_of(&self, is_counted: &dyn Fn(usize) -> bool) -> Box<dyn Tally + '_> {
        let mut tallies = Vec::new();
        for Member { family, start, .. } in &self.members {
            tallies.push(family.tally_of(&|group| is_counted(start + group)));
        }
        self.joined_tally(tallies)
    }

    /// Steers towards what is asked of one input; pairs of neurons and ratios are searched for otherwise.
    fn guide(&self) -> Result<&dyn Guide, String> {
        for Member { name, family, .. } in &self.members {
            if !family.asks_only_for_two() {
                family.guide().map_err(|why| format!("{name}: {why}"))?;
            }
        }
        if self.asks_only_for_two() {
            return Err("all criteria ask for two inputs at once".into());
        }
        Ok(self)
    }

    fn inputs(&self, group: usize, slot: usize) -> Inputs {
        let (family, group) = self.find(group);
        family.inputs(group, slot)
    }

    fn notes(&self) -> Vec<String> {
        let notes = |member: &Member| {
            let name = member.name;
            let notes = member.family.notes().into_iter();
            notes.map(move |note| format!("{name}: {note}"))
        };
        self.members.iter().flat_map(notes).collect()
    }
}

impl Guide for Joined {
    fn met(
        &self,
        look: SampleView<'_>,
        among: &[BitSet],
        clearance: Clearance,
        into: &mut dyn FnMut(usize, usize),
    ) {
        for member in &self.members {
            if let Ok(guide) = member.family.guide() {
                let mut shifted = |group: usize, slot: usize| into(member.start + group, slot);
                guide.met(look, member.part(among), clearance, &mut shifted);
            }
        }
    }

    fn sections(&self, group: usize) -> Option<(Point, Sections<'_>)> {
        let (family, group) = self.find(group);
        family.guide().ok()?.sections(group)
    }

    fn values(&self, look: SampleView<'_>, group: usize, slots: &[u32], out: &mut Vec<f32>) {
        let (family, group) = self.find(group);
        if let Ok(guide) = family.guide() {
            guide.values(look, group, slots, out);
        }
    }

    fn pull(
        &self,
        look: SampleView<'_>,
        group: usize,
        slots: &[u32],
        enough: f32,
        seeds: &mut Vec<Seed<f32>>,
    ) -> f64 {
        let (family, group) = self.find(group);
        match family.guide() {
            Ok(guide) => guide.pull(look, group, slots, enough, seeds),
            Err(_) => 0.0,
        }
    }

    fn confinement(&self, group: usize, slot: usize, turn: usize) -> Option<Confinement> {
        let (family, group) = self.find(group);
        family.guide().ok()?.confinement(group, slot, turn)
    }

    fn refusal(&self, group: usize, slot: usize) -> Option<String> {
        let (family, group) = self.find(group);
        family.guide().ok()?.refusal(group, slot)
    }
}

impl Pairs for Member {
    fn changes(&self) -> (Change, Change) {
        self.pairs_of(self.start).0.changes()
    }

    fn layers(&self, group: usize) -> (usize, usize) {
        let (pairs, group) = self.pairs_of(group);
        pairs.layers(group)
    }

    fn neurons(&self, group: usize, slot: usize) -> (usize, usize) {
        let (pairs, group) = self.pairs_of(group);
        pairs.neurons(group, slot)
    }

    fn each_pair(
        &self,
        group: usize,
        slots: &BitSet,
        visit: &mut dyn FnMut(usize, (usize, usize)),
    ) {
        let (pairs, group) = self.pairs_of(group);
        pairs.each_pair(group, slots, visit);
    }

    fn requirement(&self, group: usize, slot: usize) -> PairRequirement {
        let (pairs, group) = self.pairs_of(group);
        pairs.requirement(group, slot)
    }

    fn alike(&self, group: usize, decision: usize) -> Vec<usize> {
        let (pairs, group) = self.pairs_of(group);
        pairs.alike(group, decision)
    }

    fn slots(&self, group: usize, decision: usize) -> Range<usize> {
        let (pairs, group) = self.pairs_of(group);
        pairs.slots(group, decision)
    }

    fn slot(&self, group: usize, condition: usize, decision: usize) -> Option<usize> {
        let (pairs, group) = self.pairs_of(group);
        pairs.slot(group, condition, decision)
    }
}

/// The measurements of all families.
struct JoinedTally<'f> {
    tallies: Vec<Box<dyn Tally + 'f>>,
    covered: Vec<BitSet>,
    starts: &'f [usize],
}

impl JoinedTally<'_> {
    fn gather(&mut self) {
        let covered = self.tallies.iter().flat_map(|tally| tally.covered());
        self.covered = covered.cloned().collect();
    }
}

impl Tally for JoinedTally<'_> {
    fn observe(&mut self, trace: &Trace<f32>) {
        for tally in &mut self.tallies {
            tally.observe(trace);
        }
        self.gather();
    }

    fn finish(&mut self, rerun: &Rerun<'_>, together: &Together) {
        for tally in &mut self.tallies {
            tally.finish(rerun, together);
        }
        self.gather();
    }

    fn covered(&self) -> &[BitSet] {
        &self.covered
    }

    fn shown_by(&self, group: usize, slot: usize) -> Option<(usize, usize)> {
        let number = self.starts.partition_point(|&start| start <= group) - 1;
        self.tallies[number].shown_by(group - self.starts[number], slot)
    }
}
