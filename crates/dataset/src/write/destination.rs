//! What a path to write to leads to. A rename must not put a file in the place of a device, a pipe or a
//! link.

use std::fs::{self, File, FileType};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is written to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// A file, or a name that is free; links to it are followed.
    File(PathBuf),
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
    /// A terminal, a pipe, or what takes everything, by its name.
    Stream(PathBuf),
}

impl Destination {
    /// Where a path leads, or why nothing can be written there.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path.file_name().is_none() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if let Some(descriptor) = descriptor(path) {
            return Ok(descriptor);
        }
        if fs::symlink_metadata(path).is_err() {
            return Ok(Self::File(path.to_owned()));
        }
        let found = fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refusal("it is a link that leads nowhere; remove it first"),
            _ => error,
        })?;
        let kind = found.file_type();
        if kind.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else if kind.is_file() {
            Ok(Self::File(fs::canonicalize(path)?))
        } else if is_stream(kind) {
            Ok(Self::Stream(path.to_owned()))
        } else {
            Err(refusal(
                "it is neither a file, nor a pipe or a device that takes one byte after the other",
            ))
        }
    }

    /// Writes all of the contents to what is no file.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(path) => fs::write(path, bytes),
            Self::Output => {
                let mut output = io::stdout().lock();
                output.write_all(bytes)?;
                output.flush()
            }
            Self::Errors => io::stderr().lock().write_all(bytes),
            Self::Stream(path) => File::options().append(true).open(path)?.write_all(bytes),
        }
    }
}

/// Whether a path is another name of standard output, such as `/dev/stdout`.
pub fn is_standard_output(path: &Path) -> bool {
    descriptor(path) == Some(Destination::Output)
}

fn refusal(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(unix)]
fn is_stream(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_fifo()
}

#[cfg(not(unix))]
fn is_stream(_: FileType) -> bool {
    false
}

/// What a path like `/dev/stdout` stands for: something this process has open already. Its own handle is
/// used where there is one, so that what is written comes at its place among everything else.
fn descriptor(path: &Path) -> Option<Destination> {
    /// Links followed, as many as systems do.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let folder = fs::canonicalize(folder).ok()?;
        if folder.starts_with("/proc") && folder.ends_with("fd") {
            return Some(match path.file_name()?.to_str()? {
                "1" => Destination::Output,
                "2" => Destination::Errors,
                _ => Destination::Stream(path),
            });
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::write::{AtomicFile, write_npy};
    use std::os::unix::fs::{FileTypeExt, symlink};

    #[test]
    fn a_device_keeps_its_place_and_takes_the_contents() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("nothing");
        symlink("/dev/null", &link).unwrap();
        // By way of a link, so that a mistake here costs a link and not the device.
        write_npy(&link, &[1], &[1.0_f32]).unwrap();
        let kind = fs::metadata("/dev/null").unwrap().file_type();
        assert!(kind.is_char_device());
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("/dev/null"));
    }

    #[test]
    fn a_pipe_gets_the_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read(pipe).unwrap())
        };
        let mut file = AtomicFile::create(&pipe).unwrap();
        file.write_all(b"whole").unwrap();
        file.commit().unwrap();
        assert_eq!(reader.join().unwrap(), b"whole");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_link_leads_to_the_file_that_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("deep");
        fs::create_dir(&deep).unwrap();
        fs::write(deep.join("real"), "old").unwrap();
        let link = folder.path().join("link");
        symlink("deep/real", &link).unwrap();
        let mut file = AtomicFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(deep.join("real")).unwrap(), b"new");
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("deep/real"));
        assert_eq!(fs::read_dir(&deep).unwrap().count(), 1);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("gone", &link).unwrap();
        let message = AtomicFile::create(&link).unwrap_err().to_string();
        assert!(message.contains("leads nowhere"), "{message}");
        assert!(!folder.path().join("gone").exists());
    }

    #[test]
    fn a_socket_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let message = AtomicFile::create(&path).unwrap_err().to_string();
        assert!(message.contains("neither a file"), "{message}");
    }

    #[test]
    fn standard_output_is_known_by_every_name() {
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let found = Destination::of(Path::new(name)).unwrap();
            assert_eq!(found, Destination::Output, "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("out");
        symlink("/dev/stdout", &link).unwrap();
        assert_eq!(Destination::of(&link).unwrap(), Destination::Output);
    }
}
