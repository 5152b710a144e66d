//! Archives of arrays: a zip whose members are npy files.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::{Array, ArraySource, Element, Header, inflated_at_most};
use crate::error::{ArrayError, DatasetError, excerpt};
use crate::shape::Shape;

/// A message names at most so many arrays.
const MAX_LISTED: usize = 20;

/// Reads arrays by name from a `.npz` file, as numpy's `savez` and `savez_compressed` write it.
///
/// Members that are not arrays of numbers (text, objects) are known by name only; asking for one is an
/// error, their presence is not.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use deepconcolic_dataset::{arrays::NpzReader, write::NpzWriter};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("suite.npz");
/// let mut writer = NpzWriter::create(&path)?;
/// writer.add("x", &[2, 3], &[0.0_f32, 0.1, 0.2, 0.3, 0.4, 0.5])?;
/// writer.add("root", &[2], &[7_i64, 9])?;
/// writer.finish()?;
///
/// let mut archive = NpzReader::open(&path)?;
/// assert_eq!(archive.names().collect::<Vec<_>>(), ["x", "root"]);
/// assert_eq!(archive.read::<i64>("root")?.values, [7, 9]);
/// # Ok(())
/// # }
/// ```
pub struct NpzReader {
    path: PathBuf,
    archive: ZipArchive<BufReader<File>>,
    members: Vec<Member>,
}

struct Member {
    index: usize,
    name: String,
    /// Absent when the elements are not numbers or the header is broken.
    header: Option<Header>,
}

impl NpzReader {
    /// Opens an archive and reads the header of every array in it.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        let file = File::open(path).map_err(DatasetError::reading(path))?;
        let mut archive = ZipArchive::new(BufReader::new(file))
            .map_err(|error| DatasetError::malformed(path, not_an_archive(&error)))?;
        let mut members = Vec::new();
        for index in 0..archive.len() {
            let Some(Ok(file_name)) = archive.name_for_index(index) else {
                continue;
            };
            let Some(name) = file_name.strip_suffix(".npy").map(str::to_owned) else {
                continue;
            };
            let header = source(&mut archive, index).map(|source| source.header).ok();
            members.push(Member {
                index,
                name,
                header,
            });
        }
        Ok(Self {
            path: path.to_path_buf(),
            archive,
            members,
        })
    }

    /// The names of the arrays, in file order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// The shape of an array of numbers; `None` for any other.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.header(name).map(|header| header.shape.as_slice())
    }

    /// How many samples an array of numbers declares: the size of its first axis.
    pub(crate) fn samples(&self, name: &str) -> Option<usize> {
        self.shape(name)?.first().copied()
    }

    /// Reads an array, converting its numbers to `T`.
    pub fn read<T: Element>(&mut self, name: &str) -> Result<Array<T>, DatasetError> {
        self.with_source(name, |source| source.read(None))
    }

    /// Hands over an array of one axis part by part, for those who need not hold all of it, and says how long it is.
    pub fn read_in_parts<T: Element>(
        &mut self,
        name: &str,
        take: &mut dyn FnMut(&[T]),
    ) -> Result<usize, DatasetError> {
        self.with_source(name, |source| source.read_in_parts(take))
    }

    /// The header of an array of numbers.
    pub(crate) fn header(&self, name: &str) -> Option<&Header> {
        self.members
            .iter()
            .find(|member| member.name == name)
            .and_then(|member| member.header.as_ref())
    }

    /// Gives `read` the array of that name, placed after its header.
    pub(crate) fn with_source<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(ArraySource<&mut dyn std::io::Read>) -> Result<T, ArrayError>,
    ) -> Result<T, DatasetError> {
        let index = self
            .members
            .iter()
            .find(|member| member.name == name)
            .map(|member| member.index)
            .ok_or_else(|| ArrayError::Missing(self.listing()).in_archive(&self.path, name))?;
        source(&mut self.archive, index)
            .and_then(|mut source| {
                read(ArraySource {
                    reader: &mut source.reader,
                    header: source.header,
                    available: source.available,
                })
            })
            .map_err(|problem| problem.in_archive(&self.path, name))
    }

    /// The arrays there are, for messages: `"a" (10x4), "names" (not numbers)`.
    pub(crate) fn listing(&self) -> String {
        if self.members.is_empty() {
            return "no arrays".to_owned();
        }
        let describe = |member: &Member| match &member.header {
            Some(header) => format!("{} ({})", excerpt(&member.name), Shape(&header.shape)),
            None => format!("{} (not numbers)", excerpt(&member.name)),
        };
        let mut listed: Vec<String> = self.members.iter().take(MAX_LISTED).map(describe).collect();
        if self.members.len() > MAX_LISTED {
            listed.push(format!("{} more", self.members.len() - MAX_LISTED));
        }
        listed.join(", ")
    }
}

