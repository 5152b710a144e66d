//! Several families as one, over one suite: their groups one after the other. Searches, proofs and checks see one family.

use deepconcolic_geometry::Together;
use deepconcolic_language::{Inputs, Requirement};
use deepconcolic_network::{BitSet, Point, Seed, Trace};

use crate::criterion::Rerun;
use crate::{Clearance, Confinement, Family, Group, Guide, Objective, SampleView, Sections, Tally};

/// Several families of requirements on one input.
pub struct Joined {
    families: Vec<(&'static str, Box<dyn Family>)>,
    groups: Vec<Group>,
    /// The first group of each family.
    starts: Vec<usize>,
}

impl Joined {
    /// Families with the names of their criteria; or why they cannot be one.
    pub fn new(families: Vec<(&'static str, Box<dyn Family>)>) -> Result<Self, String> {
        for (name, family) in &families {
            if family.pairs().is_some() || family.ratios().is_some() {
                return Err(format!(
                    "{name} is about two inputs, and has a run of its own; criteria that look at one input can share one"
                ));
            }
        }
        let mut starts = Vec::new();
        let mut groups = Vec::new();
        for (_, family) in &families {
            starts.push(groups.len());
            groups.extend_from_slice(family.groups());
        }
        Ok(Self {
            families,
            groups,
            starts,
        })
    }

    /// The family that a group belongs to, and the number that the group has there.
    fn find(&self, group: usize) -> (&'static str, &dyn Family, usize) {
        let number = self.starts.partition_point(|&start| start <= group) - 1;
        let (name, family) = &self.families[number];
        (name, family.as_ref(), group - self.starts[number])
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
        let (name, family, group) = self.find(group);
        format!("{name} {}", family.label(group, slot))
    }

    fn requirement(&self, group: usize, slot: usize) -> Result<Requirement, String> {
        let (_, family, group) = self.find(group);
        family.requirement(group, slot)
    }

    fn objective(&self, group: usize, slot: usize) -> Result<Objective, String> {
        let (_, family, group) = self.find(group);
        family.objective(group, slot)
    }

    fn points(&self) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        for point in self.families.iter().flat_map(|(_, family)| family.points()) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        points
    }

    fn tally(&self) -> Box<dyn Tally + '_> {
        let tallies: Vec<_> = self
            .families
            .iter()
            .map(|(_, family)| family.tally())
            .collect();
        let mut tally = JoinedTally {
            tallies,
            covered: Vec::new(),
            starts: &self.starts,
        };
        tally.gather();
        Box::new(tally)
    }

    fn guide(&self) -> Result<&dyn Guide, String> {
        for (name, family) in &self.families {
            family.guide().map_err(|why| format!("{name}: {why}"))?;
        }
        Ok(self)
    }

    fn inputs(&self, group: usize, slot: usize) -> Inputs {
        let (_, family, group) = self.find(group);
        family.inputs(group, slot)
    }

    fn notes(&self) -> Vec<String> {
        let notes = |(name, family): &(&'static str, Box<dyn Family>)| {
            let name = *name;
            family
                .notes()
                .into_iter()
                .map(move |note| format!("{name}: {note}"))
        };
        self.families.iter().flat_map(notes).collect()
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
        for ((_, family), &start) in self.families.iter().zip(&self.starts) {
            let end = start + family.groups().len();
            if let Ok(guide) = family.guide() {
                let mut shifted = |group: usize, slot: usize| into(start + group, slot);
                guide.met(look, &among[start..end], clearance, &mut shifted);
            }
        }
    }

    fn sections(&self, group: usize) -> Option<(Point, Sections<'_>)> {
        let (_, family, group) = self.find(group);
        family.guide().ok()?.sections(group)
    }

    fn values(&self, look: SampleView<'_>, group: usize, slots: &[u32], out: &mut Vec<f32>) {
        let (_, family, group) = self.find(group);
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
        let (_, family, group) = self.find(group);
        match family.guide() {
            Ok(guide) => guide.pull(look, group, slots, enough, seeds),
            Err(_) => 0.0,
        }
    }

    fn confinement(&self, group: usize, slot: usize, turn: usize) -> Option<Confinement> {
        let (_, family, group) = self.find(group);
        family.guide().ok()?.confinement(group, slot, turn)
    }

    fn refusal(&self, group: usize, slot: usize) -> Option<String> {
        let (_, family, group) = self.find(group);
        family.guide().ok()?.refusal(group, slot)
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
