//! A zip archive under construction, whose members are packed block by block.
//!
//! Each block is packed for itself and ends on a whole byte, so that a block that comes again costs a copy of what it was
//! packed into. Tables of large networks are mostly such blocks. What does not get smaller is taken as it is: numbers that
//! look random, such as most values of neurons, would cost seconds for nothing.

use std::io::{self, Seek, SeekFrom, Write};

use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress, Status};

use super::AtomicFile;

/// Bytes that are packed together.
pub(super) const BLOCK: usize = 1 << 18;
/// Bytes at the front and in the middle of a block that tell whether it gets smaller.
const PROBE: usize = 1 << 12;
/// Most bytes that a stretch which is taken as it is can have, as the format counts them.
const AS_IT_IS: usize = 0xffff;
/// The end of a packed stream: an empty last block.
const LAST: [u8; 2] = [3, 0];
/// Sizes and places from here on need numbers of 64 bits.
const LARGE: u64 = 0xffff_ffff;
/// The version of the format that knows packed members, and the one that knows such numbers.
const VERSION: u16 = 20;
const VERSION_LARGE: u16 = 45;
/// Packed by deflate.
const METHOD: u16 = 8;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// The first day that the format knows: members carry no time of day.
const DATE: u16 = 1 << 5 | 1;
/// What [`header`] takes before the name, and where the checksum is in it.
const HEADER: u64 = 30;
const CHECKSUM: u64 = 14;

/// An archive.
pub(super) struct Archive {
    file: AtomicFile,
    members: Vec<Member>,
    /// Bytes written.
    at: u64,
    packer: Packer,
}

/// What the directory says of a member.
struct Member {
    name: String,
    checksum: u32,
    packed: u64,
    size: u64,
    at: u64,
}

/// Packs blocks, and knows the last one.
struct Packer {
    compress: Compress,
    /// The last block and what became of it.
    block: Vec<u8>,
    packed: Vec<u8>,
}

impl Packer {
    fn pack(&mut self, block: &[u8]) -> &[u8] {
        if self.block != block {
            self.block.clear();
            self.block.extend_from_slice(block);
            self.packed.clear();
            if self.gets_smaller() {
                deflate(&mut self.compress, &self.block, &mut self.packed);
            } else {
                take_as_it_is(&self.block, &mut self.packed);
            }
        }
        &self.packed
    }

    /// Whether packing the block is worth its time: a tenth is saved where it was tried.
    fn gets_smaller(&mut self) -> bool {
        let block = &self.block;
        if block.len() < 2 * PROBE {
            return true;
        }
        let mut tried = Vec::with_capacity(2 * PROBE);
        let middle = block.len() / 2;
        for probe in [&block[..PROBE], &block[middle..middle + PROBE]] {
            deflate(&mut self.compress, probe, &mut tried);
        }
        tried.len() * 10 <= 2 * PROBE * 9
    }
}

/// Packs bytes for themselves, up to a whole byte.
fn deflate(compress: &mut Compress, bytes: &[u8], packed: &mut Vec<u8>) {
    compress.reset();
    let mut read = 0;
    loop {
        packed.reserve(bytes.len() / 8 + 64);
        let before = compress.total_in();
        let status = compress.compress_vec(&bytes[read..], packed, FlushCompress::Full);
        read += (compress.total_in() - before) as usize;
        // Room that is left shows that nothing waits to be written.
        let done = read == bytes.len() && packed.len() < packed.capacity();
        if done || !matches!(status, Ok(Status::Ok | Status::BufError)) {
            return;
        }
    }
}

/// Bytes in stretches that are not packed.
fn take_as_it_is(bytes: &[u8], packed: &mut Vec<u8>) {
    for stretch in bytes.chunks(AS_IT_IS) {
        let length = stretch.len() as u16;
        packed.push(0);
        packed.extend(length.to_le_bytes());
        packed.extend((!length).to_le_bytes());
        packed.extend_from_slice(stretch);
    }
}

impl Archive {
    /// An archive without members.
    pub fn new(file: AtomicFile) -> Self {
        Self {
            file,
            members: Vec::new(),
            at: 0,
            packer: Packer {
                // Fast: saving must not be felt, and pixels do not pack much tighter with effort.
                compress: Compress::new(Compression::fast(), false),
                block: Vec::new(),
                packed: Vec::new(),
            },
        }
    }

