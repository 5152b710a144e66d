//! Models: loaded, identified, and what their answer is.

use std::time::Duration;

use deepconcolic_check::Digest;
use deepconcolic_criteria::{Decision, Rule};
use deepconcolic_formats::{LoadOptions, LoadUntil, Loaded};
use deepconcolic_network::Network;

use crate::error::Error;
use crate::settings::ModelSettings;

/// What reading a model may take beyond the time that was given: what is read by then can still be answered about, if only
/// that there was no time for anything.
pub const GRACE: Duration = Duration::from_millis(500);

/// The model that settings name. Its notes say what is odd about how it was read.
pub fn load(settings: &ModelSettings) -> Result<Loaded, Error> {
    load_until(settings, LoadUntil::default())
}

/// The same, unless that must end before.
pub fn load_until(settings: &ModelSettings, until: LoadUntil) -> Result<Loaded, Error> {
    let options = LoadOptions {
        until,
        ..settings.options()
    };
    let loaded = match &settings.content {
        Some(bytes) => deepconcolic_formats::load_bytes(bytes.to_vec(), &options),
        None => deepconcolic_formats::load(&settings.model, &options),
    };
    loaded.map_err(|error| {
        if error.is_interruption() {
            Error::Interrupted(error.to_string())
        } else {
            error.into()
        }
    })
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

/// The decision of a rule for a network; without a rule, what the model shows.
pub fn decision(rule: Option<Rule>, network: &Network) -> Result<Decision, Error> {
    Decision::of(network, rule).map_err(|why| Error::Request(format!("--decision: {why}")))
}
