//! What plots share: the frame with its ticks, and the pattern of what is proven impossible.

use maud::{Markup, html};

use crate::html::number::At;

/// Patterns that plots of a page refer to: a page has them once.
pub fn definitions() -> Markup {
    html! {
        svg class="definitions" width="0" height="0" aria-hidden="true" focusable="false" {
            defs {
                pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect width="5" height="5" class="hatch-ground" {}
                    line x1="0" y1="0" x2="0" y2="5" stroke-width="4" class="hatch-line" {}
                }
            }
        }
    }
}

/// Where the data of a plot lie in it.
#[derive(Clone, Copy)]
pub struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Frame {
    /// A place from its shares of width and height, counted from the lower left.
    pub fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.left + x.clamp(0.0, 1.0) * self.width,
            self.top + (1.0 - y.clamp(0.0, 1.0)) * self.height,
        )
    }

    /// The vertical axis: a thin line and a number at each share of the height.
    pub fn vertical(&self, ticks: &[(f64, String)]) -> Markup {
        html! {
            @for (share, words) in ticks {
                @let (x, y) = self.place(0.0, *share);
                line x1=(At(x)) x2=(At(x + self.width)) y1=(At(y)) y2=(At(y)) class="grid" {}
                text x=(At(x - 6.0)) y=(At(y + 4.0)) text-anchor="end" class="tick" { (words) }
            }
        }
    }

    /// The horizontal axis, with its title.
    pub fn horizontal(&self, ticks: &[(f64, String)], title: &str) -> Markup {
        let (left, bottom) = self.place(0.0, 0.0);
        html! {
            line x1=(At(left)) x2=(At(left + self.width)) y1=(At(bottom)) y2=(At(bottom)) class="axis" {}
            @for (share, words) in ticks {
                @let (x, y) = self.place(*share, 0.0);
                line x1=(At(x)) x2=(At(x)) y1=(At(y)) y2=(At(y + 4.0)) class="axis" {}
                text x=(At(x)) y=(At(y + 17.0)) text-anchor="middle" class="tick" { (words) }
            }
            text x=(At(left + self.width)) y=(At(bottom + 34.0)) text-anchor="end" class="axis-title" { (title) }
        }
    }
}
