//! Frames: what the journal is made of on disk, and how a torn end is told from damage.
//!
//! A frame is a mark, its number, its length, a checksum over the three that follow the mark, and its
//! contents. Numbers run from 0. The mark lets a reader find the next frame behind a damaged one, and the
//! number shows frames that are missing, doubled or out of order.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// No frame has longer contents: the writer refuses them, and the reader does before it takes memory.
pub const LONGEST: usize = 1 << 30;

const MARK: [u8; 4] = [0xd5, b'd', b'c', 0x8f];
const HEAD: usize = 16;
/// Bytes looked through at a time for the next mark.
const WINDOW: usize = 1 << 16;

/// The bytes of a frame; none if its contents are too long for one.
pub fn frame(number: u32, contents: &[u8]) -> Option<Vec<u8>> {
    if contents.len() > LONGEST {
        return None;
    }
    let length = u32::try_from(contents.len()).ok()?;
    let mut bytes = Vec::with_capacity(HEAD + contents.len());
    bytes.extend(MARK);
    bytes.extend(number.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend(checksum(number, length, contents).to_le_bytes());
    bytes.extend(contents);
    Some(bytes)
}

fn checksum(number: u32, length: u32, contents: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&length.to_le_bytes());
    hasher.update(contents);
    hasher.finalize()
}

/// What lies behind the last sound frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing, or one frame that was being written when the process died.
    Torn,
    /// Something that is not the next frame, with sound frames after it.
    Damage {
        /// Where the next sound frame starts, in bytes.
        resumes: u64,
        /// Sound frames from there on.
        after: usize,
    },
}

/// Reads frames one after the other.
pub struct Frames<'a> {
    file: &'a mut File,
    length: u64,
    at: u64,
    number: u32,
}

impl<'a> Frames<'a> {
    /// From this byte of a file on, where frame 0 is.
    pub fn new(file: &'a mut File, start: u64) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self {
            file,
            length,
            at: start,
            number: 0,
        })
    }

    /// Where the last frame that was read ends, in bytes.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The contents of the next frame, if it is sound and the next in number.
    pub fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self.sound(self.at)? {
            Some((number, contents)) if number == self.number => {
                self.at += (HEAD + contents.len()) as u64;
                self.number += 1;
                Ok(Some(contents))
            }
            _ => Ok(None),
        }
    }

    /// What lies behind the last frame that was read. Only a frame that was being written when the process
    /// died is torn: behind it there is nothing.
    pub fn tail(&mut self) -> io::Result<Tail> {
        let Some(resumes) = self.next_sound(self.at)? else {
            return Ok(Tail::Torn);
        };
        let (mut at, mut after) = (resumes, 0);
        loop {
            if let Some((_, contents)) = self.sound(at)? {
                at += (HEAD + contents.len()) as u64;
                after += 1;
            } else if let Some(next) = self.next_sound(at)? {
                at = next;
            } else {
                return Ok(Tail::Damage { resumes, after });
            }
        }
    }

    /// Number and contents of the frame that starts at a byte, if it is sound.
    fn sound(&mut self, at: u64) -> io::Result<Option<(u32, Vec<u8>)>> {
        let room = self.length.saturating_sub(at);
        if room < HEAD as u64 {
            return Ok(None);
        }
        self.file.seek(SeekFrom::Start(at))?;
        let mut head = [0; HEAD];
        self.file.read_exact(&mut head)?;
        let ([mark, number, length, expected], _) = head.as_chunks::<4>() else {
            return Ok(None);
        };
        let [number, length, expected] = [number, length, expected].map(|b| u32::from_le_bytes(*b));
        if *mark != MARK || length as usize > LONGEST || u64::from(length) > room - HEAD as u64 {
            return Ok(None);
        }
        let mut contents = vec![0; length as usize];
        self.file.read_exact(&mut contents)?;
        let is_sound = checksum(number, length, &contents) == expected;
        Ok(is_sound.then_some((number, contents)))
    }

    /// Where the first sound frame at or behind a byte starts.
    fn next_sound(&mut self, from: u64) -> io::Result<Option<u64>> {
        let mut window = vec![0; WINDOW];
        let mut start = from;
        while self.length.saturating_sub(start) >= HEAD as u64 {
            let size = WINDOW.min((self.length - start) as usize);
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_exact(&mut window[..size])?;
            let marks = window[..size].windows(MARK.len()).enumerate();
            let marks: Vec<usize> = marks.filter(|(_, w)| *w == MARK).map(|(o, _)| o).collect();
            for offset in marks {
                let at = start + offset as u64;
                if self.sound(at)?.is_some() {
                    return Ok(Some(at));
                }
            }
            // A mark may lie across the end of the window.
            start += (size - (MARK.len() - 1)) as u64;
        }
        Ok(None)
    }
}
