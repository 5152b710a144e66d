//! SHA-256, which names models and seals certificates.

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes.
pub type Digest = [u8; 32];

/// The SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// As hexadecimal digits.
pub(crate) fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
