//! `resume`: goes on with a run, from what its folder says.

use std::path::PathBuf;

use clap::Args;
use deepconcolic::{Cancel, Listener, OnDamage, Resumption, Session, notation};

use crate::Outcome;
use crate::arguments::{RunGates, ThreadArguments};
use crate::exit;
use crate::shown::ShownArguments;

/// Go on with a run that was interrupted or ran out of time; its folder says all the rest
#[derive(Args)]
pub struct Resume {
    /// The folder of the run
    dir: PathBuf,
    /// Go on for this time: 90, 60s, 10m, 2h or none
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10m",
        allow_hyphen_values = true,
        help_heading = "Limits"
    )]
    budget: String,
    /// Stop after so many passes through the network, those of the run so far included
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_executions: Option<usize>,
    /// The model, if it does not lie where the run found it
    #[arg(long, value_name = "MODEL", help_heading = "Input")]
    model: Option<PathBuf>,
    /// Also look for what is nearest to the seeds, as `run --minimise` does
    #[arg(long, help_heading = "What to test")]
    minimise: bool,
    /// Where the journal is damaged, go on from the rounds before that
    #[arg(long, help_heading = "Input")]
    accept_loss: bool,
    #[command(flatten)]
    gates: RunGates,
    #[command(flatten)]
    shown: ShownArguments,
    #[command(flatten)]
    threads: ThreadArguments,
}

impl Resume {
    /// Goes on, saves and reports.
    pub fn run(&self) -> Outcome {
        let more = Resumption {
            budget: notation::budget(&self.budget)?.map(|budget| budget.as_secs_f64()),
            max_executions: self.max_executions,
            model: self.model.clone(),
            minimise: self.minimise,
            filter: None,
            on_damage: if self.accept_loss {
                OnDamage::Drop
            } else {
                OnDamage::Refuse
            },
            gates: self.gates.gates(),
            command: exit::command_line(),
        };
        let open = |cancel: &Cancel, listen: &mut Listener<'_>| {
            Session::reopen(&self.dir, &more, cancel, listen)
        };
        self.shown.show(&self.dir, &self.threads, open)
    }
}
