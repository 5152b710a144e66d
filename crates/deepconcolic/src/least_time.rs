//! The time that requirements take whatever becomes of them: a run that could do nothing else is refused before it begins.

use crate::error::Error;

/// Seconds for a requirement: sets of all of them are made, looked through by searches and proofs, and counted in the end.
const EACH: f64 = 2e-8;
/// Less than so many seconds are no reason.
const NOTHING: f64 = 1.0;

/// Refuses so many requirements where they take all of a budget, in seconds, to be looked through.
pub fn check(requirements: usize, budget: Option<f64>) -> Result<(), Error> {
    let needed = EACH * requirements as f64;
    match budget {
        Some(budget) if needed > budget.max(NOTHING) => Err(Error::Request(format!(
            "{requirements} requirements take about {needed:.0} s to be looked through, which is more than --budget {budget}s: \
             choose --layers or --neurons, or give --budget {:.0}m",
            (5.0 * needed / 60.0).ceil()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_requirements_alone_take_up_is_refused_with_one_that_would_do() {
        assert!(check(2_000_000_000, None).is_ok());
        assert!(check(15_900_000, Some(5.0)).is_ok());
        assert!(check(15_900_000, Some(0.0)).is_ok());
        let refused = check(2_000_000_000, Some(8.0)).unwrap_err().to_string();
        assert!(refused.contains("about 40 s"), "{refused}");
        assert!(refused.contains("--budget 4m"), "{refused}");
    }
}
