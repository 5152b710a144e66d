//! `layer-NAME.html`: the neurons of a layer as maps, and which test or certificate shows what of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use deepconcolic::State;
use deepconcolic_record::{CriterionSummary, LayerSummary};
use maud::{Markup, html};

use super::accounts::GOAL;
use super::number::{count, percent, plural, short};
use super::page::{Links, Page};
use super::svg::{Cell, CellMap};
use super::view::{Layer, NeuronState, Neurons, View};

/// The width of a map, in pixels.
const ROOM: usize = 1040;
/// Letters of a list of neurons that are shown at once.
const SHOWN: usize = 400;
/// Most cells of the maps of a layer: a layer with more neurons shows blocks of them, so that pages of any network open
/// at once.
const CELLS: usize = 32_768;
/// Most runs of neurons that a row of such a layer lists.
const RUNS: usize = 200;

/// The pages of all layers whose requirements are about neurons.
pub fn pages(view: &View, links: &Links<'_>) -> Vec<Page> {
    let shown = view.layers.iter().enumerate();
    shown
        .filter_map(|(number, layer)| {
            let neurons = layer.neurons.as_ref()?;
            Some(Page {
                name: layer.page.clone(),
                title: layer.summary.name.clone(),
                listed: false,
                body: body(view, number, layer, neurons, links),
            })
        })
        .collect()
}

fn body(view: &View, number: usize, layer: &Layer, neurons: &Neurons, links: &Links<'_>) -> Markup {
    let s = &layer.summary;
    // What is asked of neurons are goals, also beside criteria that are properties.
    let words = GOAL;
    let (height, width, maps) = neurons.size;
    let block = block(neurons.size);
    html! {
        p class="crumbs" {
            a href=[links.page("index")] { "Summary" } " / layers / " (s.name)
            @if let Some(before) = other(view, number.checked_sub(1)) { " · " a href=[links.page(&before.page)] rel="prev" { "← " (before.summary.name) } }
            @if let Some(next) = other(view, number.checked_add(1)) { " · " a href=[links.page(&next.page)] rel="next" { (next.summary.name) " →" } }
        }
        h1 { (s.name) span class="criterion" { (view.run.summary.criterion.replace(',', ", ")) } }
        @for (criterion, s) in accounts(view, layer) {
            p class="headline" {
                @if let Some(criterion) = criterion { (criterion) ": " }
                (count(s.covered)) " of " (plural(s.total, "requirement", "requirements")) " " (words[0]) " ("
                (percent(s.covered, s.total.saturating_sub(s.infeasible))) " of what is not proven impossible), "
                (count(s.infeasible)) " " (words[1]) ", " (count(s.unresolved)) " " (words[2]) "."
            }
        }
        figure {
            div class="scroll map-holder" data-each=(neurons.each) data-order=(if neurons.map_by_map { "maps" } else { "places" }) { (map(layer, neurons, block).draw()) }
            @if block == 1 { p class="readout js-only" id="readout" aria-live="polite" { "Point at a cell." } }
            figcaption {
                @if maps > 1 { (plural(maps, "feature map", "feature maps")) " of " (height) " × " (width) " neurons, in their order" }
                @else { (plural(neurons.states.len(), "neuron", "neurons")) ", in their order" }
                @if block > 1 { "; a cell stands for " (block) " × " (block) " neurons, paler cells have fewer " (words[0]) }
                @if neurons.each > 1 { "; " (count(neurons.each)) " requirements a neuron, paler cells have fewer " (words[0]) }
                @if !view.pairs.is_empty() { "; pairs of neurons are not among them" }
                "."
            }
            p class="key" {
                span { i class="mark met" {} " " (words[0]) }
                span { i class="mark impossible" {} " " (words[1]) }
                span { i class="mark open" {} " " (words[2]) }
            }
        }
        (evidence(view, layer, neurons))
    }
}

/// What came of the layer, criterion by criterion where there are several.
fn accounts<'v>(view: &'v View, layer: &'v Layer) -> Vec<(Option<&'v str>, &'v LayerSummary)> {
    let criteria = &view.run.summary.criteria;
    if criteria.is_empty() {
        return vec![(None, &layer.summary)];
    }
    let of_criterion = |criterion: &'v CriterionSummary| {
        let mut layers = criterion.layers.iter();
        let mine = layers.find(|other| other.name == layer.summary.name)?;
        Some((Some(criterion.criterion.as_str()), mine))
    };
    criteria.iter().filter_map(of_criterion).collect()
}

