//! What shells and `man` are told of the command line: made from the same definition as its help.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::{Failure, Status};
use crate::{Outcome, exit};

/// Print a completion script for a shell
#[derive(Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints it.
    pub fn run(&self, mut command: Command) -> Outcome {
        clap_complete::generate(
            self.shell,
            &mut command,
            "deepconcolic",
            &mut exit::output(),
        );
        Ok(Status::Done)
    }
}

/// Write the manual pages, one for each command, into a folder
#[derive(Args)]
pub struct Man {
    /// The folder; it is made
    folder: PathBuf,
}

impl Man {
    /// Writes them.
    pub fn run(&self, mut command: Command) -> Outcome {
        let failed =
            |error: io::Error| Failure::Usage(format!("{}: {error}", self.folder.display()));
        fs::create_dir_all(&self.folder).map_err(failed)?;
        command.build();
        let whole = command.get_name().to_owned();
        self.page(&command, &whole).map_err(failed)?;
        let shown = |part: &&Command| !part.is_hide_set() && part.get_name() != "help";
        for part in command.get_subcommands().filter(shown) {
            let name = format!("{whole}-{}", part.get_name());
            self.page(part, &name).map_err(failed)?;
        }
        Ok(Status::Done)
    }

    fn page(&self, command: &Command, name: &str) -> io::Result<()> {
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone()).render(&mut page)?;
        fs::write(self.folder.join(format!("{name}.1")), page)
    }
}
