//! Certificates of several parts. Parts of a pair criterion ask about the same neurons over the same boxes, so what they
//! say of the same boxes is made one certificate with each entry once: the bounds that its entries share are then
//! computed once.

use std::collections::HashMap;

use deepconcolic_check::steepness::SlopeCertificate;
use deepconcolic_check::{Certificate, Digest, Rejection, sha256};
use deepconcolic_network::Network;

use super::parts::Worker;
use crate::error::Error;
use crate::folder::CERTIFICATES;

/// A certificate file of a part: where it lies, and what it holds.
pub type Source<'a> = (String, &'a [u8]);

/// What certificates say of the same boxes.
pub struct JoinedCertificate<'a> {
    /// Where it comes from.
    pub sources: Vec<Source<'a>>,
    pub content: Content,
}

/// What a certificate is about.
pub enum Content {
    /// Slopes, by bytes: each is about a region of its own.
    Slopes(Vec<u8>),
    /// Requirements.
    Requirements(Certificate),
}

impl JoinedCertificate<'_> {
    /// The certificate as a file has it.
    pub fn to_bytes(&self, network: &Network) -> Vec<u8> {
        match &self.content {
            Content::Slopes(bytes) => bytes.clone(),
            Content::Requirements(certificate) => certificate.to_bytes(network),
        }
    }

    /// Takes in another certificate about the same boxes.
    fn extend(&mut self, other: Certificate) {
        let Content::Requirements(known) = &mut self.content else {
            return;
        };
        for entry in other.entries {
            if !known.entries.contains(&entry) {
                known.entries.push(entry);
            }
        }
    }
}

/// The certificates of all parts, joined, in the order of the first of each.
pub fn joined<'a>(
    workers: &'a [Worker],
    network: &Network,
) -> Result<Vec<JoinedCertificate<'a>>, Error> {
    let mut places: HashMap<Digest, usize> = HashMap::new();
    let mut all: Vec<JoinedCertificate<'a>> = Vec::new();
    for (name, bytes) in workers.iter().flat_map(sources) {
        let (about, content) = if SlopeCertificate::begins(bytes) {
            (sha256(bytes), Content::Slopes(bytes.to_vec()))
        } else {
            let certificate = Certificate::from_bytes(bytes, network);
            let certificate = certificate.map_err(|why| rejected(&name, &why))?;
            (
                about(&certificate, network),
                Content::Requirements(certificate),
            )
        };
        let place = *places.entry(about).or_insert(all.len());
        match (all.get_mut(place), content) {
            (None, content) => all.push(JoinedCertificate {
                sources: vec![(name, bytes)],
                content,
            }),
            (Some(known), Content::Requirements(certificate)) => {
                known.sources.push((name, bytes));
                known.extend(certificate);
            }
            // The same file again.
            (Some(_), Content::Slopes(_)) => {}
        }
    }
    Ok(all)
}

/// That a certificate is not accepted.
pub fn rejected(name: &str, why: &Rejection) -> Error {
    Error::Request(format!("{name}: it is not accepted: {why}"))
}

/// The certificates of a part, with where they lie.
fn sources(worker: &Worker) -> impl Iterator<Item = Source<'_>> {
    let folder = worker.part.path.join(CERTIFICATES);
    let certificates = worker.part.certificates.iter();
    certificates.map(move |(name, bytes)| {
        let path = folder.join(name).display().to_string();
        (path, bytes.as_slice())
    })
}

/// What a certificate is about, whatever it says of it: its model and boxes.
fn about(certificate: &Certificate, network: &Network) -> Digest {
    let nothing = Certificate {
        model: certificate.model,
        regions: certificate.regions.clone(),
        entries: Vec::new(),
    };
    sha256(&nothing.to_bytes(network))
}
