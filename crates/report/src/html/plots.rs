//! The plots of the first page, each with its table.

use maud::{Markup, html};

use super::number::{count, percent, plural, seconds, share, short};
use super::page::{Links, behind};
use super::svg::{Axis, Cell, CellMap, Line, LinePlot, Mark, Matrix, Seed, histogram, strip};
use super::view::{Adversarial, Named, PairMap, Source, Verdict, View};
use super::words;

/// Most rows of a table behind a plot.
const ROWS: usize = 24;
/// Most classes of a matrix.
const CLASSES: usize = 24;

/// The longer side of a matrix of pairs, in pixels.
const MATRIX: usize = 500;

/// Some of many, evenly, with the first and the last.
fn some<T>(all: &[T]) -> Vec<&T> {
    let stride = all.len().div_ceil(ROWS).max(1);
    let last = all.len().saturating_sub(1);
    let shown = all.iter().enumerate();
    shown
        .filter(|(number, _)| number % stride == 0 || *number == last)
        .map(|(_, one)| one)
        .collect()
}

/// Whether there is a share that could have grown.
pub fn has_growth(view: &View) -> bool {
    let nothing = view.run.summary.requirements.total == 0;
    !(view.is_property() || view.is_mixed() || nothing)
}

pub fn has_seconds(view: &View) -> bool {
    !view.curve.seconds.is_empty()
}

/// Coverage over tests and over seconds.
pub fn growth(view: &View) -> Markup {
    if !has_growth(view) {
        return html! {};
    }
    html! {
        section {
            h2 { "How coverage grew" }
            div class="pair" {
                figure {
                    (over_tests(view).draw())
                    figcaption { "Requirements met by the first so many tests, by the test that shows each clear of rounding." }
                    (behind("As a table", &tests_table(view)))
                }
                @if has_seconds(view) {
                    figure {
                        (over_seconds(view).draw())
                        figcaption { "The same over seconds of work, and requirements proven impossible." }
                        (behind("As a table", &seconds_table(view)))
                    }
                }
            }
        }
    }
}

fn level(name: &str, class: &'static str, part: f64, total: f64, end: f64) -> Line {
    Line {
        name: format!("{name} {}", share(part)),
        class,
        points: vec![(0.0, part * total), (end, part * total)],
    }
}

pub fn over_tests(view: &View) -> LinePlot<'_> {
    let summary = &view.run.summary;
    let total = summary.requirements.total as f64;
    let tests = view.run.suite.len().max(10) as f64;
    let points = view.curve.tests.iter().filter(|(tests, _)| *tests > 0);
    let mut lines = vec![Line {
        name: format!("tests {}", share(summary.coverage)),
        class: "good",
        points: points.map(|&(t, met)| (t as f64, met as f64)).collect(),
    }];
    let baseline = &summary.baseline;
    lines.extend(
        baseline
            .random_coverage
            .map(|r| level("random", "random", r, total, tests)),
    );
    lines.extend(
        baseline
            .data_coverage
            .map(|d| level("data", "data", d, total, tests)),
    );
    let mut marks = vec![];
    for &(test, name) in &view.curve.stages {
        marks.push(Mark {
            at: test as f64,
            name: name.to_owned(),
        });
    }
    LinePlot {
        title: "Requirements met over tests",
        axis: Axis::Logarithmic,
        end: tests,
        axis_title: "tests (logarithmic)",
        top: total,
        lines,
        marks,
    }
}

pub fn over_seconds(view: &View) -> LinePlot<'_> {
    let summary = &view.run.summary;
    let total = summary.requirements.total as f64;
    let points = &view.curve.seconds;
    let end = points.last().map_or(1.0, |p| p.0).max(1e-3);
    let mut lines = vec![Line {
        name: format!("tests {}", share(summary.coverage)),
        class: "good",
        points: points.iter().map(|&(s, met, _)| (s, met as f64)).collect(),
    }];
    if points.last().is_some_and(|p| p.2 > 0) {
        lines.push(Line {
            name: format!("proofs {}", share(summary.resolved)),
            class: "proofs",
            points: points
                .iter()
                .map(|&(s, met, proven)| (s, (met + proven) as f64))
                .collect(),
        });
    }
    let marks = view.curve.began.iter().map(|&(at, name)| Mark {
        at,
        name: name.to_owned(),
    });
    LinePlot {
        title: "Requirements met over time",
        axis: Axis::Linear,
        end,
        axis_title: "seconds",
        top: total,
        lines,
        marks: marks.collect(),
    }
}