/// The neurons of a layer as a map, where the run has a verdict for each.
pub fn drawing(layer: &Layer) -> Option<CellMap> {
    let neurons = layer.neurons.as_ref()?;
    Some(map(layer, neurons, block(neurons.size)))
}

fn other(view: &View, number: Option<usize>) -> Option<&Layer> {
    view.layers
        .get(number?)
        .filter(|layer| layer.neurons.is_some())
}

/// Neurons along the side of a block that is drawn as one cell.
fn block((height, width, maps): (usize, usize, usize)) -> usize {
    let cells = |side: &usize| height.div_ceil(*side) * width.div_ceil(*side) * maps;
    let sides = 1..height.max(width).max(1);
    sides
        .into_iter()
        .find(|side| cells(side) <= CELLS)
        .unwrap_or(height.max(width).max(1))
}

fn map(layer: &Layer, neurons: &Neurons, block: usize) -> CellMap {
    let (height, width, maps) = neurons.size;
    let (down, across) = (height.div_ceil(block), width.div_ceil(block));
    let mut states = vec![NeuronState::default(); down * across * maps];
    for map in 0..maps {
        for row in 0..height {
            for column in 0..width {
                if let Some(&state) = neurons.states.get(neurons.at(map, row, column)) {
                    let cell = (map * down + row / block) * across + column / block;
                    states[cell].add(state);
                }
            }
        }
    }
    let cell = |state: &NeuronState| Cell::of(state.met, state.impossible, state.open);
    CellMap {
        size: (across, down),
        maps,
        cells: states.iter().map(cell).collect(),
        title: format!("Neurons of {}", layer.summary.name),
        room: ROOM,
    }
}

/// What shows the state of neurons, and of which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    Open,
    Certificate(i32),
    Test(i32),
    /// So many requirements of a neuron ended so.
    Counts(usize, usize, usize),
}

/// Which neurons each test covers first, each certificate excludes, and which are open.
fn evidence(view: &View, layer: &Layer, neurons: &Neurons) -> Markup {
    let mut shown: BTreeMap<Shown, Vec<usize>> = BTreeMap::new();
    for (neuron, &state) in neurons.states.iter().enumerate() {
        if let Some(key) = key(view, neurons, neuron, state) {
            shown.entry(key).or_default().push(neuron);
        }
    }
    let most = (block(neurons.size) > 1).then_some(RUNS);
    let heading = if neurons.each == 1 {
        "Which test shows which neuron"
    } else {
        "Neurons by what came of their requirements"
    };
    html! {
        section {
            h2 { (heading) }
            @if neurons.each == 1 {
                p class="small" { "A neuron stands with the first test that covers it clear of rounding. Rows are those of " code { "suite.npz" } "." }
            }
            div class="scroll" {
                table class="sortable evidence" id="evidence" {
                    thead { tr {
                        th scope="col" { "shown by" } th scope="col" { "state" } th scope="col" { "neurons" }
                        @if !neurons.seen.is_empty() { th scope="col" class="number" { "u seen, from" } th scope="col" class="number" { "to" } }
                        th scope="col" { "which" }
                    } }
                    tbody {
                        @for (key, numbers) in &shown {
                            @let (by, state) = words(view, *key);
                            tr {
                                th scope="row" { (by) }
                                td { (state) }
                                td class="number" { (count(numbers.len())) }
                                @if !neurons.seen.is_empty() {
                                    @let (low, high) = seen_of(neurons, numbers);
                                    td class="number" { (value(low)) } td class="number" { (value(high)) }
                                }
                                td class="ranges" { (folded(&ranges(numbers, most))) }
                            }
                        }
                    }
                }
            }
            (ranges_of_u(neurons, most.is_none()))
            @if most.is_some() { p class="small" { "Long lists are cut; " code { "requirements.npz" } " has every neuron." } }
            @if let Some(rows) = &neurons.rows {
                p class="small" { "Requirement " (layer.summary.name) ":N is row " (rows.start) " + N"
                    @if neurons.each > 1 { " × " (neurons.each) } " of " code { "requirements.npz" } "." }
            }
        }
    }
}

