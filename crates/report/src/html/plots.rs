//! The plots of the first page, each with its table.

use deepconcolic_record::SlopeSummary;
use maud::{Markup, html};

use super::number::{At, count, percent, plural, seconds, share, short};
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

/// Coverage over tests and over seconds.
pub fn growth(view: &View) -> Markup {
    let summary = &view.run.summary;
    if view.is_property() || view.is_mixed() || summary.requirements.total == 0 {
        return html! {};
    }
    let has_time = !view.curve.seconds.is_empty();
    html! {
        section {
            h2 { "How coverage grew" }
            div class="pair" {
                figure {
                    (over_tests(view).draw())
                    figcaption { "Requirements met by the first so many tests, by the test that shows each clear of rounding." }
                    (behind("As a table", &tests_table(view)))
                }
                @if has_time {
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

fn over_tests(view: &View) -> LinePlot<'_> {
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

fn over_seconds(view: &View) -> LinePlot<'_> {
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
    html! {
        section {
            h2 { "Adversarial inputs" }
            div class="pair" {
                figure {
                    (histogram(&distances, Some(radius), &axis))
                    figcaption { (what) " " a href=(links.page("adversarial")) { "All of them" } }
                }
                (confusion(view))
            }
        }
    }
}

/// Adversarial inputs that were looked for beside the suite, or tests of the suite.
fn of_kind(view: &View, beside: bool) -> Vec<&Adversarial> {
    let all = view.adversarial.iter();
    all.filter(|a| matches!(a.source, Source::Nearest(_)) == beside)
        .collect()
}

fn confusion(view: &View) -> Markup {
    let tests = of_kind(view, false);
    let mut classes: Vec<i64> = tests
        .iter()
        .flat_map(|a| [a.truth, a.found])
        .filter(|&c| c >= 0)
        .collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.is_empty() {
        return html! {};
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
    html! {
        figure {
            (matrix.draw())
            figcaption {
                "Adversarial tests by their true label and what the network says."
                @if rest > 0 { " " (count(rest)) " more classes are left out here." }
            }
        }
    }
}

/// Safety: a strip of regions, and how many are refuted within each distance.
pub fn safety(view: &View, links: &Links<'_>) -> Markup {
    if !view.is_property() || !view.run.summary.lipschitz.is_empty() || view.named.is_empty() {
        return html! {};
    }
    let mut rows: Vec<(Option<f64>, &Named)> = view
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
        let key = |row: &(Option<f64>, &Named)| row.0.unwrap_or(f64::INFINITY);
        rank(a.1.verdict)
            .cmp(&rank(b.1.verdict))
            .then(key(a).total_cmp(&key(b)))
    });
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
            link: Some(links.place("requirements", &format!("row-{}", named.row))),
            class: match named.verdict {
                Verdict::Refuted | Verdict::Covered => "bad",
                Verdict::Proven | Verdict::Impossible => "met",
                Verdict::Open => "open",
            },
        })
        .collect();
    html! {
        section {
            h2 { "Seed by seed" }
            figure {
                (strip(&seeds, "Seeds, refuted ones by distance, then open, then proven"))
                figcaption { "One cell a seed: ✕ refuted (the nearest found first), outline open, filled proven. " a href=(links.page("requirements")) { "As a table" } }
            }
            (robustness(view, &rows))
        }
    }
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

fn robustness(view: &View, rows: &[(Option<f64>, &Named)]) -> Markup {
    let summary = &view.run.summary;
    let mut distances: Vec<f64> = rows.iter().filter_map(|row| row.0).collect();
    distances.sort_by(f64::total_cmp);
    let total = rows.len() as f64;
    let end = summary
        .radius
        .unwrap_or(0.0)
        .max(distances.last().copied().unwrap_or(0.0));
    if distances.is_empty() || end <= 0.0 {
        return html! {};
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
        title: "Seeds refuted within a distance",
        axis: Axis::Linear,
        end,
        axis_title: &axis_title,
        top: total,
        lines,
        marks: Vec::new(),
    };
    html! {
        div class="pair" {
            figure {
                (plot.draw())
                figcaption { "Seeds for which an input within the distance has another answer; the line above is what certificates leave possible within the radius." }
            }
        }
    }
}

/// Lipschitz: constants refuted and proven, and every region.
pub fn slopes(view: &View) -> Markup {
    let summary = &view.run.summary;
    let regions = &summary.lipschitz;
    if regions.is_empty() {
        return html! {};
    }
    let steepest = regions.iter().filter_map(|r| r.found).fold(0.0, f64::max);
    let end = if steepest > 0.0 { steepest * 1.5 } else { 20.0 };
    let line = |name: &str, class, points| Line {
        name: name.to_owned(),
        class,
        points,
    };
    let plot = LinePlot {
        title: "Regions in which each constant is refuted or proven",
        axis: Axis::Linear,
        end,
        axis_title: "Lipschitz constant",
        top: regions.len() as f64,
        lines: vec![
            line("refuted", "bad", below(regions, end, |r| r.found)),
            line("proven", "good", from(regions, end)),
            line("random pairs", "random", below(regions, end, |r| r.random)),
        ],
        marks: Vec::new(),
    };
    let number = |ratio: Option<f64>| ratio.map_or_else(|| "none".into(), short);
    html! {
        section {
            h2 { "How steep the network is" }
            div class="pair" {
                figure {
                    (plot.draw())
                    figcaption { "In how many regions a constant is refuted by a pair that was found, or proven by a certificate. All constants: " code { "lipschitz.csv" } "." }
                }
                (between(regions))
            }
            div class="scroll" {
                table class="sortable numbers" {
                    thead { tr {
                        th scope="col" { "region" } th scope="col" { "steepest found" } th scope="col" { "certified bound" }
                        th scope="col" { "random" } th scope="col" { "tests" } th scope="col" { "certificate" }
                    } }
                    tbody {
                        @for region in regions {
                            tr {
                                th scope="row" { @match region.root { Some(root) => { "sample " (root) }, None => (region.region) } }
                                td { (number(region.found)) }
                                td { (number(region.upper)) }
                                td { (number(region.random)) }
                                td { @if region.test >= 0 { (region.test) ", " (region.test2) } @else { "none" } }
                                td { @if region.certificate >= 0 { (format!("{:05}", region.certificate)) } @else { "none" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// In how many regions a ratio lies above each constant.
fn below(
    regions: &[SlopeSummary],
    end: f64,
    of: fn(&SlopeSummary) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let mut ratios: Vec<f64> = regions.iter().filter_map(of).collect();
    ratios.sort_by(f64::total_cmp);
    let mut points = vec![(0.0, ratios.len() as f64)];
    for (number, ratio) in ratios.iter().enumerate() {
        points.push((*ratio, (ratios.len() - number - 1) as f64));
    }
    points.push((end, points.last().map_or(0.0, |point| point.1)));
    points
}

/// In how many regions a certificate shows that no ratio is above each constant.
fn from(regions: &[SlopeSummary], end: f64) -> Vec<(f64, f64)> {
    let mut bounds: Vec<f64> = regions
        .iter()
        .filter_map(|r| r.upper)
        .filter(|u| *u <= end)
        .collect();
    bounds.sort_by(f64::total_cmp);
    let mut points = vec![(0.0, 0.0)];
    points.extend(
        bounds
            .iter()
            .enumerate()
            .map(|(n, &bound)| (bound, n as f64 + 1.0)),
    );
    points.push((end, bounds.len() as f64));
    points
}

/// Most regions drawn one below the other.
const REGIONS: usize = 30;

/// For each region what lies between the steepest pair found and the certified bound, on a logarithmic axis.
fn between(regions: &[SlopeSummary]) -> Markup {
    let mut known: Vec<(f64, Option<f64>, String)> = regions
        .iter()
        .filter_map(|r| {
            let name = r
                .root
                .map_or_else(|| r.region.clone(), |root| root.to_string());
            Some((r.found.filter(|f| *f > 0.0)?, r.upper, name))
        })
        .collect();
    known.sort_by(|a, b| b.0.total_cmp(&a.0));
    known.truncate(REGIONS);
    let ends = known
        .iter()
        .flat_map(|(found, upper, _)| [Some(*found), *upper])
        .flatten();
    let (low, high) = ends.fold((f64::INFINITY, 0.0_f64), |(low, high), n| {
        (low.min(n), high.max(n))
    });
    if known.is_empty() || high <= 0.0 {
        return html! {};
    }
    let (low, high) = (low / 1.3, high * 1.3);
    let x = |value: f64| 80.0 + 420.0 * ((value / low).ln() / (high / low).ln()).clamp(0.0, 1.0);
    let each = 17.0;
    let height = known.len() as f64 * each + 44.0;
    let powers = (-6..9).flat_map(|p| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(p)));
    let mut marks: Vec<f64> = powers.filter(|m| (low..=high).contains(m)).collect();
    while marks.len() > 6 {
        marks = marks.into_iter().step_by(2).collect();
    }
    html! {
        figure {
            svg class="plot" viewBox=(format!("0 0 520 {}", At(height))) role="img" aria-label="Steepest pair found and certified bound of each region" {
                @for mark in &marks {
                    line x1=(At(x(*mark))) x2=(At(x(*mark))) y1="4" y2=(At(height - 38.0)) class="grid" {}
                    text x=(At(x(*mark))) y=(At(height - 24.0)) text-anchor="middle" class="tick" { (short(*mark)) }
                }
                text x="500" y=(At(height - 6.0)) text-anchor="end" class="axis-title" { "ratio (logarithmic)" }
                @for (row, (found, upper, name)) in known.iter().enumerate() {
                    @let y = row as f64 * each + 12.0;
                    text x="72" y=(At(y + 4.0)) text-anchor="end" class="tick" { (name) }
                    @if let Some(upper) = upper {
                        line x1=(At(x(*found))) x2=(At(x(*upper))) y1=(At(y)) y2=(At(y)) class="line open-range" {}
                        line x1=(At(x(*upper))) x2=(At(x(*upper))) y1=(At(y - 5.0)) y2=(At(y + 5.0)) class="line good" {}
                    }
                    circle cx=(At(x(*found))) cy=(At(y)) r="4" class="bad" {
                        title { "found " (short(*found)) @if let Some(upper) = upper { ", at most " (short(*upper)) } }
                    }
                }
            }
            figcaption { "By sample: the steepest pair found (dot) and the certified bound (bar); what lies between is open." }
        }
    }
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

fn pair_map(map: &PairMap) -> Markup {
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
