//! What came of each layer, and of its neurons where rows of the table are about them.

use std::ops::Range;

use deepconcolic::{SavedRun, State as RowState};
use deepconcolic_record::LayerSummary;

/// A layer of the summary.
pub struct Layer {
    /// Its name and counts.
    pub summary: LayerSummary,
    /// How many requirements random inputs meet.
    pub random: Option<usize>,
    /// How many the data meet.
    pub data: Option<usize>,
    /// Its neurons, if its requirements are about them.
    pub neurons: Option<Neurons>,
    /// The name of its page, without the ending.
    pub page: String,
}

/// How the requirements about one neuron ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Met by a test.
    pub met: usize,
    /// Proven impossible.
    pub impossible: usize,
    /// Neither.
    pub open: usize,
}

impl State {
    /// Adds how other requirements ended.
    pub fn add(&mut self, other: Self) {
        self.met += other.met;
        self.impossible += other.impossible;
        self.open += other.open;
    }

    /// Requirements.
    pub fn total(self) -> usize {
        self.met + self.impossible + self.open
    }
}

/// The neurons of a layer.
pub struct Neurons {
    /// Their rows in the table of requirements; none where several criteria have rows about them.
    pub rows: Option<Range<usize>>,
    /// Rows for each neuron.
    pub each: usize,
    /// How the requirements about each neuron ended.
    pub states: Vec<State>,
    /// Height and width of a feature map, and how many maps there are.
    pub size: (usize, usize, usize),
    /// Whether neurons are counted map by map; else place by place.
    pub map_by_map: bool,
    /// The least and the largest u that the suite shows of each; empty where that is not known.
    pub seen: Vec<(f32, f32)>,
}

impl Neurons {
    /// The neuron at a place of a map.
    pub fn at(&self, map: usize, row: usize, column: usize) -> usize {
        let (height, width, maps) = self.size;
        if self.map_by_map {
            (map * height + row) * width + column
        } else {
            (row * width + column) * maps + map
        }
    }
}

/// The layers of a run.
pub fn of(run: &SavedRun) -> Vec<Layer> {
    let summary = &run.summary;
    let controls = &summary.baseline.layers;
    let mut layers: Vec<Layer> = Vec::new();
    for (number, layer) in summary.layers.iter().enumerate() {
        let control = controls.get(number);
        layers.push(Layer {
            summary: layer.clone(),
            random: control.map(|c| c.random),
            data: control.map(|c| c.data),
            neurons: neurons(run, &layer.name),
            page: page_name(&layer.name, number, &layers),
        });
    }
    layers
}

/// The name of a layer's page; where two would be the same, the second has its number too.
fn page_name(layer: &str, number: usize, others: &[Layer]) -> String {
    let name = format!("layer-{}", file_name(layer));
    // Some file systems do not tell capitals from small letters.
    let taken = others.iter().any(|o| o.page.eq_ignore_ascii_case(&name));
    if taken || name == "layer-" {
        format!("{name}-{number}")
    } else {
        name
    }
}

/// What is harmless in the name of a file, and not long.
fn file_name(name: &str) -> String {
    let harmless = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().take(40).map(harmless).collect();
    name.trim_matches('-').to_owned()
}

fn neurons(run: &SavedRun, layer: &str) -> Option<Neurons> {
    let summary = &run.summary;
    let number = summary.model.layers.iter().position(|name| name == layer)?;
    let shape = run.settings.shapes.as_ref()?.layers.get(number)?;
    let count = shape
        .iter()
        .try_fold(1_usize, |n, &side| n.checked_mul(side))
        .filter(|&count| count > 0)?;
    // Several criteria have a group each for the layer.
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut first = 0_usize;
    for group in &summary.rows {
        let next = first.checked_add(group.rows)?;
        if group.layer.as_deref() == Some(layer) && group.rows > 0 {
            groups.push(first..next);
        }
        first = next;
    }
    let rows = groups.first()?.clone();
    // A criterion may ask about channels instead of neurons.
    let (shape, count) = match groups.iter().all(|group| group.len().is_multiple_of(count)) {
        true => (shape.clone(), count),
        false if groups.len() == 1 => (vec![rows.len()], rows.len()),
        false => return None,
    };
    let seen = seen(run, number, count);
    let mut states = vec![State::default(); count];
    let mut each = 0;
    for group in &groups {
        let of_group = run.requirements.state.get(group.clone())?;
        let of_neuron = group.len() / count;
        for (state, more) in states.iter_mut().zip(of_group.chunks(of_neuron)) {
            state.add(counted(more));
        }
        each += of_neuron;
    }
    let (size, map_by_map) = arrangement(&shape, &run.shape);
    Some(Neurons {
        rows: (groups.len() == 1).then_some(rows),
        each,
        states,
        size,
        map_by_map,
        seen,
    })
}

/// What the suite shows of the neurons of a layer, if it is a range for each of so many.
fn seen(run: &SavedRun, layer: usize, count: usize) -> Vec<(f32, f32)> {
    let Some(seen) = run.neurons.of_layer(layer) else {
        return Vec::new();
    };
    let ends = seen.low.iter().copied().zip(seen.high.iter().copied());
    let ends: Vec<(f32, f32)> = ends.collect();
    if ends.len() == count {
        ends
    } else {
        Vec::new()
    }
}

fn counted(states: &[u8]) -> State {
    let mut counts = [0; RowState::ALL.len()];
    for &row in states {
        if let Some(count) = counts.get_mut(usize::from(row)) {
            *count += 1;
        }
    }
    State {
        met: counts[RowState::Covered as usize],
        impossible: counts[RowState::Infeasible as usize],
        open: counts[RowState::Unresolved as usize],
    }
}

/// Height, width and number of the feature maps of a layer of this shape, and whether maps come one after the other.
/// Two equal sides are height and width; where that does not tell, channels are where the input has them.
fn arrangement(shape: &[usize], input: &[usize]) -> ((usize, usize, usize), bool) {
    let input_first = matches!(*input, [first, _, last] if first <= 4 && last > 4);
    match *shape {
        [a, b, c] => {
            let first = match (a == b, b == c) {
                (true, false) => false,
                (false, true) => true,
                _ => input_first,
            };
            if first {
                ((b, c, a), true)
            } else {
                ((a, b, c), false)
            }
        }
        [a, b] => ((a, b, 1), false),
        _ => {
            let count = shape.iter().product::<usize>().max(1);
            ((count.div_ceil(STRIP), count.min(STRIP), 1), false)
        }
    }
}

/// Neurons of a dense layer in one row of its strip.
const STRIP: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_maps_are_found_in_either_layout() {
        assert_eq!(
            arrangement(&[26, 26, 32], &[28, 28, 1]),
            ((26, 26, 32), false)
        );
        assert_eq!(
            arrangement(&[32, 26, 26], &[1, 28, 28]),
            ((26, 26, 32), true)
        );
        assert_eq!(arrangement(&[8, 8, 8], &[3, 32, 32]), ((8, 8, 8), true));
        assert_eq!(arrangement(&[8, 8, 8], &[32, 32, 3]), ((8, 8, 8), false));
        assert_eq!(arrangement(&[200], &[28, 28, 1]), ((2, 100, 1), false));
        assert_eq!(arrangement(&[7], &[4]), ((1, 7, 1), false));
    }

    #[test]
    fn names_of_pages_lead_nowhere_else() {
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("conv2d_1"), "conv2d_1");
        assert_eq!(file_name("<script>"), "script");
        assert_eq!(file_name("/a\\b\0c"), "a-b-c");
    }
}
