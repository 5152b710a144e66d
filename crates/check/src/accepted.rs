//! What the check has accepted. Only the check makes such values, so whoever holds one knows that its
//! certificate was judged: facts are drawn from nothing else.

use crate::certificate::{Certificate, Entry, Region, Tree};
use crate::digest::Digest;
use crate::error::Rejection;

/// What is shown of one entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The largest value of the weighted conditions that rule the requirement out; below 0, or 0 for a
    /// strict condition on executions.
    pub value: f64,
    /// How far the weighted conditions, read off an execution in single precision, can be from their real
    /// values; infinite if that is not known.
    pub margin: f64,
}

impl Bound {
    /// Of no alternative at all.
    pub(crate) const NONE: Self = Self {
        value: f64::NEG_INFINITY,
        margin: 0.0,
    };

    /// Whether executions in single precision, each sum in any order, cannot meet the requirement either.
    pub fn covers_executions(&self) -> bool {
        self.value < -self.margin
    }

    /// What holds where either of two bounds may be the one that counts.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            value: self.value.max(other.value),
            margin: self.margin.max(other.margin),
        }
    }
}

/// A certificate that was accepted, with what is shown of each entry.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Accepted {
    certificate: Certificate,
    bounds: Vec<Bound>,
}

impl Accepted {
    /// For the check alone: one bound for each entry.
    pub(crate) fn new(certificate: Certificate, bounds: Vec<Bound>) -> Self {
        Self {
            certificate,
            bounds,
        }
    }

    /// A certificate without entries, which claims nothing.
    pub fn nothing(model: Digest, regions: Vec<Region>) -> Self {
        let certificate = Certificate {
            model,
            regions,
            entries: Vec::new(),
        };
        Self::new(certificate, Vec::new())
    }

    /// What was accepted.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The SHA-256 of the model that it is about.
    pub fn model(&self) -> &Digest {
        &self.certificate.model
    }

    /// What is shown of each entry, in order.
    pub fn bounds(&self) -> &[Bound] {
        &self.bounds
    }

    /// The entries, each with what is shown of it.
    pub fn entries(&self) -> impl Iterator<Item = (&Entry, &Bound)> {
        self.certificate.entries.iter().zip(&self.bounds)
    }

    /// Whether nothing is claimed.
    pub fn is_empty(&self) -> bool {
        self.certificate.entries.is_empty()
    }

    /// Leaves that were checked.
    pub fn leaves(&self) -> usize {
        let proofs = self.certificate.entries.iter().flat_map(|e| &e.proofs);
        let nodes = proofs.flatten().flatten();
        nodes.filter(|node| !matches!(node, Tree::Split(_))).count()
    }

    /// Takes over the entries of another one about the same model and regions.
    pub fn extend(&mut self, other: Self) -> Result<(), Rejection> {
        if self.certificate.model != other.certificate.model {
            return Err(Rejection::other_model(self.model(), other.model()));
        }
        if self.certificate.regions != other.certificate.regions {
            return Err(Rejection::Region);
        }
        self.certificate.entries.extend(other.certificate.entries);
        self.bounds.extend(other.bounds);
        Ok(())
    }
}