fn tests_table(view: &View) -> Markup {
    let total = view.run.summary.requirements.total;
    html! {
        table class="numbers" {
            thead { tr { th scope="col" { "tests" } th scope="col" { "met" } th scope="col" { "share" } } }
            tbody {
                @for (tests, met) in some(&view.curve.tests) {
                    tr { td { (count(*tests)) } td { (count(*met)) } td { (percent(*met, total)) } }
                }
            }
        }
    }
}

fn seconds_table(view: &View) -> Markup {
    let total = view.run.summary.requirements.total;
    html! {
        table class="numbers" {
            thead { tr { th scope="col" { "time" } th scope="col" { "met" } th scope="col" { "share" } th scope="col" { "proven impossible" } } }
            tbody {
                @for (clock, met, proven) in some(&view.curve.seconds) {
                    tr { td { (seconds(*clock)) } td { (count(*met)) } td { (percent(*met, total)) } td { (count(*proven)) } }
                }
            }
        }
    }
}

/// What tests are taken for, and how near they are.
pub fn mistakes(view: &View, links: &Links<'_>) -> Markup {
    if view.adversarial.is_empty() {
        return html! {};
    }
    let (svg, what) = distances(view);
    html! {
        section {
            h2 { "Adversarial inputs" }
            div class="pair" {
                figure {
                    (svg)
                    figcaption { (what) " " a href=[links.page("adversarial")] { "All of them" } }
                }
                @if let Some((svg, rest)) = confusion(view) {
                    figure {
                        (svg)
                        figcaption {
                            (CONFUSION)
                            @if rest > 0 { " " (count(rest)) " more classes are left out here." }
                        }
                    }
                }
            }
        }
    }
}

/// How near adversarial inputs are, and which ones these are.
pub fn distances(view: &View) -> (Markup, &'static str) {
    let nearest = of_kind(view, true);
    let (shown, what) = match nearest.as_slice() {
        [] => (
            of_kind(view, false),
            "How near the adversarial tests of the suite are.",
        ),
        _ => (
            nearest,
            "How near the nearest adversarial input found for each seed is.",
        ),
    };
    let distances: Vec<f64> = shown.iter().map(|a| a.distance).collect();
    let radius = view
        .run
        .summary
        .radius
        .unwrap_or(view.run.settings.adversarial_radius);
    let axis = format!("distance ({})", words::norm(&view.run.summary.norm));
    (histogram(&distances, Some(radius), &axis), what)
}

/// Adversarial inputs that were looked for beside the suite, or tests of the suite.
fn of_kind(view: &View, beside: bool) -> Vec<&Adversarial> {
    let all = view.adversarial.iter();
    all.filter(|a| matches!(a.source, Source::Nearest(_)) == beside)
        .collect()
}

pub const CONFUSION: &str = "Adversarial tests by their true label and what the network says.";

/// What tests are taken for, and how many classes there is no room for.
pub fn confusion(view: &View) -> Option<(Markup, usize)> {
    let tests = of_kind(view, false);
    let mut classes: Vec<i64> = tests
        .iter()
        .flat_map(|a| [a.truth, a.found])
        .filter(|&c| c >= 0)
        .collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.is_empty() {
        return None;
    }
    let rest = classes.len().saturating_sub(CLASSES);
    classes.truncate(CLASSES);
    let mut counts = vec![0; classes.len() * classes.len()];
    for adversarial in tests {
        let place = |class: i64| classes.iter().position(|&c| c == class);
        if let (Some(truth), Some(found)) = (place(adversarial.truth), place(adversarial.found)) {
            counts[truth * classes.len() + found] += 1;
        }
    }
    let names: Vec<String> = classes.iter().map(|&class| view.class(class)).collect();
    let matrix = Matrix {
        rows: &names,
        columns: &names,
        counts: &counts,
        axes: ("true label", "taken for"),
    };
    Some((matrix.draw(), rest))
}

