//! A matrix of counts: true label by found label.

use maud::{Markup, html};

use crate::html::number::{At, count};

/// Counts by row and column.
pub struct Matrix<'a> {
    /// What rows are called.
    pub rows: &'a [String],
    /// What columns are called.
    pub columns: &'a [String],
    /// Counts, row after row.
    pub counts: &'a [usize],
    /// What rows and columns are.
    pub axes: (&'a str, &'a str),
}

const CELL: f64 = 34.0;
const LABEL: f64 = 96.0;
const TOP: f64 = 44.0;
const LONGEST: usize = 12;

impl Matrix<'_> {
    /// The drawing: darker cells hold more; every count is written.
    pub fn draw(&self) -> Markup {
        let width = LABEL + self.columns.len() as f64 * CELL + 8.0;
        let height = TOP + self.rows.len() as f64 * CELL + 4.0;
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        html! {
            svg class="plot matrix" viewBox=(format!("0 0 {} {}", At(width), At(height))) width=(At(width)) height=(At(height))
                role="img" aria-label=(format!("{} by {}", self.axes.0, self.axes.1)) {
                text x=(At(LABEL + 2.0)) y="14" class="axis-title" { (self.axes.1) }
                text x="0" y=(At(TOP - 8.0)) class="axis-title" { (self.axes.0) }
                @for (column, name) in self.columns.iter().enumerate() {
                    text x=(At(LABEL + (column as f64 + 0.5) * CELL)) y=(At(TOP - 8.0)) text-anchor="middle" class="tick" {
                        title { (name) }
                        (shortened(name, if self.columns.len() > 6 { 4 } else { LONGEST }))
                    }
                }
                @for (row, name) in self.rows.iter().enumerate() {
                    @let y = TOP + row as f64 * CELL;
                    text x=(At(LABEL - 8.0)) y=(At(y + CELL / 2.0 + 4.0)) text-anchor="end" class="tick" { (shortened(name, LONGEST)) }
                    @for column in 0..self.columns.len() {
                        @let number = self.counts.get(row * self.columns.len() + column).copied().unwrap_or(0);
                        (cell(LABEL + column as f64 * CELL, y, number, most))
                    }
                }
            }
        }
    }
}

fn cell(x: f64, y: f64, number: usize, most: usize) -> Markup {
    // Even one of thousands is seen.
    let depth = if number == 0 {
        0
    } else {
        1 + number * 4 / (most + 1)
    };
    html! {
        rect x=(At(x)) y=(At(y)) width=(CELL - 2.0) height=(CELL - 2.0) class=(format!("depth{depth}")) {}
        @if number > 0 {
            text x=(At(x + CELL / 2.0 - 1.0)) y=(At(y + CELL / 2.0 + 3.0)) text-anchor="middle" class=(format!("count on{depth}")) {
                (count(number))
            }
        }
    }
}

fn shortened(name: &str, longest: usize) -> String {
    if name.chars().count() <= longest {
        return name.to_owned();
    }
    let start: String = name.chars().take(longest - 1).collect();
    format!("{start}…")
}
