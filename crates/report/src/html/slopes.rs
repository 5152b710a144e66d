//! How steep the network is, region by region: pairs that were found beside bounds that are certified.

use deepconcolic_record::SlopeSummary;
use maud::{Markup, html};

use super::number::{At, short};
use super::svg::{Axis, Line, LinePlot};
use super::view::View;

/// Lipschitz: constants refuted and proven, and every region.
pub fn section(view: &View) -> Markup {
    let summary = &view.run.summary;
    let regions = &summary.lipschitz;
    if regions.is_empty() {
        return html! {};
    }
    let plot = constants(regions);
    let random = is_compared(regions);
    let number = |ratio: Option<f64>| ratio.map_or_else(|| "none".into(), short);
    html! {
        section {
            h2 { "How steep the network is" }
            div class="pair" {
                figure {
                    (plot.draw())
                    figcaption { "In how many regions a constant is refuted by a pair that was found, or proven by a certificate. All constants: " code { "lipschitz.csv" } "." }
                }
                @if let Some(svg) = between(regions) {
                    figure {
                        (svg)
                        figcaption { "By sample: the steepest pair found (dot) and the certified bound (bar); what lies between is open." }
                    }
                }
            }
            div class="scroll" {
                table class="sortable numbers" {
                    thead { tr {
                        th scope="col" { "region" } th scope="col" { "steepest found" } th scope="col" { "certified bound" }
                        @if random { th scope="col" { "random" } }
                        th scope="col" { "tests" } th scope="col" { "certificate" }
                    } }
                    tbody {
                        @for region in regions {
                            tr {
                                th scope="row" { @match region.root { Some(root) => { "sample " (root) }, None => (region.region) } }
                                td { (number(region.found)) }
                                td { (number(region.upper)) }
                                @if random { td { (number(region.random)) } }
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

/// Whether random pairs were drawn.
pub fn is_compared(regions: &[SlopeSummary]) -> bool {
    regions.iter().any(|region| region.random.is_some())
}

/// In how many regions each constant is refuted or proven.
pub fn constants(regions: &[SlopeSummary]) -> LinePlot<'static> {
    let steepest = regions.iter().filter_map(|r| r.found).fold(0.0, f64::max);
    let end = if steepest > 0.0 { steepest * 1.5 } else { 20.0 };
    let line = |name: &str, class, points| Line {
        name: name.to_owned(),
        class,
        points,
    };
    let mut lines = vec![
        line("refuted", "bad", below(regions, end, |r| r.found)),
        line("proven", "good", from(regions, end)),
    ];
    if is_compared(regions) {
        let random = below(regions, end, |r| r.random);
        lines.push(line("random pairs", "random", random));
    }
    LinePlot {
        title: "Regions in which each constant is refuted or proven",
        axis: Axis::Linear,
        end,
        axis_title: "Lipschitz constant",
        top: regions.len() as f64,
        lines,
        marks: Vec::new(),
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

pub const BETWEEN: &str = "Steepest pair found and certified bound of each region";

/// For each region what lies between the steepest pair found and the certified bound, on a logarithmic axis.
pub fn between(regions: &[SlopeSummary]) -> Option<Markup> {
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
        return None;
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
    Some(html! {
        svg class="plot" viewBox=(format!("0 0 520 {}", At(height))) role="img" aria-label=(BETWEEN) {
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
    })
}
