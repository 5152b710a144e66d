//! Requirement files: read, and resolved against a network.

use std::path::Path;

use deepconcolic_language::{Property, RequirementFile, RequirementSet, Signature};
use deepconcolic_network::Network;

use crate::criterion::is_competition;
use crate::error::Error;

/// Requirements from a file.
pub fn load(path: &Path, network: &Network) -> Result<RequirementSet, Error> {
    let name = path.display().to_string();
    resolve(&text(path, network)?, &name, network)
}

/// The text of a requirement file. A property of the verification competition is put into the
/// language of requirements.
pub fn text(path: &Path, network: &Network) -> Result<String, Error> {
    let name = path.display().to_string();
    let bytes =
        std::fs::read(path).map_err(|e| Error::Request(format!("{name} cannot be read: {e}")))?;
    let in_file = |e: deepconcolic_language::Error| e.in_file(&name);
    if is_competition(&name) {
        let property = Property::from_bytes(&bytes).map_err(in_file)?;
        let requirement = property
            .requirement(&Signature::of(network))
            .map_err(in_file)?;
        return Ok(requirement.to_string());
    }
    // Decoded here so that a bad byte is reported where it is.
    RequirementFile::from_bytes(&bytes).map_err(in_file)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// Requirements from text, which errors call by this name.
pub fn resolve(text: &str, name: &str, network: &Network) -> Result<RequirementSet, Error> {
    RequirementFile::parse(text)
        .and_then(|file| file.resolve(&Signature::of(network)))
        .map_err(|e| e.in_file(name).into())
}
