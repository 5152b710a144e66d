//! Gates: what a run or a measurement must come to, so that a script can go by the exit code.
//!
//! A goal wants a witness, and counts as covered among what is feasible: all goals less those proven impossible. A
//! property wants none. No percentage is taken of both together.

use std::fmt::{self, Write as _};
use std::ops::AddAssign;
use std::str::FromStr;

use deepconcolic_criteria::Polarity;
use deepconcolic_record::{CriterionSummary, GateSummary, PropertySummary, Summary};
use serde::{Deserialize, Serialize};

use crate::coverage::CoverageReport;
use crate::criterion::{find, polarity};
use crate::error::Error;
use deepconcolic_campaign::percent;

/// What requirements of a file are called where criteria have names.
pub const FILE: &str = "requirements";

/// What must not be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailOn {
    /// A test that the oracle calls adversarial.
    Adversarial,
    /// A property that a test refutes.
    Refuted,
    /// A requirement that is neither decided by a test nor by a proof.
    Open,
}

impl FailOn {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Adversarial, Self::Refuted, Self::Open];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adversarial => "adversarial",
            Self::Refuted => "refuted",
            Self::Open => "open",
        }
    }
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|gate| gate.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is nothing to fail on; there are {names}")
        })
    }
}

/// The least share of feasible goals that must be covered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailUnder {
    /// Of this criterion; of every one without.
    pub criterion: Option<String>,
    /// In percent.
    pub percent: f64,
}

impl FromStr for FailUnder {
    type Err = String;

    /// `95`, or `nc=95`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (criterion, number) = match text.split_once('=') {
            Some((name, number)) => (Some(name.trim().to_lowercase()), number),
            None => (None, text),
        };
        let number = number.trim().trim_end_matches('%').trim_end();
        match number.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self { criterion, percent }),
            _ => Err(format!(
                "`{text}` is no percentage from 0 to 100; for example 95, or nc=95,kmnc=30"
            )),
        }
    }
}

impl fmt::Display for FailUnder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.criterion {
            Some(name) => write!(f, "{name}={}", self.percent),
            None => write!(f, "{}", self.percent),
        }
    }
}

/// What a result must come to.
///
/// ```
/// use deepconcolic::Gates;
///
/// let gates = Gates {
///     fail_under: vec!["nc=95".parse()?],
///     fail_on: vec!["adversarial".parse()?],
/// };
/// gates.fit(&["nc", "ssc"], false)?;
/// assert!(gates.fit(&["kmnc"], false).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gates {
    /// Least shares.
    pub fail_under: Vec<FailUnder>,
    /// What must not be found.
    pub fail_on: Vec<FailOn>,
}

/// How the goals or the properties of a criterion ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub total: usize,
    /// Met by a test: covered, or refuted.
    pub met: usize,
    /// Impossible to meet, with a certificate: infeasible, or proven.
    pub impossible: usize,
}

impl Counts {
    /// Neither.
    pub fn open(&self) -> usize {
        self.total.saturating_sub(self.met + self.impossible)
    }

    /// What can be met, as far as is known.
    pub fn feasible(&self) -> usize {
        self.total.saturating_sub(self.impossible)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.total += other.total;
        self.met += other.met;
        self.impossible += other.impossible;
    }
}

/// How the requirements of one criterion, or of a file, ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The criterion, or `requirements` for those of a file.
    pub name: String,
    /// Those that want a witness.
    pub goals: Counts,
    /// Those that want none.
    pub properties: Counts,
}

impl Account {
    /// Of a run: of each criterion, if there are several.
    pub fn of_run(summary: &Summary) -> Vec<Self> {
        if summary.criteria.is_empty() {
            return vec![Self::of_whole(summary)];
        }
        let account = |part: &CriterionSummary| {
            let counts = Counts {
                total: part.requirements.total,
                met: part.requirements.covered,
                impossible: part.requirements.infeasible,
            };
            let (goals, properties) = match part.properties {
                Some(_) => (Counts::default(), counts),
                None => (counts, Counts::default()),
            };
            Self {
                name: part.criterion.clone(),
                goals,
                properties,
            }
        };
        summary.criteria.iter().map(account).collect()
    }

