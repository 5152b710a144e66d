//! SHA-256, which names models and seals certificates.

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes.
pub type Digest = [u8; 32];

/// The SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// As hexadecimal digits.
pub fn hex(digest: &Digest) -> String {
    let digits = |byte: &u8| [byte >> 4, byte & 15];
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
    digest.iter().flat_map(digits).map(digit).collect()
}
