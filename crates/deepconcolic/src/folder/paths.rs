//! Paths in files and in output. Files that name others are UTF-8, and a path need not be: it is then
//! refused, or written so that it cannot be taken for the name of another file.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::Serializer;

use crate::error::Error;

/// Refuses paths that a file could not name. Each comes with the argument it was given for.
pub fn storable<'a>(
    paths: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
) -> Result<(), Error> {
    for (argument, path) in paths {
        if let Some(path) = path.filter(|path| path.to_str().is_none()) {
            return Err(Error::Request(format!(
                "{argument} {} is not UTF-8, so that the files written could not name it; rename it, or \
                 give a link to it",
                shown(path.as_os_str())
            )));
        }
    }
    Ok(())
}

/// The command line, for a file.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| shown(&word)).collect()
}

/// Text as it is; what is no text in quotes, with its odd bytes as numbers.
#[expect(
    clippy::unnecessary_debug_formatting,
    reason = "to display it would show other bytes than there are"
)]
fn shown(text: &OsStr) -> String {
    let whole: Result<String, OsString> = text.to_owned().into_string();
    whole.unwrap_or_else(|odd| format!("{odd:?}"))
}

/// A path in JSON.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(path.as_os_str()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn what_is_no_text_is_refused_by_name_or_shown_with_its_bytes() {
        let odd = OsStr::from_bytes(b"a\xff.npz");
        assert_eq!(shown(odd), "\"a\\xFF.npz\"");
        assert_eq!(shown(OsStr::new("ä b")), "ä b");
        let message = storable([("MODEL", None), ("--data", Some(Path::new(odd)))]);
        let message = message.unwrap_err().to_string();
        assert!(
            message.starts_with("--data \"a\\xFF.npz\" is not UTF-8"),
            "{message}"
        );
        assert!(storable([("--data", Some(Path::new("ä")))]).is_ok());
    }
}