/// Whether there are regions round seeds, each with a verdict.
pub fn has_seeds(view: &View) -> bool {
    view.is_property() && view.run.summary.lipschitz.is_empty() && !view.named.is_empty()
}

/// Safety: a strip of regions, and how many are refuted within each distance.
pub fn safety(view: &View, links: &Links<'_>) -> Markup {
    if !has_seeds(view) {
        return html! {};
    }
    let rows = seed_by_seed(view);
    html! {
        section {
            h2 { "Seed by seed" }
            figure {
                (seeds(&rows, links))
                figcaption { "One cell a seed: ✕ refuted (the nearest found first), outline open, filled proven. " a href=[links.page("requirements")] { "As a table" } }
            }
            @if let Some(svg) = robustness(view, &rows) {
                div class="pair" {
                    figure {
                        (svg)
                        figcaption {
                            "Seeds for which an input within the distance was found to have another answer"
                            @if view.run.summary.requirements.infeasible > 0 { "; the line above is what certificates leave possible within the radius" }
                            "."
                        }
                    }
                }
            }
        }
    }
}

/// A region with the distance of its nearest refutation.
pub type Row<'a> = (Option<f64>, &'a Named);

/// Regions, refuted ones by distance, then open, then proven.
pub fn seed_by_seed(view: &View) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = view
        .named
        .iter()
        .map(|named| (found_distance(view, named), named))
        .collect();
    let rank = |verdict: Verdict| match verdict {
        Verdict::Refuted | Verdict::Covered => 0,
        Verdict::Open => 1,
        Verdict::Proven | Verdict::Impossible => 2,
    };
    rows.sort_by(|a, b| {
        let key = |row: &Row<'_>| row.0.unwrap_or(f64::INFINITY);
        rank(a.1.verdict)
            .cmp(&rank(b.1.verdict))
            .then(key(a).total_cmp(&key(b)))
    });
    rows
}

pub const SEEDS: &str = "Seeds, refuted ones by distance, then open, then proven";