    fn of_whole(summary: &Summary) -> Self {
        let all = Counts {
            total: summary.requirements.total,
            met: summary.requirements.covered,
            impossible: summary.requirements.infeasible,
        };
        let properties = match (&summary.properties, polarity(summary)) {
            (Some(some), _) => Counts {
                total: some.total,
                met: some.refuted,
                impossible: some.proven,
            },
            (None, Polarity::Property) => all,
            (None, Polarity::Goal) => Counts::default(),
        };
        let name = summary.settings["criterion"].as_str();
        Self {
            name: name.unwrap_or(FILE).to_owned(),
            goals: Counts {
                total: all.total - properties.total.min(all.total),
                met: all.met - properties.met.min(all.met),
                impossible: all.impossible - properties.impossible.min(all.impossible),
            },
            properties,
        }
    }

    /// Of every criterion that was measured, and of the file.
    pub fn of_coverage(report: &CoverageReport) -> Vec<Self> {
        // Data prove nothing, neither that a goal is impossible nor that a property holds.
        let count = |total, met| Counts {
            total,
            met,
            impossible: 0,
        };
        let properties = |some: Option<PropertySummary>| {
            some.map_or_else(Counts::default, |some| count(some.total, some.refuted))
        };
        let criteria = report.criteria.iter().map(|criterion| Self {
            name: criterion.name.to_owned(),
            goals: match criterion.properties {
                Some(_) => Counts::default(),
                None => count(criterion.total, criterion.covered),
            },
            properties: properties(criterion.properties),
        });
        let file = report.requirements.iter().map(|file| Self {
            name: FILE.into(),
            goals: count(file.total, file.covered),
            properties: properties(file.properties),
        });
        criteria.chain(file).collect()
    }
}

/// Adversarial tests of a run: how many, and how far from real data the nearest is.
pub type Adversarial = Option<(usize, Option<f64>)>;

impl Gates {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.fail_under.is_empty() && self.fail_on.is_empty()
    }

    /// Whether tests must be judged for it.
    pub fn needs_verdicts(&self) -> bool {
        self.fail_on.contains(&FailOn::Adversarial)
    }

    /// Refuses gates that say nothing about these criteria, or about a file of requirements.
    pub fn fit(&self, criteria: &[&str], file: bool) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::Request(format!("--fail-under: {why}")));
        let properties: Vec<&str> = (criteria.iter().copied())
            .filter(|name| find(name).is_ok_and(|c| c.polarity() == Polarity::Property))
            .collect();
        for least in &self.fail_under {
            let name: &str = match &least.criterion {
                Some(name) if criteria.contains(&name.as_str()) || (file && name == FILE) => name,
                Some(name) => {
                    let mut known = criteria.to_vec();
                    known.extend(file.then_some(FILE));
                    return refuse(format!(
                        "`{name}` is not among what is asked for: {}",
                        known.join(", ")
                    ));
                }
                None if file || properties.len() < criteria.len() => continue,
                None => properties[0],
            };
            if properties.contains(&name) {
                return refuse(format!(
                    "it is about coverage, and {name} is a property: refuted, proven or open; use \
                     --fail-on refuted,open"
                ));
            }
        }
        Ok(())
    }

    /// The verdict of every gate, with its reason.
    pub fn judge(&self, accounts: &[Account], adversarial: Adversarial) -> Vec<GateSummary> {
        let mut verdicts = Vec::new();
        for least in &self.fail_under {
            let meant = |account: &&Account| match &least.criterion {
                Some(name) => account.name == *name,
                None => account.goals.total > 0 || accounts.len() == 1,
            };
            for account in accounts.iter().filter(meant) {
                verdicts.push(covered(least, account));
            }
        }
        for fail_on in &self.fail_on {
            verdicts.push(match fail_on {
                FailOn::Adversarial => none_adversarial(adversarial),
                FailOn::Refuted => none_refuted(accounts),
                FailOn::Open => none_open(accounts),
            });
        }
        verdicts
    }

    /// The verdict of every gate on a run.
    pub fn judge_run(&self, summary: &Summary) -> Vec<GateSummary> {
        let adversarial = summary.adversarial.map(|a| (a.count, a.min_distance));
        self.judge(&Account::of_run(summary), adversarial)
    }

    /// The gates that verdicts are of; none where one of them is no gate.
    pub fn of_verdicts(verdicts: &[GateSummary]) -> Result<Self, String> {
        let mut gates = Self::default();
        for verdict in verdicts {
            match verdict.gate.split_once(' ') {
                Some(("--fail-under", least)) => {
                    let least = least.parse()?;
                    if !gates.fail_under.contains(&least) {
                        gates.fail_under.push(least);
                    }
                }
                Some(("--fail-on", what)) => gates.fail_on.push(what.parse()?),
                _ => return Err(format!("`{}` is no gate", verdict.gate)),
            }
        }
        Ok(gates)
    }
}

