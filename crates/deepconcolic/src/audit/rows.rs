//! `requirements.npz`: every row, by the tests and certificates that it rests on.

use std::collections::{BTreeMap, BTreeSet};

use deepconcolic_check::{Audit, PairClaim, Slot, Standing};
use deepconcolic_criteria::{Family, Group};
use deepconcolic_language::Inputs;
use deepconcolic_network::BitSet;
use deepconcolic_record::{RequirementTable, State};
use rayon::prelude::*;

use super::RunFindings;
use super::certificates::Proofs;
use super::left_out::Halt;
use super::opened::Opened;
use crate::criterion::properties;
use crate::folder;

const FILE: &str = folder::REQUIREMENTS;

/// What the suite shows, and the table that the suite and the certificates bear out. None where the suite
/// cannot be judged as a whole.
pub fn judge(
    opened: &Opened,
    proofs: &Proofs,
    report: &mut RunFindings,
) -> Result<Option<(Audit, RequirementTable)>, Halt> {
    let family = opened.family.as_ref();
    let claims = claims(opened, report);
    opened.in_time()?;
    let claims = match claims {
        Ok(claims) => claims,
        Err(why) => {
            report.differs(FILE, "test2", "pairs of tests", why);
            return Ok(None);
        }
    };
    let audit = opened.witnesses().audit(&opened.suite.x, &claims);
    opened.in_time()?;
    let audit = match audit {
        Ok(audit) => audit,
        Err(why) => {
            report.differs(folder::SUITE, "x", "a suite that can be judged", why);
            return Ok(None);
        }
    };
    let mut found = RequirementTable::new(family, &audit);
    let refuted = infeasible(opened, proofs, report)?;
    for group in 0..family.groups().len() {
        let mine = refuted
            .iter()
            .filter(|(slot, _)| slot.group as usize == group);
        let mine = mine.map(|(slot, &certificate)| (slot.slot as usize, certificate));
        found.refute(family, &audit, group, mine);
    }
    if opened.table.pairs.is_some() == found.pairs.is_some() {
        compare(opened, &found, report);
    } else {
        report.differs(
            FILE,
            "layer2",
            "of another kind of criterion",
            "rows of this one",
        );
    }
    report.unverified.push(
        "requirements.npz: bound; and that a row rests on no other certificate than the one named (certificate)"
            .into(),
    );
    Ok(Some((audit, found)))
}

/// What rows say of pairs of tests, as far as it is so.
fn claims(opened: &Opened, report: &mut RunFindings) -> Result<Vec<PairClaim>, String> {
    let (table, family) = (&opened.table, opened.family.as_ref());
    let tests = opened.suite.len();
    let test = |number: i32| u32::try_from(number).ok().filter(|&n| (n as usize) < tests);
    let mut rows = Vec::new();
    let mut claims = Vec::new();
    for row in (0..table.state.len()).filter(|&row| table.test2[row] >= 0) {
        let Some(slot) = table.slot(family, row) else {
            continue;
        };
        let two = family.inputs(slot.group as usize, slot.slot as usize) == Inputs::Two;
        let both = (test(table.test[row]), test(table.test2[row]));
        if let (true, (Some(first), Some(second))) = (two, both) {
            rows.push(row);
            claims.push(PairClaim {
                slot,
                first,
                second,
            });
        }
    }
    let input = |test: u32| opened.input(test as usize);
    let standings = opened.pairs().judge(&claims, &input)?;
    let mut sound = Vec::new();
    for ((row, claim), standing) in rows.iter().zip(claims).zip(standings) {
        if standing == Standing::False {
            let both = format!("tests {} and {}", claim.first, claim.second);
            let field = format!("row {row} ({})", opened.label(*row));
            report.differs(FILE, field, format!("met by {both}"), "not met by them");
        } else {
            sound.push(claim);
        }
    }
    Ok(sound)
}

/// The requirements that rows call infeasible and that are, with the certificates named.
fn infeasible(
    opened: &Opened,
    proofs: &Proofs,
    report: &mut RunFindings,
) -> Result<BTreeMap<Slot, i32>, Halt> {
    let (table, family) = (&opened.table, opened.family.as_ref());
    let mut claimed: BTreeMap<Slot, i32> = BTreeMap::new();
    for row in (0..table.state.len()).filter(|&r| table.state[r] == State::Infeasible as u8) {
        if let Some(slot) = table.slot(family, row) {
            claimed.insert(slot, table.certificate[row]);
        }
    }
    let asked: Vec<Slot> = claimed.keys().copied().collect();
    let refuted = proofs.refuted(opened, &asked);
    opened.in_time()?;
    for slot in asked.iter().filter(|slot| !refuted.contains(slot)) {
        let label = family.label(slot.group as usize, slot.slot as usize);
        report.differs(FILE, label, "infeasible", "not shown to be infeasible");
    }
    for slot in &refuted {
        let certificate = claimed[slot];
        // What follows without any certificate names none.
        let needs_none = certificate == -1 && proofs.accepted.is_empty();
        if !needs_none && !proofs.accepted.contains(&certificate) {
            let label = family.label(slot.group as usize, slot.slot as usize);
            let field = format!("{label}: certificate");
            report.differs(FILE, field, certificate, "no certificate that was accepted");
        }
    }
    let properties = properties(&opened.settings, family);
    let is_property = |slot: &&Slot| properties[slot.group as usize].contains(slot.slot as usize);
    let hold = refuted.iter().filter(is_property).count();
    let shown = shown(
        [refuted.len() - hold, hold],
        required(family),
        properties.iter().map(BitSet::count).sum(),
    );
    report.done.push(format!(
        "certificates: {} of {} accepted; {shown} in the search region",
        proofs.accepted.len(),
        proofs.files,
    ));
    if !refuted.is_empty() {
        let shown: Vec<Slot> = refuted.iter().copied().collect();
        let executed = proofs.refuted_for_executions(opened, &shown).len();
        opened.in_time()?;
        report.done.push(format!(
            "for {executed} of them the same is so of executions in single precision, in any order of summation"
        ));
    }
    if proofs.by_executions > 0 {
        report.done.push(format!(
            "{} statements are about executions by this tool alone: in real numbers, or added up in another \
             order, they may be met by a rounding error",
            proofs.by_executions
        ));
    }
    claimed.retain(|slot, _| refuted.contains(slot));
    Ok(claimed)
}

