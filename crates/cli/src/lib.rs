//! The `deepconcolic` command: parses arguments, asks the library, prints what it tells, sets the exit code.
//! A library, so that the program and the Python package are the same command.

mod arguments;
mod audit;
mod check;
mod config;
mod coverage;
mod criteria;
mod demo;
mod eval;
mod exit;
mod explain;
mod inspect;
mod interrupt;
mod merge;
mod replay;
mod report;
mod resume;
mod run;
mod shell;
mod shown;
mod suite;
mod verify;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

use exit::{Failure, Status};

/// Concolic testing for trained neural networks.
///
/// Runs a network on concrete inputs, looks at which coverage requirements are still open, and
/// computes new inputs that meet them.
#[derive(Parser)]
#[command(name = "deepconcolic", version, arg_required_else_help = true, after_help = exit::HELP)]
struct Arguments {
    /// Colours: auto, always or never; `NO_COLOR` is respected
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Output",
        hide_short_help = true
    )]
    color: exit::Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Inspect(inspect::Inspect),
    Eval(eval::Eval),
    Coverage(Box<coverage::Coverage>),
    Run(Box<run::Run>),
    Resume(resume::Resume),
    Merge(merge::Merge),
    Replay(replay::Replay),
    Verify(verify::Verify),
    Check(check::Check),
    Audit(Box<audit::Audit>),
    Report(report::Report),
    Suite(suite::Suite),
    Criteria(explain::Criteria),
    Config(config::Config),
    Completions(shell::Completions),
    #[command(hide = true)]
    Man(shell::Man),
}

/// Does what a command line says, whose first word is the program's name, and gives the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let given: Vec<OsString> = words.into_iter().collect();
    exit::guard(|| start(&given))
}

fn start(given: &[OsString]) -> Outcome {
    let all = config::complete(&Arguments::command(), given.to_vec())?;
    let arguments = match Arguments::try_parse_from(&all) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, not errors; printing can fail only on a closed pipe.
            let _ = error.print();
            let status = if error.use_stderr() {
                Status::BadInput
            } else {
                Status::Done
            };
            return Ok(status);
        }
    };
    let words = all.iter().filter(|_| all != given);
    exit::set_manner(exit::Manner {
        colour: arguments.color,
        command: words
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
    });
    match arguments.command {
        Command::Inspect(inspect) => inspect.run(),
        Command::Eval(eval) => eval.run(),
        Command::Coverage(coverage) => coverage.run(),
        Command::Demo(demo) => demo.run(),
        Command::Run(run) => run.run(),
        Command::Resume(resume) => resume.run(),
        Command::Merge(merge) => merge.run(),
        Command::Replay(replay) => replay.run(),
        Command::Verify(verify) => verify.run(),
        Command::Check(check) => check.run(),
        Command::Audit(audit) => audit.run(),
        Command::Report(report) => report.run(),
        Command::Suite(suite) => suite.run(),
        Command::Criteria(criteria) => criteria.run(),
        Command::Config(config) => config.run(),
        Command::Completions(completions) => completions.run(Arguments::command()),
        Command::Man(man) => man.run(Arguments::command()),
    }
}

/// What every command returns.
type Outcome = Result<Status, Failure>;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
