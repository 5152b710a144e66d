//! Requirement files: read, and resolved against a network.

use std::path::Path;

use deepconcolic_language::{Property, RequirementFile, RequirementSet, Signature};
use deepconcolic_network::Network;

use crate::criterion::is_competition;
use crate::error::Error;

/// Most requirements of a file: states and names of more would take longer than any budget.
const MOST: usize = 1 << 24;

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
    let set = RequirementFile::parse(text)
        .and_then(|file| file.resolve(&Signature::of(network)))
        .map_err(|e| e.in_file(name))?;
    if set.is_empty() {
        return Err(Error::Request(format!(
            "{name} asks for nothing: it has no requirement, or indices that range over nothing; write one, for \
             example `exists x: v[x][output,0] > 0`"
        )));
    }
    if set.len() > MOST {
        return Err(Error::Request(format!(
            "{name}: these are {} requirements, and at most {MOST} can be asked at once; let the indices range over \
             less, or use several files",
            set.len()
        )));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use deepconcolic_network::{NetworkBuilder, Shape};

    use super::*;

    #[test]
    fn a_file_that_asks_for_nothing_is_refused() {
        let (builder, input) = NetworkBuilder::new("x", Shape::new([1, 2]).unwrap());
        let network = builder.finish(&[("y", input)], 0).unwrap();
        for text in ["", "# nothing yet", "for i in 3..2: exists x: true"] {
            let refused = resolve(text, "own.dr", &network).err().unwrap();
            assert!(refused.to_string().starts_with("own.dr asks for nothing"));
        }
    }

    #[test]
    fn more_requirements_than_can_be_asked_are_refused() {
        let (builder, input) = NetworkBuilder::new("x", Shape::new([1, 2]).unwrap());
        let network = builder.finish(&[("y", input)], 0).unwrap();
        let asked =
            |family: &str| resolve(&format!("{family}: exists x: true"), "own.dr", &network);
        assert_eq!(asked("for i in 0..4096, j in 0..4096").unwrap().len(), MOST);
        let refused = asked("for i in 0..4097, j in 0..4096").err().unwrap();
        assert!(
            refused
                .to_string()
                .starts_with("own.dr: these are 16781312 requirements")
        );
    }
}