fn covered(least: &FailUnder, account: &Account) -> GateSummary {
    let goals = &account.goals;
    let feasible = goals.feasible();
    let mut reason = match (goals.total, feasible) {
        (0, _) => format!(
            "{}: there is nothing to cover: all {} requirements are properties; use --fail-on refuted,open",
            account.name, account.properties.total
        ),
        (_, 0) => format!("{}: nothing can be covered", account.name),
        _ => format!(
            "{}: {} of {feasible} covered ({:.2} %)",
            account.name,
            goals.met,
            percent(goals.met as f64 / feasible as f64, 2)
        ),
    };
    if goals.impossible > 0 {
        // Writing to a string cannot fail.
        let _ = write!(reason, "; {} more are proven impossible", goals.impossible);
    }
    GateSummary {
        gate: format!("--fail-under {least}"),
        passes: goals.total > 0 && goals.met as f64 * 100.0 >= least.percent * feasible as f64,
        reason,
    }
}

fn none(fail_on: FailOn, passes: bool, reason: String) -> GateSummary {
    GateSummary {
        gate: format!("--fail-on {}", fail_on.name()),
        passes,
        reason,
    }
}

fn none_adversarial(adversarial: Adversarial) -> GateSummary {
    let (passes, reason) = match adversarial {
        None => (false, "no test was judged".into()),
        Some((0, _)) => (true, "no adversarial test".into()),
        Some((count, nearest)) => {
            let nearest = match nearest {
                Some(distance) => format!(", the nearest {distance:.4} from real data"),
                None => String::new(),
            };
            (
                false,
                format!("{}{nearest}", plural(count, "adversarial test")),
            )
        }
    };
    none(FailOn::Adversarial, passes, reason)
}

fn none_refuted(accounts: &[Account]) -> GateSummary {
    let sum = |of: fn(&Counts) -> usize| accounts.iter().map(|a| of(&a.properties)).sum::<usize>();
    let (total, refuted) = (sum(|c| c.total), sum(|c| c.met));
    let reason = match total {
        0 => "no requirement is a property".into(),
        total => format!(
            "{refuted} of {} refuted, {} proven, {} open",
            plural(total, "property"),
            sum(|c| c.impossible),
            sum(Counts::open)
        ),
    };
    none(FailOn::Refuted, refuted == 0, reason)
}

fn none_open(accounts: &[Account]) -> GateSummary {
    let (mut goals, mut properties) = (Counts::default(), Counts::default());
    for account in accounts {
        goals += account.goals;
        properties += account.properties;
    }
    let part = |counts: Counts, thing: &str| {
        format!("{} of {} open", counts.open(), plural(counts.total, thing))
    };
    let reason = match (goals.total, properties.total) {
        (_, 0) => part(goals, "requirement"),
        (0, _) => part(properties, "property"),
        _ => format!("{}, {}", part(goals, "goal"), part(properties, "property")),
    };
    none(FailOn::Open, goals.open() + properties.open() == 0, reason)
}

