//! The `deepconcolic` command: parses arguments, asks the library, prints what it tells, sets the exit code.

mod arguments;
mod check;
mod coverage;
mod criteria;
mod demo;
mod eval;
mod exit;
mod inspect;
mod interrupt;
mod merge;
mod replay;
mod run;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::{Failure, Status};

/// Concolic testing for trained neural networks.
///
/// Runs a network on concrete inputs, looks at which coverage requirements are still open, and
/// computes new inputs that meet them.
#[derive(Parser)]
#[command(name = "deepconcolic", version, arg_required_else_help = true, after_help = exit::HELP)]
struct Arguments {
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
    Merge(merge::Merge),
    Replay(replay::Replay),
    Verify(verify::Verify),
    Check(check::Check),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, not errors; printing can fail only on a closed pipe.
            let _ = error.print();
            let status = if error.use_stderr() {
                Status::BadInput
            } else {
                Status::Done
            };
            return status.into();
        }
    };
    exit::guard(|| match arguments.command {
        Command::Inspect(inspect) => inspect.run(),
        Command::Eval(eval) => eval.run(),
        Command::Coverage(coverage) => coverage.run(),
        Command::Demo(demo) => demo.run(),
        Command::Run(run) => run.run(),
        Command::Merge(merge) => merge.run(),
        Command::Replay(replay) => replay.run(),
        Command::Verify(verify) => verify.run(),
        Command::Check(check) => check.run(),
    })
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
