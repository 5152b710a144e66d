//! `statement.md`: one page for an assessor. What was asked, of what, what came of it, and what that rests
//! on.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use deepconcolic_archive::Summary;
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_spec::Rule;

use crate::exit::Failure;

/// Writes it.
pub fn write(path: &Path, summary: &Summary) -> Result<(), Failure> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(text(summary).as_bytes())
        .map_err(|e| Failure::Usage(format!("{} cannot be written: {e}", path.display())))?;
    Ok(file.commit()?)
}

fn text(summary: &Summary) -> String {
    let counts = &summary.requirements;
    let scope = match summary.radius {
        Some(radius) => format!(
            "inputs within {radius} ({} norm, in units of the domain's width) of one of {} seeds, \
             within the domain",
            summary.norm, summary.tests.seeds
        ),
        None => "all inputs of the domain, or of the boxes given".into(),
    };
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "# Statement of a test run\n\n\
         | | |\n|---|---|\n\
         | tool | {} |\n\
         | model | `{}` |\n\
         | SHA-256 of the model | `{}` |\n\
         | criterion | {} |\n\
         | scope | {scope} |\n\
         | domain | {} |\n\
         | decision | {} |\n\
         | random numbers | seed {} |\n\
         | ended | {} |\n\n\
         | requirements | |\n|---|---|\n\
         | all | {} |\n\
         | covered, each by a test of `suite.npz` | {} |\n\
         | of those, only within the margin of rounding | {} |\n\
         | infeasible, by the certificates in `certificates/` | {} |\n\
         | unresolved: neither a test nor a proof was found | {} |\n\n",
        summary.tool,
        summary.model.path,
        summary.model.sha256,
        summary.criterion,
        summary.domain,
        summary.decision.map_or_else(
            || "none: nobody has said how the output is read".into(),
            Rule::words
        ),
        summary.rng_seed,
        summary.stop,
        counts.total,
        counts.covered,
        counts.fragile,
        counts.infeasible,
        counts.unresolved
    );
    let _ = write!(
        page,
        "Tests: {} seeds and {} generated, {} of them adversarial.\n\n\
         ## What this rests on\n\n\
         - *Covered* means: the network, executed in single precision by this tool, meets the requirement \
         on the test named in `requirements.npz`. `replay` executes it again; another runtime rounds \
         otherwise and may decide otherwise where the requirement is marked fragile.\n\
         - *Infeasible* means: for every real-valued input of the scope, the network in real arithmetic \
         with the weights as stored does not meet the requirement. Balls of other norms than L-infinity are \
         proven over the box around each. Execution in single precision adds \
         rounding; `check` says for how many requirements executions, with sums in any order, cannot meet them \
         either; the others might be met by rounding alone. Thresholds that data attain at a corner of the box \
         are proven of executions by this tool instead; `check` counts those apart.\n\
         - *Unresolved* says nothing about whether the requirement can be met.\n\
         - Trusted: the model parser, the requirement language, the executor, and the checker of \
         certificates. Not trusted: every search, every solver, every proof engine.\n\
         - Coverage is a measure of testing, not of safety. As many random inputs cover {}, the user's own data \
         {}.\n\n\
         `deepconcolic check DIR` verifies both kinds of claim from the files alone.\n",
        summary.tests.seeds,
        summary.tests.generated,
        summary
            .adversarial
            .map_or_else(|| "(not judged)".into(), |a| a.count.to_string()),
        percent(summary.baseline.random_coverage),
        percent(summary.baseline.data_coverage)
    );
    page
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(
        || "(not measured)".into(),
        |s| format!("{:.2} %", s * 100.0),
    )
}