fn source(
    archive: &mut ZipArchive<BufReader<File>>,
    index: usize,
) -> Result<ArraySource<zip::read::ZipFile<'_, BufReader<File>>>, ArrayError> {
    let member = archive.by_index(index).map_err(|error| match error {
        ZipError::Io(error) => error.into(),
        error => ArrayError::Header(error.to_string()),
    })?;
    // The directory's word for a member's size is held against what its compressed bytes can become.
    let maximum = match member.compression() {
        CompressionMethod::Stored => member.compressed_size(),
        _ => inflated_at_most(member.compressed_size()),
    };
    let available = maximum.min(member.size());
    ArraySource::new(member, available)
}

fn not_an_archive(error: &ZipError) -> String {
    format!("not a readable npz archive ({error}); save it again with numpy.savez")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    /// An archive of members given as header text and elements.
    fn archive(members: &[(&str, &str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        for (name, header, elements) in members {
            let options = SimpleFileOptions::default();
            writer.start_file(format!("{name}.npy"), options).unwrap();
            writer.write_all(b"\x93NUMPY\x01\x00").unwrap();
            writer
                .write_all(&(header.len() as u16).to_le_bytes())
                .unwrap();
            writer.write_all(header.as_bytes()).unwrap();
            writer.write_all(elements).unwrap();
        }
        writer.finish().unwrap();
        (folder, path)
    }

    const TWO_BYTES: &str = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";

    #[test]
    fn text_and_objects_are_known_by_name_only() {
        let text = "{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }";
        let objects = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }";
        let (_folder, path) = archive(&[
            ("names", text, &[65, 0, 0, 0]),
            ("objects", objects, &[1, 2, 3]),
            ("x", TWO_BYTES, &[1, 2]),
        ]);
        let mut reader = NpzReader::open(&path).unwrap();
        assert_eq!(reader.read::<u8>("x").unwrap().values, [1, 2]);
        assert_eq!(reader.shape("names"), None);
        let message = reader.read::<f32>("objects").unwrap_err().to_string();
        assert!(message.contains("Python objects"), "{message}");
        let listing = "\"names\" (not numbers), \"objects\" (not numbers), \"x\" (2)";
        assert_eq!(reader.listing(), listing);
    }

    #[test]
    fn a_member_is_held_to_its_size() {
        let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }";
        let (_folder, path) = archive(&[("x", huge, &[0; 100]), ("y", TWO_BYTES, &[1, 2, 3])]);
        let mut reader = NpzReader::open(&path).unwrap();
        let message = reader.read::<f32>("x").unwrap_err().to_string();
        assert!(
            message.contains("claims shape 1000000x1000000"),
            "{message}"
        );
        let message = reader.read::<f32>("y").unwrap_err().to_string();
        assert!(message.contains("bytes follow"), "{message}");
    }

    #[test]
    fn damage_is_found_by_the_checksum() {
        let (_folder, path) = archive(&[("x", TWO_BYTES, &[0xab, 0xcd])]);
        let mut bytes = std::fs::read(&path).unwrap();
        // The archive's directory has the checksum of a member 16 bytes behind this mark. What is packed differs from
        // what it says then, whatever the packing.
        let entry = bytes.windows(4).rposition(|mark| mark == b"PK\x01\x02");
        bytes[entry.unwrap() + 16] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(NpzReader::open(&path).unwrap().read::<u8>("x").is_err());
    }
}
