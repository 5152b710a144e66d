//! Targets and whether they were met.

/// A number that was asked for.
pub struct Verdict {
    what: String,
    met: bool,
}

impl Verdict {
    /// A target in words, with the figure, and whether it was met.
    pub fn new(what: String, met: bool) -> Self {
        Self { what, met }
    }

    /// The word for a table.
    pub fn word(met: bool) -> &'static str {
        if met { "PASS" } else { "FAIL" }
    }
}

/// Prints all, and says whether all were met.
pub fn summarise(verdicts: &[Verdict]) -> bool {
    println!("\n== targets");
    for verdict in verdicts {
        println!("{}  {}", Verdict::word(verdict.met), verdict.what);
    }
    verdicts.iter().all(|verdict| verdict.met)
}
