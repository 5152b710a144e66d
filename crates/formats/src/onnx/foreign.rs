//! What a file that is not ONNX may be instead.
//!
//! The usual reason is an accident of downloading, which the first bytes give away.

use bytes::Bytes;

use super::error::OnnxError;

/// Enough for every sign below.
const HEAD: usize = 512;

const DOWNLOAD_AGAIN: &str = "is it a complete download?";

/// The part of a file that [`refuse`] looks at.
pub(super) fn head(bytes: &Bytes) -> Bytes {
    bytes.slice(..bytes.len().min(HEAD))
}

/// A refusal of a file that does not decode, naming what it looks like if that is known
/// and else the decoder's own `reason`.
pub(super) fn refuse(head: &[u8], reason: String) -> OnnxError {
    match recognise(head) {
        Some((reason, advice)) => OnnxError::NotOnnx {
            reason: reason.to_owned(),
            advice,
        },
        None => OnnxError::NotOnnx {
            reason,
            advice: DOWNLOAD_AGAIN,
        },
    }
}

fn recognise(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let starts = |magic: &[u8]| head.starts_with(magic);
    if head.is_empty() {
        Some(("the file is empty", DOWNLOAD_AGAIN))
    } else if starts(b"version https://git-lfs") {
        Some((
            "it is a git LFS pointer, not the file itself",
            "fetch the file with `git lfs pull`",
        ))
    } else if is_html(head) {
        Some((
            "it is a web page",
            "the download gave an error or a preview page, use the link to the raw file",
        ))
    } else if starts(&[0x1f, 0x8b]) {
        Some(("it is compressed with gzip", "decompress it first"))
    } else if starts(b"PK\x03\x04") {
        Some((
            "it is a zip archive (as .pt, .keras and .npz files are)",
            "unpack it, or export the model to ONNX",
        ))
    } else if starts(b"\x89HDF") {
        Some((
            "it is an HDF5 file (as Keras .h5 files are)",
            "export the model to ONNX, for example with tf2onnx",
        ))
    } else if head.get(4..8) == Some(b"TFL3") {
        Some((
            "it is a TensorFlow Lite model",
            "export the original model to ONNX",
        ))
    } else if is_text(head) {
        Some(("it is a text file", DOWNLOAD_AGAIN))
    } else {
        None
    }
}

fn is_html(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    [&b"<!doctype html"[..], b"<html", b"<head"]
        .iter()
        .any(|tag| {
            text.get(..tag.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(tag))
        })
}

/// Any ONNX file has control bytes among its first.
fn is_text(head: &[u8]) -> bool {
    head.iter()
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::refuse;

    #[test]
    fn accidents_of_downloading_are_recognised() {
        let cases: [(&[u8], &str); 9] = [
            (b"", "empty"),
            (
                b"version https://git-lfs.github.com/spec/v1\noid",
                "git lfs pull",
            ),
            (b"\n <!DOCTYPE HTML><title>", "web page"),
            (b"<html>404 not found</html>", "web page"),
            (b"\x1f\x8b\x08\x00", "gzip"),
            (b"PK\x03\x04rest", "zip"),
            (b"\x89HDF\r\n", "HDF5"),
            (b"\x1c\0\0\0TFL3", "TensorFlow Lite"),
            (b"{\"error\": 404}\r\n", "text file"),
        ];
        for (bytes, sign) in cases {
            let message = refuse(bytes, "unused".into()).to_string();
            assert!(message.contains(sign), "{message}");
        }
    }

    #[test]
    fn other_bytes_are_refused_for_the_decoder_s_reason() {
        assert_eq!(
            refuse(&[0, 1, 2, 0xff], "it ends too early".into()).to_string(),
            "not an ONNX model: it ends too early; is it a complete download?"
        );
    }
}
