//! Stacked bars: what came of the requirements of each layer, with ticks for what random inputs and the data cover.
//! Names and counts are text beside them, so that they stay readable on a narrow screen.

use maud::{Markup, html};

use crate::html::number::{At, count};

/// One bar.
pub struct Bar {
    /// What it is about.
    pub name: String,
    /// Where its name leads to.
    pub link: Option<String>,
    /// Requirements.
    pub total: usize,
    /// Met by a test.
    pub met: usize,
    /// Proven.
    pub impossible: usize,
    /// The rest.
    pub open: usize,
    /// What random inputs meet.
    pub random: Option<usize>,
    /// What the data meet.
    pub data: Option<usize>,
    /// What stands at its end.
    pub words: String,
}

/// What tests that meet a requirement mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// They are wanted.
    Goal,
    /// They refute something.
    Property,
}

/// A bar is stretched to the width there is: so many units are all of it.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 22.0;
const TOP: f64 = 3.0;
const BAR: f64 = 16.0;
/// What is open is never too small to be seen.
const LEAST: f64 = 5.0;

/// All of them, one below the other, each as long as all others: they show shares.
pub fn bars(bars: &[Bar], meaning: Meaning) -> Markup {
    html! {
        div class="bars" {
            @for bar in bars {
                div class="bar" {
                    @match &bar.link {
                        Some(link) => a class="bar-name" href=(link) { (bar.name) },
                        None => span class="bar-name" { (bar.name) },
                    }
                    (one(bar, meaning))
                    span class="bar-words" { (bar.words) }
                }
            }
        }
    }
}

fn one(bar: &Bar, meaning: Meaning) -> Markup {
    let scale = WIDTH / bar.total.max(1) as f64;
    let (met, impossible, open) = (
        bar.met as f64 * scale,
        bar.impossible as f64 * scale,
        bar.open as f64 * scale,
    );
    let (first, second) = match meaning {
        Meaning::Goal => ("met", None),
        Meaning::Property => ("bad", Some("met")),
    };
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(format!("{}: {}", bar.name, bar.words)) {
            @if met > 0.0 { rect x="0" y=(TOP) width=(At(met)) height=(BAR) class=(first) {} }
            @if impossible > 0.0 {
                @match second {
                    Some(class) => rect x=(At(met)) y=(TOP) width=(At(impossible)) height=(BAR) class=(class) {},
                    None => rect x=(At(met)) y=(TOP) width=(At(impossible)) height=(BAR) fill="url(#hatch)" {},
                }
            }
            @if open > 0.0 {
                @let shown = open.max(LEAST);
                rect x=(At(met + impossible + open - shown + 1.0)) y=(TOP + 0.75) width=(At((shown - 2.0).max(1.0))) height=(BAR - 1.5)
                    stroke-width="1.5" vector-effect="non-scaling-stroke" class="open" {}
            }
            @if let Some(random) = bar.random { (tick(random as f64 * scale, "tick-random")) }
            @if let Some(data) = bar.data { (tick(data as f64 * scale, "tick-data")) }
        }
    }
}

fn tick(x: f64, class: &str) -> Markup {
    // At the very end half of the line would be outside.
    let x = x.clamp(1.0, WIDTH - 1.0);
    html! {
        line x1=(At(x)) x2=(At(x)) y1="0" y2=(HEIGHT) vector-effect="non-scaling-stroke" class=(class) {}
    }
}

/// The counts of a bar, for its end.
pub fn words(met: usize, impossible: usize, open: usize, names: [&str; 3]) -> String {
    let parts = [(met, names[0]), (impossible, names[1]), (open, names[2])];
    let shown = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| format!("{} {name}", count(*number)));
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() {
        "nothing required".into()
    } else {
        shown.join(", ")
    }
}