    /// Adds a member of a name that no other has: what `fill` writes.
    pub fn add(
        &mut self,
        name: String,
        fill: impl FnOnce(&mut MemberWriter<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.members.iter().any(|member| member.name == name) {
            return Err(io::Error::other("there is an array of this name already"));
        }
        let at = self.at;
        self.write(&header(&name, 0, 0, 0))?;
        let mut writer = MemberWriter {
            archive: self,
            checksum: Hasher::new(),
            packed: 0,
            size: 0,
            rest: Vec::new(),
        };
        fill(&mut writer)?;
        let (checksum, packed, size) = writer.end()?;
        let known = header(&name, checksum, packed, size);
        self.file.seek(SeekFrom::Start(at + CHECKSUM))?;
        self.file.write_all(&known[CHECKSUM as usize..])?;
        self.file.seek(SeekFrom::Start(self.at))?;
        self.members.push(Member {
            name,
            checksum,
            packed,
            size,
            at,
        });
        Ok(())
    }

    /// Writes the directory; what is left is to give the file its name.
    pub fn finish(mut self) -> io::Result<AtomicFile> {
        let start = self.at;
        for member in std::mem::take(&mut self.members) {
            self.write(&member.entry())?;
            self.members.push(member);
        }
        let (size, count) = (self.at - start, self.members.len() as u64);
        let end = end_of_directory(start, size, count, self.at);
        self.write(&end)?;
        self.file.flush()?;
        Ok(self.file)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

/// Takes the contents of a member.
pub(super) struct MemberWriter<'a> {
    archive: &'a mut Archive,
    checksum: Hasher,
    packed: u64,
    size: u64,
    /// What does not fill a block yet.
    rest: Vec<u8>,
}

impl MemberWriter<'_> {
    /// Writes a block so many times, which is packed once. Whatever came before is a block of its own.
    pub fn repeat(&mut self, block: &[u8], times: usize) -> io::Result<()> {
        self.end_block()?;
        let mut checksum = Hasher::new();
        checksum.update(block);
        let packed = self.archive.packer.pack(block).to_vec();
        for _ in 0..times {
            self.checksum.combine(&checksum);
            self.archive.write(&packed)?;
        }
        self.packed += (packed.len() * times) as u64;
        self.size += (block.len() * times) as u64;
        Ok(())
    }

    /// Packs what is left of the last block.
    fn end_block(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.block(&rest)?;
        }
        self.rest = rest;
        self.rest.clear();
        Ok(())
    }

    fn block(&mut self, block: &[u8]) -> io::Result<()> {
        self.checksum.update(block);
        self.size += block.len() as u64;
        let packed = self.archive.packer.pack(block);
        self.packed += packed.len() as u64;
        self.archive.at += packed.len() as u64;
        self.archive.file.write_all(packed)
    }

    /// The checksum of the member, its size when packed, and its size.
    fn end(mut self) -> io::Result<(u32, u64, u64)> {
        self.end_block()?;
        self.archive.write(&LAST)?;
        let packed = self.packed + LAST.len() as u64;
        Ok((self.checksum.finalize(), packed, self.size))
    }
}

