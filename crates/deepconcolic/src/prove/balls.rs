//! Many balls, one at a time: what a box round all of them leaves open may be impossible in each.

use deepconcolic_campaign::Campaign;
use deepconcolic_network::BitSet;
use deepconcolic_proofs::ProverLimits;

use super::Recorder;
use super::work::{AskedRequirement, FEW, Work};
use crate::error::Error;

/// Questions that balls may make together: one for each ball and open requirement.
const MAX: usize = 1 << 18;
/// Balls in which a requirement may stay open at first; it is then split there.
const DEBTS: usize = 8;

impl Work<'_> {
    /// What is still open, ball by ball. Plain bounds come first, in all balls: most requirements are
    /// possible in some, and those are soon gone.
    pub fn balls(
        &mut self,
        campaign: &mut Campaign,
        record: &mut Recorder<'_>,
    ) -> Result<(), Error> {
        if self.boxes.len() <= FEW {
            return Ok(());
        }
        let mut left: Vec<AskedRequirement> = Vec::new();
        let mut count = 0;
        for group in self.formula_groups() {
            let known = self
                .proven
                .of_group(group, self.stage.family.groups()[group].slots());
            let open = campaign.ledger().uncovered()[group].without(&known);
            count += open.count();
            if count * self.boxes.len() <= MAX {
                let slots: Vec<usize> = open.iter().collect();
                left.extend(self.asked(group, &slots));
            }
        }
        if count * self.boxes.len() > MAX {
            let why = format!(
                "they were tried over one box that holds all {} balls, and not over each ball: that would be \
                 more than {MAX} questions",
                self.boxes.len()
            );
            let mut open = campaign.ledger().uncovered().to_vec();
            for (group, open) in open.iter_mut().enumerate() {
                if self.stage.family.asks_for_two(group) {
                    *open = BitSet::new(open.len());
                }
            }
            self.note_obstacle_of_all(&why, &open);
            return Ok(());
        }
        let boxes = self.boxes.clone();
        let mut debts: Vec<Vec<usize>> = vec![Vec::new(); left.len()];
        let mut alive: Vec<usize> = (0..left.len()).collect();
        for number in 0..boxes.len() {
            let cheap = self.cheap();
            let refuted = self.in_ball(number, &left, &alive, &cheap, campaign, record)?;
            for &r in alive.iter().filter(|r| !refuted.contains(r)) {
                debts[r].push(number);
            }
            alive.retain(|&r| debts[r].len() <= DEBTS && is_open(campaign, &left[r]));
            if alive.is_empty() || self.is_over() {
                break;
            }
        }
        for number in 0..boxes.len() {
            let mine: Vec<usize> = alive
                .iter()
                .copied()
                .filter(|&r| debts[r].contains(&number))
                .collect();
            if mine.is_empty() || self.is_over() {
                continue;
            }
            let full = self.full(mine.len());
            let refuted = self.in_ball(number, &left, &mine, &full, campaign, record)?;
            alive.retain(|r| !mine.contains(r) || refuted.contains(r));
        }
        if self.gives_up() {
            self.note_obstacle(self.end(), alive.iter().map(|&r| left[r].0));
            return Ok(());
        }
        for r in alive {
            if is_open(campaign, &left[r]) && self.facts.refute(&left[r].1) {
                self.refute(left[r].0);
            } else if self.is_over() {
                self.note_obstacle(self.end(), [left[r].0]);
            }
        }
        Ok(())
    }

    /// Of some requirements those that cannot be met in a ball.
    fn in_ball(
        &mut self,
        number: usize,
        left: &[AskedRequirement],
        among: &[usize],
        limits: &ProverLimits<'_>,
        campaign: &mut Campaign,
        record: &mut Recorder<'_>,
    ) -> Result<Vec<usize>, Error> {
        let region = self.boxes[number].clone();
        let mut prover = self.prover(&region, campaign);
        let asked: Vec<AskedRequirement> = among.iter().map(|&r| left[r].clone()).collect();
        self.narrow(&mut prover, asked, limits, campaign, record)?;
        self.proven.nodes += prover.nodes();
        let refuted = |&&r: &&usize| self.facts.refute_in(number, &left[r].1);
        Ok(among.iter().filter(refuted).copied().collect())
    }
}

fn is_open(campaign: &Campaign, (slot, _): &AskedRequirement) -> bool {
    campaign.ledger().uncovered()[slot.group as usize].contains(slot.slot as usize)
}
