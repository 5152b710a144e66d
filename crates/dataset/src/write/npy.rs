//! One array as an npy file, byte for byte as numpy writes it.

use std::io::{self, Write};
use std::path::Path;

use super::AtomicFile;
use super::archive::{BLOCK, MemberWriter};
use crate::arrays::{Codec, Element};
use crate::error::{DatasetError, array_place};
use crate::shape::{Shape, element_count};

/// numpy aligns the first element to this.
const ALIGNMENT: usize = 64;
/// Room numpy leaves for the first axis to grow in place, in digits.
const GROWTH: usize = 21;
/// Values encoded between two writes.
const CHUNK: usize = 8192;

/// Writes an array as a `.npy` file; it appears complete or not at all.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use deepconcolic_dataset::{arrays::read_npy, write::write_npy};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("y.npy");
/// write_npy(&path, &[2, 2], &[0.5_f32, 1.0, 1.5, 2.0])?;
/// assert_eq!(read_npy::<f32>(&path)?.shape, [2, 2]);
/// # Ok(())
/// # }
/// ```
pub fn write_npy<T: Element>(
    path: &Path,
    shape: &[usize],
    values: &[T],
) -> Result<(), DatasetError> {
    check_length(path, None, shape, values)?;
    let mut file = AtomicFile::create(path)?;
    write_array(&mut file, shape, values).map_err(DatasetError::io(path, "write"))?;
    file.commit()
}

/// Refuses values that do not fill the shape.
pub(super) fn check_length<T>(
    path: &Path,
    array: Option<&str>,
    shape: &[usize],
    values: &[T],
) -> Result<(), DatasetError> {
    if element_count(shape) == Some(values.len()) {
        return Ok(());
    }
    Err(wrong_length(path, array, shape, values.len()))
}

/// So many values do not fill the shape.
pub(super) fn wrong_length(
    path: &Path,
    array: Option<&str>,
    shape: &[usize],
    values: usize,
) -> DatasetError {
    DatasetError::WrongLength {
        place: array_place(path, array),
        values,
        shape: Shape(shape).to_string(),
    }
}

/// Header and elements, C order, little endian.
pub(super) fn write_array<T: Codec>(
    writer: &mut impl Write,
    shape: &[usize],
    values: &[T],
) -> io::Result<()> {
    writer.write_all(&header(T::DESCR, shape)?)?;
    let mut bytes = Vec::with_capacity(size_of_val(values).min(CHUNK * size_of::<T>()));
    for chunk in values.chunks(CHUNK) {
        encode(chunk, &mut bytes);
        writer.write_all(&bytes)?;
    }
    Ok(())
}

/// The same of an array of one axis, whose values come part by part until one is empty. Returns how many there were.
pub(super) fn write_in_parts<T: Codec>(
    writer: &mut impl Write,
    count: usize,
    next: &mut dyn FnMut(&mut Vec<T>),
) -> io::Result<usize> {
    writer.write_all(&header(T::DESCR, &[count])?)?;
    let (mut part, mut bytes) = (Vec::new(), Vec::new());
    let mut written = 0;
    loop {
        part.clear();
        next(&mut part);
        if part.is_empty() {
            return Ok(written);
        }
        encode(&part, &mut bytes);
        writer.write_all(&bytes)?;
        written += part.len();
    }
}

/// Values as they are on disk.
fn encode<T: Codec>(values: &[T], bytes: &mut Vec<u8>) {
    bytes.clear();
    for value in values {
        bytes.extend_from_slice(value.encode().as_ref());
    }
}

/// An array of one axis with one value everywhere, as [`write_array`] would write it.
pub(super) fn write_repeated<T: Codec>(
    member: &mut MemberWriter<'_>,
    count: usize,
    value: &T,
) -> io::Result<()> {
    member.write_all(&header(T::DESCR, &[count])?)?;
    let each = BLOCK / size_of::<T>().max(1);
    let block = value.encode().as_ref().repeat(each.min(count));
    member.repeat(&block, count / each)?;
    member.write_all(&block[..count % each * size_of::<T>()])
}

fn header(descr: &str, shape: &[usize]) -> io::Result<Vec<u8>> {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let tuple = format!("({}{comma})", sizes.join(", "));
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple}, }}");
    if let Some(first) = sizes.first() {
        text.extend(std::iter::repeat_n(' ', GROWTH - first.len()));
    }
    let before_text = 10;
    let unpadded = before_text + text.len() + 1;
    let padding = unpadded.next_multiple_of(ALIGNMENT) - unpadded;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let length = u16::try_from(text.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many axes for an array"))?;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.into_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::read_npy;

    #[test]
    fn bytes_are_those_numpy_writes() {
        // numpy.save of numpy.array([[1, 2, 3]], dtype=numpy.uint8).
        let text = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3), }";
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend(format!("{text:117}\n").bytes());
        expected.extend([1, 2, 3]);
        let mut written = Vec::new();
        write_array(&mut written, &[1, 3], &[1_u8, 2, 3]).unwrap();
        assert_eq!(written, expected);
    }

    #[test]
    fn every_element_type_survives_a_round_trip() {
        fn round_trip<T: Element + PartialEq + std::fmt::Debug>(shape: &[usize], values: &[T]) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.npy");
            write_npy(&path, shape, values).unwrap();
            let array = read_npy::<T>(&path).unwrap();
            assert_eq!(
                (array.shape.as_slice(), array.values.as_slice()),
                (shape, values)
            );
        }
        round_trip(&[2, 2], &[0.1_f32, -0.0, f32::MAX, 1e-40]);
        round_trip(&[3], &[0.1_f64, 1e300, f64::MIN_POSITIVE]);
        round_trip(&[2], &[i64::MIN, i64::MAX]);
        round_trip(&[2, 1], &[0_u8, 255]);
        round_trip::<f32>(&[0, 7], &[]);
        round_trip(&[], &[3_i64]);
        let many: Vec<i64> = (0..20_000).collect();
        round_trip(&[20_000], &many);
    }

    #[test]
    fn values_that_do_not_fill_the_shape_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        assert!(write_npy(&path, &[2, 2], &[1.0_f32]).is_err());
        assert!(!path.exists());
    }
}
