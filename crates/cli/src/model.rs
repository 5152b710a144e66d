//! Loading a model for a command.

use deepconcolic_check::Digest;
use deepconcolic_formats::Loaded;

use crate::arguments::ModelArguments;
use crate::exit::{Failure, tell};
use crate::settings::ModelSettings;

/// The model, with notes about how it was read on standard error.
pub fn load(arguments: &ModelArguments) -> Result<Loaded, Failure> {
    load_as(&arguments.settings())
}

/// The model that a run or an argument names, with notes about how it was read on standard error.
pub fn load_as(settings: &ModelSettings) -> Result<Loaded, Failure> {
    let loaded = deepconcolic_formats::load(&settings.model, &settings.options())?;
    for note in &loaded.notes {
        tell(format_args!("note: {note}"));
    }
    Ok(loaded)
}

/// The fingerprint of a model, weights beside it included, as certificates hold it.
pub fn digest(loaded: &Loaded) -> Digest {
    let mut digest = Digest::default();
    let pairs = loaded.sha256.as_bytes().chunks_exact(2);
    for (byte, pair) in digest.iter_mut().zip(pairs) {
        let text = std::str::from_utf8(pair).unwrap_or_default();
        *byte = u8::from_str_radix(text, 16).unwrap_or_default();
    }
    digest
}
