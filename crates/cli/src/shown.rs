//! How a run is shown and how it ends, whichever command it came from.

use std::io::{self, IsTerminal};
use std::path::Path;

use clap::Args;
use deepconcolic::{Cancel, Error, Event, GateSummary, Listener, Session, Stop, Summary};
use deepconcolic_report::html::{self, ReportRequest};
use deepconcolic_report::{ALL as FORMS, Form, Look, Saved, form, gate_line};

use crate::arguments::ThreadArguments;
use crate::exit::{self, Failure, Status, tell, tell_notes};
use crate::{Outcome, interrupt};

/// The heading of options about output.
pub const OUTPUT: &str = "Output";

/// How a run is shown.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct ShownArguments {
    /// Print nothing but errors and gates that fail: --format quiet
    #[arg(short, long)]
    pub quiet: bool,
    /// Print run.json instead of the summary: --format json
    #[arg(long)]
    pub json: bool,
    /// Show every layer and note, and what the words mean
    #[arg(short, long, conflicts_with_all = ["quiet", "json"])]
    pub verbose: bool,
    /// The form in which the run is shown (see --help for all of them; default: text)
    #[arg(long, value_name = "FORM", conflicts_with_all = ["quiet", "json"], hide_short_help = true)]
    pub format: Option<String>,
    /// Show no small pictures of adversarial tests on a terminal
    #[arg(long, hide_short_help = true)]
    pub no_pictures: bool,
}

impl ShownArguments {
    /// Runs a session to its end in a folder, shows it, and judges its gates.
    pub fn show<F>(&self, folder: &Path, threads: &ThreadArguments, open: F) -> Outcome
    where
        F: FnOnce(&Cancel, &mut Listener<'_>) -> Result<Session, Error> + Send,
    {
        let form = self.form()?;
        let cancel = interrupt::listen()?;
        let mut reporter = (form.reporter)(&self.look());
        let work = || -> Result<Summary, Error> {
            let mut listen = |event: Event| {
                tell_notes(&event);
                reporter.event(&event);
            };
            let mut session = open(&cancel, &mut listen)?;
            session.run(&mut listen)?;
            session.save()
        };
        let summary = threads.run(work)?;
        let summary = summary.inspect_err(|_| {
            if folder.join("journal").exists() && cancel.is_cancelled() {
                tell(format_args!("{}", resume_hint(folder)));
            }
        })?;
        html::write(folder, &ReportRequest::default())?;
        let saved = Saved {
            summary: &summary,
            folder: Some(folder),
        };
        reporter.finish(&saved, &mut exit::output(), &mut io::stderr())?;
        let passes = gates(&summary.gates, form.name == FORMS[0].name);
        Ok(if summary.stop == Stop::Interrupted.name() {
            Status::Interrupted
        } else {
            Status::of(passes)
        })
    }

    fn look(&self) -> Look {
        Look {
            verbose: self.verbose,
            pictures: !self.no_pictures && io::stdout().is_terminal() && exit::colours(true),
            width: exit::width(),
        }
    }

    fn form(&self) -> Result<&'static Form, Failure> {
        let name = match (self.format.as_deref(), self.json, self.quiet) {
            (Some(name), ..) => name,
            (None, true, _) => "json",
            (None, false, true) => "quiet",
            (None, false, false) => return Ok(&FORMS[0]),
        };
        form(name).ok_or_else(|| {
            let names: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
            Failure::Usage(format!(
                "--format: there is no form `{name}`; there are {}",
                names.join(", ")
            ))
        })
    }
}

fn resume_hint(folder: &Path) -> String {
    format!("to go on: deepconcolic resume {}", folder.display())
}

/// Says how every gate ended, and whether all pass. Where the output is not for people, only what fails is said, beside
/// it; where an automaton of GitHub listens, it is told too.
pub fn gates(gates: &[GateSummary], for_people: bool) -> bool {
    for gate in gates {
        let line = gate_line(gate, exit::colours(for_people));
        if for_people {
            exit::say(format_args!("{line}"));
        } else if !gate.passes {
            tell(format_args!("{line}"));
        }
        if !gate.passes {
            exit::annotate(&gate.gate, &gate.reason);
        }
    }
    gates.iter().all(|gate| gate.passes)
}