impl Write for MemberWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BLOCK - self.rest.len());
        self.rest.extend_from_slice(&bytes[..taken]);
        if self.rest.len() == BLOCK {
            self.end_block()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What stands before a member. Sizes are always there in 64 bits too: a member's are known only in the end, and the place
/// for them must not depend on them.
fn header(name: &str, checksum: u32, packed: u64, size: u64) -> Vec<u8> {
    let is_large = packed >= LARGE || size >= LARGE;
    let mut bytes = Vec::with_capacity(HEADER as usize + name.len() + 20);
    bytes.extend(b"PK\x03\x04");
    bytes.extend(VERSION_LARGE.to_le_bytes());
    bytes.extend(FLAGS.to_le_bytes());
    bytes.extend(METHOD.to_le_bytes());
    bytes.extend(0u16.to_le_bytes());
    bytes.extend(DATE.to_le_bytes());
    bytes.extend(checksum.to_le_bytes());
    let short = |number: u64| if is_large { LARGE } else { number } as u32;
    bytes.extend(short(packed).to_le_bytes());
    bytes.extend(short(size).to_le_bytes());
    bytes.extend((name.len() as u16).to_le_bytes());
    bytes.extend(20u16.to_le_bytes());
    bytes.extend(name.as_bytes());
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(16u16.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(packed.to_le_bytes());
    bytes
}

impl Member {
    /// What the directory says of it.
    fn entry(&self) -> Vec<u8> {
        let numbers = [self.size, self.packed, self.at];
        let long: Vec<u64> = numbers.into_iter().filter(|&n| n >= LARGE).collect();
        let version = if long.is_empty() {
            VERSION
        } else {
            VERSION_LARGE
        };
        let short = |number: u64| number.min(LARGE) as u32;
        let mut extra = Vec::new();
        if !long.is_empty() {
            extra.extend(1u16.to_le_bytes());
            extra.extend((8 * long.len() as u16).to_le_bytes());
            extra.extend(long.iter().flat_map(|number| number.to_le_bytes()));
        }
        let mut bytes = b"PK\x01\x02".to_vec();
        for number in [version, version, FLAGS, METHOD, 0, DATE] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.checksum, short(self.packed), short(self.size)] {
            bytes.extend(number.to_le_bytes());
        }
        // No comment, one file, no attributes.
        for number in [self.name.len() as u16, extra.len() as u16, 0, 0, 0, 0, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(short(self.at).to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes.extend(extra);
        bytes
    }
}

/// What stands behind a directory of so many members that begins at `start`; `here` is where this stands.
fn end_of_directory(start: u64, size: u64, count: u64, here: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if start >= LARGE || size >= LARGE || count >= 0xffff {
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44u64.to_le_bytes());
        bytes.extend(VERSION_LARGE.to_le_bytes());
        bytes.extend(VERSION_LARGE.to_le_bytes());
        bytes.extend([0; 8]);
        for number in [count, count, size, start] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"PK\x06\x07");
        bytes.extend(0u32.to_le_bytes());
        bytes.extend(here.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
    }
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 4]);
    let members = count.min(0xffff) as u16;
    bytes.extend(members.to_le_bytes());
    bytes.extend(members.to_le_bytes());
    bytes.extend((size.min(LARGE) as u32).to_le_bytes());
    bytes.extend((start.min(LARGE) as u32).to_le_bytes());
    bytes.extend(0u16.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Read;
    use std::path::Path;

    use zip::ZipArchive;

    use super::*;

    /// An archive of one member, written and read back.
    fn read_back(path: &Path, fill: impl FnOnce(&mut MemberWriter<'_>)) -> Vec<u8> {
        let mut archive = Archive::new(AtomicFile::create(path).unwrap());
        let filled = |member: &mut MemberWriter<'_>| {
            fill(member);
            Ok(())
        };
        archive.add("a".into(), filled).unwrap();
        archive
            .add("b".into(), |member| member.write_all(b"behind"))
            .unwrap();
        archive.finish().unwrap().commit().unwrap();
        let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
        let mut contents = Vec::new();
        // The reader compares sizes and the checksum.
        archive
            .by_name("a")
            .unwrap()
            .read_to_end(&mut contents)
            .unwrap();
        let mut behind = String::new();
        archive
            .by_name("b")
            .unwrap()
            .read_to_string(&mut behind)
            .unwrap();
        assert_eq!(behind, "behind");
        contents
    }

    fn noise(count: usize) -> Vec<u8> {
        let mut state = 1u64;
        let next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn whatever_blocks_are_made_of_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zip");
        let blank = vec![7u8; 3 * BLOCK + 5];
        let text: Vec<u8> = (0..BLOCK + 9).map(|i| (i / 50 % 251) as u8).collect();
        let mixed = [&text[..], &noise(2 * BLOCK + 1), &blank, &text].concat();
        for contents in [Vec::new(), vec![1], blank, text, noise(BLOCK), mixed] {
            let read = read_back(&path, |member| member.write_all(&contents).unwrap());
            assert!(read == contents, "{} bytes", contents.len());
        }
    }

    #[test]
    fn noise_is_taken_as_it_is_and_blocks_that_come_again_take_little_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zip");
        let contents = noise(2 * BLOCK);
        read_back(&path, |member| member.write_all(&contents).unwrap());
        let size = fs::metadata(&path).unwrap().len() as usize;
        assert!(
            (2 * BLOCK..2 * BLOCK + 1000).contains(&size),
            "{size} bytes"
        );
        read_back(&path, |member| {
            member.write_all(&vec![0; 40 * BLOCK]).unwrap();
        });
        let size = fs::metadata(&path).unwrap().len() as usize;
        assert!(size < BLOCK, "{size} bytes");
    }

    #[test]
    fn a_block_that_is_repeated_is_the_block_written_so_many_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zip");
        let block: Vec<u8> = (0..1000).map(|i| (i % 8) as u8).collect();
        let read = read_back(&path, |member| {
            member.write_all(b"front").unwrap();
            member.repeat(&block, 300).unwrap();
            member.write_all(b"back").unwrap();
        });
        let wanted = [&b"front"[..], &block.repeat(300), b"back"].concat();
        assert!(read == wanted);
    }

    #[test]
    fn numbers_that_need_64_bits_are_where_readers_look_for_them() {
        let member = Member {
            name: "a".into(),
            checksum: 1,
            packed: 2,
            size: LARGE + 1,
            at: LARGE + 2,
        };
        let entry = member.entry();
        let extra = &entry[entry.len() - 20..];
        assert_eq!(extra[..4], [1, 0, 16, 0]);
        assert_eq!(extra[4..12], (LARGE + 1).to_le_bytes());
        assert_eq!(extra[12..], (LARGE + 2).to_le_bytes());
        assert_eq!(entry[20..24], 2u32.to_le_bytes());
        assert_eq!(entry[24..28], [0xff; 4]);
        let end = end_of_directory(LARGE + 5, 60, 1, LARGE + 65);
        assert_eq!(end.len(), 56 + 20 + 22);
        assert_eq!(end[48..56], (LARGE + 5).to_le_bytes());
        assert_eq!(end[64..72], (LARGE + 65).to_le_bytes());
    }
}
