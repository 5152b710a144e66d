//! A strip of regions, one cell each: proven, refuted or open.

use maud::{Markup, html};

use crate::html::number::At;

/// How the question about one region ended.
pub struct Seed {
    /// What a pointer over it says.
    pub words: String,
    /// Where it leads to.
    pub link: Option<String>,
    /// Its class: `met` (proven), `bad` (refuted) or `open`.
    pub class: &'static str,
}

const WIDTH: f64 = 1040.0;
const HEIGHT: f64 = 26.0;
const WIDEST: f64 = 26.0;
const NARROWEST: f64 = 6.0;

/// The strip, in as many rows as it takes.
pub fn strip(seeds: &[Seed], title: &str) -> Markup {
    let each = (WIDTH / seeds.len().max(1) as f64).clamp(NARROWEST, WIDEST);
    let across = (WIDTH / each) as usize;
    let rows = seeds.len().div_ceil(across).max(1);
    let height = rows as f64 * (HEIGHT + 4.0);
    html! {
        svg class="plot strip" viewBox=(format!("0 0 {WIDTH} {}", At(height))) role="img" aria-label=(title) {
            @for (number, seed) in seeds.iter().enumerate() {
                @let x = (number % across) as f64 * each;
                @let y = (number / across) as f64 * (HEIGHT + 4.0);
                @if let Some(link) = &seed.link {
                    a href=(link) { (one(seed, x, y, each)) }
                } @else {
                    (one(seed, x, y, each))
                }
            }
        }
    }
}

fn one(seed: &Seed, x: f64, y: f64, each: f64) -> Markup {
    let (width, inset) = (each - 2.0, each.min(HEIGHT) * 0.3);
    let centre = (x + width / 2.0, y + HEIGHT / 2.0);
    html! {
        rect x=(At(x + 0.75)) y=(At(y + 0.75)) width=(At(width - 1.5)) height=(HEIGHT - 1.5) stroke-width="1.5" class=(seed.class) {
            title { (seed.words) }
        }
        @if seed.class == "bad" {
            @let (a, b) = (inset / 2.0, inset);
            path d=(format!("M{} {}L{} {}M{} {}L{} {}", At(centre.0 - a), At(centre.1 - b), At(centre.0 + a), At(centre.1 + b),
                At(centre.0 - a), At(centre.1 + b), At(centre.0 + a), At(centre.1 - b))) stroke-width="1.5" class="cross" {}
        }
    }
}
