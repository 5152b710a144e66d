//! A picture that a run wrote, read back.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

pub struct Picture {
    /// Height, width and channels.
    pub size: [usize; 3],
    /// Bits of each level.
    pub bits: usize,
    pub levels: Vec<u16>,
}

impl Picture {
    pub fn read(path: &Path) -> Self {
        let file = BufReader::new(File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut bytes).unwrap();
        let bits = frame.bit_depth as usize;
        let level = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0, |all, &byte| all << 8 | u16::from(byte))
        };
        Self {
            size: [
                frame.height as usize,
                frame.width as usize,
                frame.color_type.samples(),
            ],
            bits,
            levels: bytes.chunks(bits / 8).map(level).collect(),
        }
    }
}
