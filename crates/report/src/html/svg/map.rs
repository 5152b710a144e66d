//! Maps of cells by state: neurons of a layer as feature maps, or pairs of neurons as a matrix. Cells of one state in
//! a row are one stroke of a path, so that tens of thousands of neurons take little room.
//!
//! States differ in shape as well as colour: covered cells are full, impossible ones half as high, which looks
//! striped, and open ones small squares.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};

/// How a cell looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// Everything is met.
    Met,
    /// A part is met, from 1 to 4 of five.
    Part(u8),
    /// Nothing can be met.
    Impossible,
    /// Nothing is met.
    Open,
    /// Nothing is required.
    Nothing,
}

impl Cell {
    /// For so many requirements that ended so.
    pub fn of(met: usize, impossible: usize, open: usize) -> Self {
        match (met, impossible, open) {
            (0, 0, 0) => Self::Nothing,
            (0, _, 0) => Self::Impossible,
            (_, _, 0) => Self::Met,
            (0, ..) => Self::Open,
            (met, _, open) => Self::Part((met * 5 / (met + open)).clamp(1, 4) as u8),
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Met => "c",
            Self::Part(1) => "p1",
            Self::Part(2) => "p2",
            Self::Part(3) => "p3",
            Self::Part(_) => "p4",
            Self::Impossible => "i",
            Self::Open => "o",
            Self::Nothing => "n",
        }
    }
}

/// Maps side by side.
pub struct CellMap {
    /// Cells of one map, across and down.
    pub size: (usize, usize),
    /// How many maps there are.
    pub maps: usize,
    /// What is drawn in a cell: map, row, column.
    pub cells: Vec<Cell>,
    /// What the drawing is for those who cannot see it.
    pub title: String,
    /// How wide all maps may be together, in pixels.
    pub room: usize,
}

/// The largest side of a cell in pixels.
const LARGEST: usize = 14;
const SMALLEST: usize = 2;
/// Maps in a row, if their cells are not too small then.
const ACROSS: usize = 12;

/// How maps are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The side of a cell in pixels.
    pub side: usize,
    /// Maps in a row.
    pub across: usize,
    /// Rows of maps.
    pub down: usize,
    /// Cells between maps.
    pub gap: usize,
}

impl CellMap {
    /// Where each map lies.
    pub fn arrangement(&self) -> Arrangement {
        let (width, height) = self.size;
        let gap = usize::from(self.maps > 1) * width.max(height).div_ceil(8).clamp(1, 4);
        let wanted = match self.maps {
            1 => self.room / width.max(1),
            maps => self.room / maps.min(ACROSS) / (width + gap).max(1),
        };
        let side = wanted.clamp(SMALLEST, LARGEST);
        let across = (self.room / (side * (width + gap))).clamp(1, self.maps.max(1));
        Arrangement {
            side,
            across,
            down: self.maps.div_ceil(across),
            gap,
        }
    }

    /// The drawing. A script finds the cell under the pointer by what `data-` says.
    pub fn draw(&self) -> Markup {
        let (width, height) = self.size;
        let a = self.arrangement();
        let cells = (
            a.across * (width + a.gap) - a.gap,
            a.down * (height + a.gap) - a.gap,
        );
        let frames = (0..self.maps).map(|map| {
            let (x, y) = self.corner(a, map);
            format!("M{x} {y}h{width}v{height}h-{width}z")
        });
        let frames: String = frames.collect();
        html! {
            svg class="map" viewBox=(format!("0 0 {} {}", cells.0, cells.1))
                width=(cells.0 * a.side) height=(cells.1 * a.side)
                role="img" aria-label=(self.title)
                data-width=(width) data-height=(height) data-maps=(self.maps) data-across=(a.across) data-gap=(a.gap) {
                path d=(frames) class="ground" {}
                @for (cell, path) in self.paths(a) {
                    path d=(path) class=(cell.class()) {}
                }
            }
        }
    }

    fn corner(&self, a: Arrangement, map: usize) -> (usize, usize) {
        let (width, height) = self.size;
        (
            map % a.across * (width + a.gap),
            map / a.across * (height + a.gap),
        )
    }

    /// A path for every state there is.
    fn paths(&self, a: Arrangement) -> BTreeMap<Cell, String> {
        let (width, height) = self.size;
        let mut paths: BTreeMap<Cell, String> = BTreeMap::new();
        for (line, row) in self.cells.chunks(width.max(1)).enumerate() {
            let (x, y) = self.corner(a, line / height.max(1));
            let y = y + line % height.max(1);
            let mut start = 0;
            for run in row.chunk_by(|a, b| a == b) {
                let path = paths.entry(run[0]).or_default();
                stroke(path, run[0], (x + start, y), run.len());
                start += run.len();
            }
        }
        paths.remove(&Cell::Nothing);
        paths
    }
}

/// Adds cells of one state that lie side by side. Writing to a string cannot fail.
fn stroke(path: &mut String, cell: Cell, (x, y): (usize, usize), length: usize) {
    match cell {
        Cell::Impossible => {
            let _ = write!(path, "M{x} {y}h{length}v.5h-{length}z");
        }
        Cell::Open => {
            for x in x..x + length {
                let _ = write!(path, "M{x}.2 {y}.2h.6v.6h-.6z");
            }
        }
        _ => {
            let _ = write!(path, "M{x} {y}h{length}v1h-{length}z");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_state_in_a_row_are_one_stroke() {
        let map = CellMap {
            size: (3, 2),
            maps: 1,
            cells: vec![
                Cell::Met,
                Cell::Met,
                Cell::Open,
                Cell::Impossible,
                Cell::Nothing,
                Cell::Met,
            ],
            title: "m".into(),
            room: 1040,
        };
        let text = map.draw().into_string();
        assert!(text.contains("M0 0h2v1h-2zM2 1h1v1h-1z"), "{text}");
        assert!(text.contains("M2.2 0.2h.6v.6h-.6z"), "{text}");
        assert!(text.contains("M0 1h1v.5h-1z"), "{text}");
    }

    #[test]
    fn a_cell_of_many_requirements_shows_how_many_are_met() {
        assert_eq!(Cell::of(10, 0, 0), Cell::Met);
        assert_eq!(Cell::of(10, 5, 0), Cell::Met);
        assert_eq!(Cell::of(0, 5, 0), Cell::Impossible);
        assert_eq!(Cell::of(0, 5, 5), Cell::Open);
        assert_eq!(Cell::of(1, 0, 999), Cell::Part(1));
        assert_eq!(Cell::of(999, 0, 1), Cell::Part(4));
        assert_eq!(Cell::of(0, 0, 0), Cell::Nothing);
    }

    #[test]
    fn many_maps_of_many_cells_stay_within_the_page() {
        for (size, maps) in [((26, 26), 32), ((1, 1), 64), ((200, 1), 1), ((64, 64), 256)] {
            let map = CellMap {
                size,
                maps,
                cells: vec![Cell::Met; size.0 * size.1 * maps],
                title: String::new(),
                room: 1040,
            };
            let a = map.arrangement();
            assert!(a.across * a.down >= maps);
            assert!(a.side >= SMALLEST);
            assert!(a.across == 1 || a.across * a.side * (size.0 + a.gap) <= 1040);
        }
    }
}