/// A number of things.
fn plural(count: usize, thing: &str) -> String {
    match (count, thing.strip_suffix('y')) {
        (1, _) => format!("1 {thing}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        _ => format!("{count} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(total: usize, met: usize, impossible: usize) -> Counts {
        Counts {
            total,
            met,
            impossible,
        }
    }

    fn goals(name: &str, counts: Counts) -> Account {
        Account {
            name: name.into(),
            goals: counts,
            properties: Counts::default(),
        }
    }

    fn gates(under: &[&str], on: &[FailOn]) -> Gates {
        Gates {
            fail_under: under.iter().map(|text| text.parse().unwrap()).collect(),
            fail_on: on.to_vec(),
        }
    }

    #[test]
    fn what_is_proven_impossible_does_not_count_against_coverage() {
        let accounts = [goals("nc", counts(1816, 1726, 88))];
        let verdicts = gates(&["99.88", "99.9", "nc=100"], &[]).judge(&accounts, None);
        let passes: Vec<bool> = verdicts.iter().map(|v| v.passes).collect();
        assert_eq!(passes, [true, false, false]);
        let reason = "nc: 1726 of 1728 covered (99.88 %); 88 more are proven impossible";
        assert_eq!(verdicts[0].reason, reason);
    }

    #[test]
    fn a_share_that_falls_short_by_a_hair_does_not_look_as_if_it_did_not() {
        let accounts = [goals("kmnc", counts(1_000_000, 999_999, 0))];
        let verdict = &gates(&["100"], &[]).judge(&accounts, None)[0];
        assert!(!verdict.passes && verdict.reason.contains("99.99 %"));
    }

    #[test]
    fn goals_and_properties_are_never_in_one_percentage() {
        let mixed = Account {
            name: FILE.into(),
            goals: counts(4, 3, 1),
            properties: counts(10, 2, 7),
        };
        let all = gates(&["100"], &FailOn::ALL);
        let verdicts = all.judge(std::slice::from_ref(&mixed), Some((0, None)));
        let passes: Vec<bool> = verdicts.iter().map(|v| v.passes).collect();
        assert_eq!(passes, [true, true, false, false]);
        assert!(verdicts[0].reason.contains("3 of 3 covered (100.00 %)"));
        assert_eq!(
            verdicts[2].reason,
            "2 of 10 properties refuted, 7 proven, 1 open"
        );
        assert_eq!(
            verdicts[3].reason,
            "0 of 4 goals open, 1 of 10 properties open"
        );
        let none = Account {
            goals: Counts::default(),
            ..mixed
        };
        assert!(!gates(&["0"], &[]).judge(&[none], None)[0].passes);
    }

    #[test]
    fn a_limit_without_a_name_holds_for_every_criterion_with_goals() {
        let safety = Account {
            name: "safety".into(),
            goals: Counts::default(),
            properties: counts(5, 5, 0),
        };
        let accounts = [
            goals("nc", counts(10, 9, 0)),
            safety,
            goals("ssc", counts(10, 1, 9)),
        ];
        let verdicts = gates(&["90"], &[]).judge(&accounts, None);
        assert_eq!(verdicts.len(), 2);
        assert!(verdicts.iter().all(|v| v.passes));
    }

    #[test]
    fn gates_come_back_from_their_verdicts() {
        let all = gates(&["nc=95", "30"], &FailOn::ALL);
        let accounts = [
            goals("nc", counts(10, 9, 0)),
            goals("ssc", counts(10, 1, 9)),
        ];
        let verdicts = all.judge(&accounts, None);
        assert_eq!(verdicts.len(), 6);
        assert_eq!(Gates::of_verdicts(&verdicts), Ok(all));
        assert!(!verdicts[3].passes, "nothing was judged");
    }

    #[test]
    fn gates_that_say_nothing_are_refused() {
        let refusal = |gate: &str, criteria: &[&str]| {
            let refused = gates(&[gate], &[]).fit(criteria, false);
            refused.unwrap_err().to_string()
        };
        assert!(refusal("kmnc=3", &["nc"]).contains("not among what is asked for: nc"));
        assert!(refusal("50", &["safety"]).contains("safety is a property"));
        assert!(refusal("lipschitz=50", &["nc", "lipschitz"]).contains("a property"));
        assert!(gates(&["50"], &[]).fit(&["nc", "safety"], false).is_ok());
        assert!(gates(&["requirements=5"], &[]).fit(&[], true).is_ok());
        for bad in ["", "x", "101", "-1", "nan", "nc=", "=", "nc=1e9"] {
            assert!(bad.parse::<FailUnder>().is_err(), "{bad}");
        }
        assert_eq!(
            "NC = 95 %".parse::<FailUnder>().unwrap().to_string(),
            "nc=95"
        );
        assert!("closed".parse::<FailOn>().is_err());
    }
}