/// Requirements of both kinds.
fn required(family: &dyn Family) -> usize {
    family.groups().iter().map(Group::total).sum()
}

/// What certificates show of goals and of properties, so many of each; of a kind that is not asked for, nothing.
fn shown([impossible, hold]: [usize; 2], required: usize, properties: usize) -> String {
    match (required.saturating_sub(properties), properties) {
        (_, 0) => format!("{impossible} of the requirements cannot be met"),
        (0, _) => format!("{hold} of the properties hold"),
        _ => format!("{impossible} of the goals cannot be met and {hold} of the properties hold"),
    }
}

/// What the table has and what it should have.
fn compare(opened: &Opened, found: &RequirementTable, report: &mut RunFindings) {
    let table = &opened.table;
    if table.state.len() == found.state.len() && table.pairs == found.pairs {
        // Rows in the same places are of the same requirements. Of tens of millions hardly one differs.
        let differs = |&row: &usize| !is_same_row((table, row), (found, row));
        let differing: Vec<usize> = (0..table.state.len())
            .into_par_iter()
            .filter(differs)
            .collect();
        for row in differing {
            compare_row(opened, row, (found, row), report);
        }
    } else {
        compare_by_slot(opened, found, report);
    }
}

/// Rows in any order, by the requirements that they are of.
fn compare_by_slot(opened: &Opened, found: &RequirementTable, report: &mut RunFindings) {
    let (table, family) = (&opened.table, opened.family.as_ref());
    let before = report.findings.len();
    let mut expected: BTreeMap<Slot, usize> = BTreeMap::new();
    for row in 0..found.state.len() {
        expected.extend(found.slot(family, row).map(|slot| (slot, row)));
    }
    let mut seen = BTreeSet::new();
    for row in 0..table.state.len() {
        let slot = table.slot(family, row);
        let required = slot.filter(|slot| {
            let number = slot.group as usize;
            let group = &family.groups()[number];
            family.pairs(number).is_none() || !group.not_required.contains(slot.slot as usize)
        });
        let Some(slot) = required else {
            report.differs(
                FILE,
                format!("row {row}"),
                "a requirement",
                "none of this run",
            );
            continue;
        };
        if !seen.insert(slot) {
            report.differs(
                FILE,
                field(opened, row, "state"),
                "a row of its own",
                "a row that was there before",
            );
            continue;
        }
        if let Some(&at) = expected.get(&slot) {
            compare_row(opened, row, (found, at), report);
        } else {
            let claimed = words(table.state[row]);
            report.differs(FILE, field(opened, row, "state"), claimed, "unresolved");
        }
    }
    for (slot, &at) in expected.iter().filter(|(slot, _)| !seen.contains(slot)) {
        let label = family.label(slot.group as usize, slot.slot as usize);
        report.differs(FILE, label, "no row", words(found.state[at]));
    }
    if report.findings.len() == before {
        report.differs(
            FILE,
            "layer, i, layer2, j",
            "rows in order",
            "another order",
        );
    }
}

/// What a column of a row is called.
fn field(opened: &Opened, row: usize, column: &str) -> String {
    format!("row {row} ({}): {column}", opened.label(row))
}

fn is_same_row((a, i): (&RequirementTable, usize), (b, k): (&RequirementTable, usize)) -> bool {
    a.state[i] == b.state[k]
        && a.test[i] == b.test[k]
        && a.test2[i] == b.test2[k]
        && a.fragile[i] == b.fragile[k]
        && a.certificate[i] == b.certificate[k]
}

/// A row of the table, and the one that it should be.
fn compare_row(
    opened: &Opened,
    row: usize,
    (found, at): (&RequirementTable, usize),
    report: &mut RunFindings,
) {
    let table = &opened.table;
    if is_same_row((table, row), (found, at)) {
        return;
    }
    let field = |column: &str| field(opened, row, column);
    let (claimed, is) = (words(table.state[row]), words(found.state[at]));
    report.compare(FILE, field("state"), claimed, is);
    report.compare(FILE, field("test"), table.test[row], found.test[at]);
    report.compare(FILE, field("test2"), table.test2[row], found.test2[at]);
    let (claimed, is) = (table.fragile[row], found.fragile[at]);
    report.compare(FILE, field("fragile"), claimed, is);
    let (claimed, is) = (table.certificate[row], found.certificate[at]);
    report.compare(FILE, field("certificate"), claimed, is);
}

fn words(state: u8) -> &'static str {
    match state {
        s if s == State::Unresolved as u8 => "unresolved",
        s if s == State::Covered as u8 => "covered",
        s if s == State::Infeasible as u8 => "infeasible",
        s if s == State::NotRequired as u8 => "not required",
        _ => "no state",
    }
}
