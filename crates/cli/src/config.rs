//! Options from a file: `deepconcolic.toml`, or `[tool.deepconcolic]` in `pyproject.toml`, of this folder or of the
//! nearest above it that has one. What stands on the command line comes first.

use std::any::TypeId;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Subcommand};
use deepconcolic::nearest_name;
use serde_json::{Map, Value};

use crate::Outcome;
use crate::exit::{Failure, Status, say};

/// Files that may hold options, in this order, and where in them.
const FILES: [(&str, &[&str]); 2] = [
    ("deepconcolic.toml", &[]),
    ("pyproject.toml", &["tool", "deepconcolic"]),
];
/// Commands that work on models and folders, and so take options from a file.
const COMMANDS: [&str; 10] = [
    "inspect", "eval", "coverage", "run", "resume", "merge", "replay", "verify", "check", "audit",
];

/// Show which options a configuration file adds to commands
#[derive(Args)]
pub struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print the file that was found and what it says
    Show,
}

impl Config {
    /// Prints it.
    pub fn run(&self) -> Outcome {
        let Action::Show = self.action;
        let Some(file) = File::find(&here()?)? else {
            let names = FILES.map(|(name, _)| name).join(" or ");
            say(format_args!(
                "no {names} with options in this folder or above it"
            ));
            return Ok(Status::Done);
        };
        say(format_args!("# {}", file.path.display()));
        for (name, value) in &file.table {
            match value {
                Value::Object(table) => {
                    say(format_args!("[{name}]"));
                    for (key, value) in table {
                        say(format_args!("{key} = {value}"));
                    }
                }
                value => say(format_args!("{name} = {value}")),
            }
        }
        Ok(Status::Done)
    }
}

/// The arguments of a command line, with what the configuration adds.
pub fn complete(command: &Command, given: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let parsed = command
        .clone()
        .ignore_errors(true)
        .try_get_matches_from(&given);
    // Help, version and slips of the finger are answered without it.
    let Ok(matches) = parsed else {
        return Ok(given);
    };
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(given);
    };
    let mut command = command.clone();
    command.build();
    match (command.find_subcommand(name), File::find(&here()?)?) {
        (Some(command), Some(file)) if COMMANDS.contains(&name) => {
            file.complete(command, matches, given)
        }
        _ => Ok(given),
    }
}

fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| Failure::Usage(format!("there is no folder to work in: {error}")))
}

/// Options and their values; those of one command in a table of its own.
type Table = Map<String, Value>;

/// A configuration.
struct File {
    path: PathBuf,
    table: Table,
}

impl File {
    /// That of a folder, or of the nearest above it that has one.
    fn find(folder: &Path) -> Result<Option<Self>, Failure> {
        for folder in folder.ancestors() {
            for (name, within) in FILES {
                let path = folder.join(name);
                if path.is_file()
                    && let Some(table) = read(&path, within)?
                {
                    return Ok(Some(Self { path, table }));
                }
            }
        }
        Ok(None)
    }

    /// What the file says of a command: what it says of all, where the command has such an option, and of this one.
    fn options<'a>(&'a self, command: &'a Command) -> Result<Vec<(&'a Arg, &'a Value)>, Failure> {
        let mut options = Vec::new();
        for (key, value) in &self.table {
            match value {
                Value::Object(table) if key == command.get_name() => {
                    for (key, value) in table {
                        let arg = option(command, key);
                        let arg = arg.ok_or_else(|| self.unknown(command, key))?;
                        options.push((arg, value));
                    }
                }
                Value::Object(_) if COMMANDS.contains(&key.as_str()) => {}
                Value::Object(_) => {
                    let near = suggestion(key, &COMMANDS);
                    return Err(self.refuse(&format!("[{key}] is no command{near}")));
                }
                value => options.extend(option(command, key).map(|arg| (arg, value))),
            }
        }
        Ok(options)
    }

    fn unknown(&self, command: &Command, key: &str) -> Failure {
        let names: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        let near = suggestion(key, &names);
        let name = command.get_name();
        self.refuse(&format!("[{name}] has no option `{key}`{near}"))
    }

    fn refuse(&self, why: &str) -> Failure {
        Failure::Usage(format!("{}: {why}", self.path.display()))
    }

    fn complete(
        &self,
        command: &Command,
        matches: &ArgMatches,
        mut given: Vec<OsString>,
    ) -> Result<Vec<OsString>, Failure> {
        let is_given = |arg: &Arg| {
            let source = matches.value_source(arg.get_id().as_str());
            source == Some(ValueSource::CommandLine)
        };
        let on_the_line: Vec<&Arg> = command.get_arguments().filter(|a| is_given(a)).collect();
        let excludes = |a: &Arg, b: &Arg| {
            let conflicts = command.get_arg_conflicts_with(a);
            conflicts.iter().any(|other| other.get_id() == b.get_id())
        };
        for (arg, value) in self.options(command)? {
            let beaten = on_the_line.iter().any(|other| {
                other.get_id() == arg.get_id() || excludes(arg, other) || excludes(other, arg)
            });
            if !beaten {
                given.extend(self.words(arg, value)?);
            }
        }
        Ok(given)
    }

    /// A value as it would stand on the command line.
    fn words(&self, arg: &Arg, value: &Value) -> Result<Vec<OsString>, Failure> {
        let flag = arg.get_long().map(|long| format!("--{long}"));
        let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        let text = |value: &Value| -> Result<String, Failure> {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                other => return Err(self.refuse(&format!("{other} is no value of an option"))),
            };
            // Paths are as the file sees them.
            let folder = self.path.parent().filter(|_| is_path && text != "-");
            Ok(folder.map_or(text.clone(), |folder| {
                folder.join(&text).display().to_string()
            }))
        };
        let with_flag = |words: String| flag.iter().cloned().chain([words]).map(OsString::from);
        match (value, arg.get_action()) {
            (Value::Bool(true), ArgAction::SetTrue) => {
                Ok(flag.into_iter().map(Into::into).collect())
            }
            (Value::Bool(false), ArgAction::SetTrue) => Ok(Vec::new()),
            (_, ArgAction::SetTrue) => {
                let name = arg.get_id();
                Err(self.refuse(&format!("`{name}` is true or false, not {value}")))
            }
            (Value::Array(values), _) => {
                let mut words = Vec::new();
                for value in values {
                    words.extend(with_flag(text(value)?));
                }
                Ok(words)
            }
            (value, _) => Ok(with_flag(text(value)?).collect()),
        }
    }
}

/// The option, or the argument without a flag, that a key stands for.
fn option<'a>(command: &'a Command, key: &str) -> Option<&'a Arg> {
    let key = key.replace('_', "-");
    command.get_arguments().find(|arg| match arg.get_long() {
        Some(long) => long == key && !matches!(long, "help" | "version"),
        None => arg.get_id().as_str().replace('_', "-") == key,
    })
}

fn suggestion(key: &str, names: &[&str]) -> String {
    match nearest_name(key, names) {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

/// The table of a file, if it has one there.
fn read(path: &Path, within: &[&str]) -> Result<Option<Table>, Failure> {
    let refuse = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    let mut table: Table =
        basic_toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    for name in within {
        match table.remove(*name) {
            Some(Value::Object(inner)) => table = inner,
            _ => return Ok(None),
        }
    }
    Ok(Some(table))
}
