//! Several arrays in one archive.

use std::io;
use std::path::{Path, PathBuf};

use super::AtomicFile;
use super::archive::{Archive, MemberWriter};
use super::npy::{check_length, write_array, write_in_parts, write_repeated, wrong_length};
use crate::arrays::Element;
use crate::error::DatasetError;

/// Writes a `.npz` archive, compressed, array by array; it appears when [`NpzWriter::finish`] succeeds.
///
/// The same arrays give the same bytes: members carry no time of day.
pub struct NpzWriter {
    path: PathBuf,
    archive: Archive,
}

impl NpzWriter {
    /// Starts an archive that will be called `path`.
    pub fn create(path: &Path) -> Result<Self, DatasetError> {
        Ok(Self {
            path: path.to_path_buf(),
            archive: Archive::new(AtomicFile::create(path)?),
        })
    }

    /// Adds an array; names are unique in an archive.
    pub fn add<T: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: &[T],
    ) -> Result<(), DatasetError> {
        check_length(&self.path, Some(name), shape, values)?;
        self.member(name, |member| write_array(member, shape, values))
    }

    /// Adds an array of one axis that has the same value everywhere.
    pub fn add_repeated<T: Element>(
        &mut self,
        name: &str,
        count: usize,
        value: T,
    ) -> Result<(), DatasetError> {
        self.member(name, |member| write_repeated(member, count, &value))
    }

    /// Adds an array of one axis, part by part: `next` fills the vector it is given, which is empty, with the values
    /// that come next, and leaves it so after the last.
    pub fn add_in_parts<T: Element>(
        &mut self,
        name: &str,
        count: usize,
        next: &mut dyn FnMut(&mut Vec<T>),
    ) -> Result<(), DatasetError> {
        let mut written = 0;
        self.member(name, |member| {
            written = write_in_parts(member, count, next)?;
            Ok(())
        })?;
        if written == count {
            return Ok(());
        }
        Err(wrong_length(&self.path, Some(name), &[count], written))
    }

    fn member(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut MemberWriter<'_>) -> io::Result<()>,
    ) -> Result<(), DatasetError> {
        self.archive
            .add(format!("{name}.npy"), fill)
            .map_err(DatasetError::io(&self.path, "write"))
    }

    /// Completes the archive and gives it its name.
    pub fn finish(self) -> Result<(), DatasetError> {
        self.archive
            .finish()
            .map_err(DatasetError::io(&self.path, "write"))?
            .commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::NpzReader;

    #[test]
    fn what_is_added_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("suite.npz");
        let mut writer = NpzWriter::create(&path).unwrap();
        writer.add("x", &[2, 2], &[0.5_f32, 1.0, 2.0, 4.0]).unwrap();
        writer.add("stage", &[2], &[0_u8, 3]).unwrap();
        writer.add("root", &[2], &[-1_i64, 6427]).unwrap();
        assert!(!path.exists());
        writer.finish().unwrap();

        let mut reader = NpzReader::open(&path).unwrap();
        assert_eq!(reader.names().collect::<Vec<_>>(), ["x", "stage", "root"]);
        assert_eq!(reader.shape("x"), Some(&[2, 2][..]));
        assert_eq!(
            reader.read::<f32>("x").unwrap().values,
            [0.5, 1.0, 2.0, 4.0]
        );
        assert_eq!(reader.read::<u8>("stage").unwrap().values, [0, 3]);
        assert_eq!(reader.read::<i64>("root").unwrap().values, [-1, 6427]);
        let message = reader.read::<f32>("y").unwrap_err().to_string();
        assert!(message.contains("\"stage\" (2)"), "{message}");
    }

    #[test]
    fn parts_are_one_array_and_must_fill_it() {
        let folder = tempfile::tempdir().unwrap();
        let values: Vec<i64> = (0..1000).map(|n| n * n).collect();
        let write = |name: &str, count: usize| {
            let path = folder.path().join(name);
            let mut writer = NpzWriter::create(&path).unwrap();
            let mut parts = values.chunks(300);
            writer.add_in_parts("x", count, &mut |part: &mut Vec<i64>| {
                part.extend(parts.next().unwrap_or_default());
            })?;
            writer.finish().map(|()| path)
        };
        let mut reader = NpzReader::open(&write("a.npz", 1000).unwrap()).unwrap();
        assert_eq!(reader.read::<i64>("x").unwrap().values, values);
        let message = write("b.npz", 1001).unwrap_err().to_string();
        assert!(message.contains("1000 values"), "{message}");
    }

    #[test]
    fn the_same_arrays_give_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            let mut writer = NpzWriter::create(&path).unwrap();
            writer.add("x", &[1000], &vec![0.25_f32; 1000]).unwrap();
            writer.finish().unwrap();
            std::fs::read(path).unwrap()
        };
        assert_eq!(write("a.npz"), write("b.npz"));
    }

    #[test]
    fn a_name_given_twice_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let mut writer = NpzWriter::create(&path).unwrap();
        writer.add("x", &[1], &[1.0_f32]).unwrap();
        assert!(writer.add("x", &[1], &[1.0_f32]).is_err());
    }
}