pub fn seeds(rows: &[Row<'_>], links: &Links<'_>) -> Markup {
    let seeds: Vec<Seed> = rows
        .iter()
        .map(|(distance, named)| Seed {
            words: match distance {
                Some(distance) => format!(
                    "{}: {} at {}",
                    named.name,
                    named.verdict.word(),
                    short(*distance)
                ),
                None => format!("{}: {}", named.name, named.verdict.word()),
            },
            link: links.place("requirements", &format!("row-{}", named.row)),
            class: match named.verdict {
                Verdict::Refuted | Verdict::Covered => "bad",
                Verdict::Proven | Verdict::Impossible => "met",
                Verdict::Open => "open",
            },
        })
        .collect();
    strip(&seeds, SEEDS)
}

/// The distance of the nearest refutation that is known.
fn found_distance(view: &View, named: &Named) -> Option<f64> {
    let run = &view.run;
    let test = *named.tests.first()?;
    let of_suite = f64::from(*run.suite.distance.get(test)?);
    let root = run.suite.provenance.root.get(test)?;
    let nearest = run.nearest_adversarial.as_ref().and_then(|table| {
        let row = table.root.iter().position(|r| r == root)?;
        Some(table.distance[row])
    });
    let others = run
        .suite
        .adversarial()
        .filter(|&t| run.suite.provenance.root[t] == *root);
    let others = others.map(|t| f64::from(run.suite.distance[t]));
    Some(others.chain(nearest).fold(of_suite, f64::min))
}

pub const ROBUSTNESS: &str = "Seeds refuted within a distance";

/// How many seeds are refuted within each distance, and how many at most; none where none is.
pub fn robustness(view: &View, rows: &[Row<'_>]) -> Option<Markup> {
    let summary = &view.run.summary;
    let mut distances: Vec<f64> = rows.iter().filter_map(|row| row.0).collect();
    distances.sort_by(f64::total_cmp);
    let total = rows.len() as f64;
    let end = summary
        .radius
        .unwrap_or(0.0)
        .max(distances.last().copied().unwrap_or(0.0));
    if distances.is_empty() || end <= 0.0 {
        return None;
    }
    let mut points = vec![(0.0, 0.0)];
    points.extend(
        distances
            .iter()
            .enumerate()
            .map(|(n, &d)| (d, n as f64 + 1.0)),
    );
    points.push((end, distances.len() as f64));
    let proven = summary.requirements.infeasible as f64;
    let mut lines = vec![Line {
        name: format!("refuted {}", distances.len()),
        class: "bad",
        points,
    }];
    if proven > 0.0 {
        lines.push(Line {
            name: format!("at most {}", count((total - proven) as usize)),
            class: "proofs",
            points: vec![(0.0, total - proven), (end, total - proven)],
        });
    }
    let axis_title = format!("distance to the seed ({})", words::norm(&summary.norm));
    let plot = LinePlot {
        title: ROBUSTNESS,
        axis: Axis::Linear,
        end,
        axis_title: &axis_title,
        top: total,
        lines,
        marks: Vec::new(),
    };
    Some(plot.draw())
}

/// Pairs of neurons: conditions by decisions.
pub fn pairs(view: &View) -> Markup {
    html! {
        @if !view.pairs.is_empty() {
            section {
                h2 { "Conditions and decisions" }
                p class="small" { "Down: the condition's neurons; across: the decision's. Full cells are covered as densely as any, paler ones less; striped ones only pairs proven impossible; empty ones none of either." }
                @for map in &view.pairs { (pair_map(map)) }
            }
        }
    }
}

/// Pairs of two layers as cells, and how many covered pairs the fullest of them holds.
pub fn pair_drawing(map: &PairMap) -> (CellMap, usize) {
    let most = map.counts.iter().map(|(met, _)| *met).max().unwrap_or(0);
    // Bins hold one neuron more or less than others: what counts is how much of a bin is covered.
    let bins = || map.counts.iter().enumerate();
    let densest = bins()
        .map(|(bin, (met, _))| map.density(bin, *met))
        .fold(0.0, f64::max);
    let cell = |(bin, &(met, impossible)): (usize, &(usize, usize))| match (met, impossible) {
        (0, 0) => Cell::Nothing,
        (0, _) => Cell::Impossible,
        (met, _) => match map.density(bin, met) / densest {
            share if share >= 1.0 => Cell::Met,
            share => Cell::Part(((share * 5.0) as u8).clamp(1, 4)),
        },
    };
    let drawing = CellMap {
        size: map.bins,
        maps: 1,
        cells: bins().map(cell).collect(),
        title: format!("Pairs of {} and {}", map.before, map.layer),
        // Neither wider nor higher.
        room: MATRIX * map.bins.0 / map.bins.0.max(map.bins.1).max(1),
    };
    (drawing, most)
}

fn pair_map(map: &PairMap) -> Markup {
    let (drawing, most) = pair_drawing(map);
    let binned = map.room() > 1;
    html! {
        figure {
            h3 { @if let Some(criterion) = &map.criterion { (criterion) ": " } (map.before) " → " (map.layer) }
            div class="scroll" { (drawing.draw()) }
            figcaption {
                (plural(map.neurons.0, "condition", "conditions")) ", " (plural(map.neurons.1, "decision", "decisions")) ": "
                (plural(map.met, "pair", "pairs")) " covered, " (count(map.impossible)) " proven impossible."
                @if binned { " Up to " (count(map.room())) " pairs a cell; at most " (count(most)) " of them covered." }
            }
        }
    }
}
