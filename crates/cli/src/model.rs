//! Loading a model for a command.

use deepconcolic_formats::Loaded;

use crate::arguments::ModelArguments;
use crate::exit::Failure;

/// The model, with notes about how it was read on standard error.
pub fn load(arguments: &ModelArguments) -> Result<Loaded, Failure> {
    let loaded = deepconcolic_formats::load(&arguments.model, &arguments.options())?;
    for note in &loaded.notes {
        eprintln!("note: {note}");
    }
    Ok(loaded)
}
