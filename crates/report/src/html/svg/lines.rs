//! Lines over one axis: coverage over tests and over time, constants, robustness over distance. A line carries its
//! name at its end, so that no legend is needed.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::frame::Frame;
use crate::html::number::{At, count, short, ticks, whole_ticks};

/// How an axis is divided.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Evenly from 0.
    Linear,
    /// By powers of ten from 1.
    Logarithmic,
}

/// A line; it keeps its height until its next point.
pub struct Line {
    /// Its name and value, at its end.
    pub name: String,
    /// Its class in the style sheet.
    pub class: &'static str,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Something that happened at a place of the axis.
pub struct Mark {
    /// Where.
    pub at: f64,
    /// What.
    pub name: String,
}

/// A plot of lines.
pub struct LinePlot<'a> {
    /// For those who cannot see it.
    pub title: &'a str,
    /// The axis below.
    pub axis: Axis,
    /// Where that ends.
    pub end: f64,
    /// Its title, with the unit.
    pub axis_title: &'a str,
    /// Where the upward axis ends: counts of something.
    pub top: f64,
    /// Lines.
    pub lines: Vec<Line>,
    /// Thin vertical lines with names.
    pub marks: Vec<Mark>,
}

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 280.0;
const FRAME: Frame = Frame {
    left: 58.0,
    top: 28.0,
    width: 330.0,
    height: 200.0,
};
/// Lines of text at the ends of lines are so far apart.
const APART: f64 = 14.0;
/// About the width of a letter.
const LETTER: f64 = 6.5;
/// Most points of a line that are drawn.
const POINTS: usize = 240;

impl LinePlot<'_> {
    fn x(&self, value: f64) -> f64 {
        match self.axis {
            Axis::Linear => value / self.end.max(f64::MIN_POSITIVE),
            Axis::Logarithmic => value.max(1.0).log10() / self.end.max(10.0).log10(),
        }
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        match self.axis {
            Axis::Linear => {
                let whole = self.end >= 5.0;
                let words = |tick: f64| {
                    if whole && tick.fract() == 0.0 {
                        count(tick as usize)
                    } else {
                        short(tick)
                    }
                };
                let all = ticks(self.end).into_iter();
                all.map(|tick| (self.x(tick), words(tick))).collect()
            }
            Axis::Logarithmic => (0..6)
                .map(|power| 10_f64.powi(power))
                .filter(|tick| *tick <= self.end.max(10.0))
                .map(|tick| (self.x(tick), count(tick as usize)))
                .collect(),
        }
    }

    /// The drawing.
    pub fn draw(&self) -> Markup {
        let share = |tick: f64| tick / self.top.max(f64::MIN_POSITIVE);
        let up: Vec<(f64, String)> = whole_ticks(self.top)
            .into_iter()
            .map(|tick| (share(tick), count(tick as usize)))
            .collect();
        html! {
            svg class="plot" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.title) {
                (FRAME.vertical(&up))
                (FRAME.horizontal(&self.ticks(), self.axis_title))
                (self.draw_marks())
                @for line in &self.lines {
                    path d=(self.path(line)) class=(format!("line {}", line.class)) {}
                }
                @for (y, line) in self.names() {
                    text x=(At(FRAME.left + FRAME.width + 6.0)) y=(At(y + 4.0)) class=(format!("line-name {}", line.class)) {
                        (line.name)
                    }
                }
            }
        }
    }

    /// Names of what happened: one that would overlap an earlier one stands a line higher, and at the right end
    /// before its line.
    fn draw_marks(&self) -> Markup {
        let mut ends = [f64::NEG_INFINITY; 2];
        let mut shown = Vec::new();
        for mark in &self.marks {
            let (x, _) = FRAME.place(self.x(mark.at), 0.0);
            let width = LETTER * mark.name.chars().count() as f64 + 4.0;
            let before = x + width > FRAME.left + FRAME.width + 10.0;
            let start = if before { x - width } else { x };
            let row = ends.iter().position(|&end| end < start);
            if let Some(row) = row {
                ends[row] = start + width;
            }
            shown.push((x, before, row, mark));
        }
        html! {
            @for (x, before, row, mark) in &shown {
                line x1=(At(*x)) x2=(At(*x)) y1=(At(FRAME.top - 4.0)) y2=(At(FRAME.top + FRAME.height)) class="stage" {
                    title { (mark.name) }
                }
                @if let Some(row) = row {
                    @let (anchor, shift) = if *before { ("end", -3.0) } else { ("start", 3.0) };
                    text x=(At(*x + shift)) y=(At(FRAME.top - 4.0 - 12.0 * *row as f64)) text-anchor=(anchor) class="stage-name" { (mark.name) }
                }
            }
        }
    }

    fn path(&self, line: &Line) -> String {
        let mut path = String::new();
        let stride = line.points.len().div_ceil(POINTS).max(1);
        let mut last = None;
        let points = line.points.len();
        for (number, &(x, y)) in line.points.iter().enumerate() {
            if number % stride != 0 && number + 1 != points {
                continue;
            }
            let (x, y) = FRAME.place(self.x(x), y / self.top.max(f64::MIN_POSITIVE));
            let _ = match last {
                None => write!(path, "M{} {}", At(x), At(y)),
                Some(before) if before == y.to_bits() && number + 1 != points => continue,
                Some(_) => write!(path, "H{}V{}", At(x), At(y)),
            };
            last = Some(y.to_bits());
        }
        path
    }

    /// The names of lines, each at the height where its line ends, moved apart where they would overlap.
    fn names(&self) -> Vec<(f64, &Line)> {
        let end = |line: &Line| {
            let value = line.points.last().map_or(0.0, |point| point.1);
            FRAME.place(1.0, value / self.top.max(f64::MIN_POSITIVE)).1
        };
        let mut names: Vec<(f64, &Line)> = self.lines.iter().map(|l| (end(l), l)).collect();
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        for number in 1..names.len() {
            names[number].0 = names[number].0.max(names[number - 1].0 + APART);
        }
        // Those that were pushed below the axis come up again.
        let mut lowest = FRAME.top + FRAME.height;
        for name in names.iter_mut().rev() {
            name.0 = name.0.min(lowest);
            lowest = name.0 - APART;
        }
        names
    }
}