/// The least and the largest u of some neurons.
fn seen_of(neurons: &Neurons, numbers: &[usize]) -> (f32, f32) {
    let seen = numbers
        .iter()
        .filter_map(|&neuron| neurons.seen.get(neuron));
    seen.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), range| {
        (low.min(range.0), high.max(range.1))
    })
}

/// A value of u in four digits; a dash where no test has shown one.
fn value(u: f32) -> String {
    if u.is_finite() {
        short(f64::from(u))
    } else {
        "–".into()
    }
}

/// The range of u of every neuron, a line each, where they are not too many.
fn ranges_of_u(neurons: &Neurons, each: bool) -> Markup {
    html! {
        @if !neurons.seen.is_empty() {
            p class="small" {
                "u is what goes into the activation, here over all tests of the suite, seeds among them. "
                code { "neurons.npz" } " has the numbers in full."
            }
            @if each {
                details { summary { "The range of u of each neuron" }
                    pre id="seen" { @for (neuron, &(low, high)) in neurons.seen.iter().enumerate() { (neuron) " " (value(low)) " " (value(high)) "\n" } }
                }
            }
        }
    }
}

fn key(view: &View, neurons: &Neurons, neuron: usize, state: NeuronState) -> Option<Shown> {
    if state.total() == 0 {
        return None;
    }
    if neurons.each > 1 {
        return Some(Shown::Counts(state.open, state.impossible, state.met));
    }
    let table = &view.run.requirements;
    let row = neurons.rows.as_ref()?.start + neuron;
    Some(match State::from_number(table.state[row])? {
        State::Covered => Shown::Test(table.test[row]),
        State::Infeasible => Shown::Certificate(table.certificate[row]),
        State::Unresolved => Shown::Open,
        State::NotRequired => return None,
    })
}

fn words(view: &View, shown: Shown) -> (String, String) {
    let names = GOAL;
    match shown {
        Shown::Test(test) => {
            let seeds = view.run.suite.seeds();
            let is_seed = usize::try_from(test).is_ok_and(|test| test < seeds);
            let kind = if is_seed { "seed" } else { "test" };
            (format!("{kind} {test}"), names[0].into())
        }
        Shown::Certificate(number) => (format!("certificate {number:05}"), names[1].into()),
        Shown::Open => ("nothing".into(), names[2].into()),
        Shown::Counts(open, impossible, met) => {
            let all = [(met, names[0]), (impossible, names[1]), (open, names[2])];
            let parts = all.iter().filter(|(number, _)| *number > 0);
            let parts: Vec<String> = parts
                .map(|(n, name)| format!("{} {name}", count(*n)))
                .collect();
            ("several".into(), parts.join(", "))
        }
    }
}

/// A long list folds away behind its start.
fn folded(list: &str) -> Markup {
    let end = list.char_indices().nth(SHOWN).map(|(at, _)| at);
    let start = end
        .and_then(|end| list[..end].rfind(' '))
        .map(|end| &list[..end]);
    html! {
        @match start {
            Some(start) => details { summary { (start) " …" } span class="all" { (list) } },
            None => span class="all" { (list) },
        }
    }
}

/// Numbers in order, runs of them as `first-last`, and `...` for what is beyond so many runs. Writing to a string
/// cannot fail.
fn ranges(numbers: &[usize], most: Option<usize>) -> String {
    let mut text = String::new();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).enumerate();
    for (number, run) in runs {
        if most == Some(number) {
            text.push_str(" ...");
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        let _ = match *run {
            [one] => write!(text, "{one}"),
            [first, .., last] => write!(text, "{first}-{last}"),
            [] => Ok(()),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_are_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8], None), "0-2 5 7-8");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8], Some(2)), "0-2 5 ...");
        assert_eq!(ranges(&[], None), "");
    }

    #[test]
    fn layers_of_any_size_have_few_cells() {
        assert_eq!(block((26, 26, 32)), 1);
        for size in [
            (224, 224, 64),
            (112, 112, 256),
            (1000, 100, 1),
            (7, 7, 2048),
        ] {
            let side = block(size);
            let cells = size.0.div_ceil(side) * size.1.div_ceil(side) * size.2;
            assert!(side > 1 && cells <= CELLS, "{size:?}: {side}, {cells}");
            let finer = size.0.div_ceil(side - 1) * size.1.div_ceil(side - 1) * size.2;
            assert!(finer > CELLS, "{size:?}: {side}");
        }
        assert_eq!(block((1, 1, 100_000)), 1);
    }
}
