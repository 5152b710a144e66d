//! Data for the inputs of a model: one or several, of integers, or of a tensor inside it where it was cut; and inputs
//! that are fixed.

use std::path::Path;

use deepconcolic_dataset::arrays::{Array, NpzReader, read_npy};
use deepconcolic_dataset::{
    Dataset, Elements, ModelInput, OpenOptions, SamplePart, Samples, has_arrays_of,
};
use deepconcolic_formats::{FixedInput, Loaded};
use deepconcolic_network::{InputPart, Network, Pass, Point};

use crate::error::Error;

/// Samples run at once through what lies before a cut.
const BATCH: usize = 64;
/// Most values that the data may become there.
const MAX_VALUES: usize = 1 << 28;

/// The samples of a file as a network takes them.
pub fn samples(
    path: &Path,
    limit: Option<usize>,
    scale: Option<f32>,
    network: &Network,
) -> Result<Samples, Error> {
    if let Some(before) = network.before()
        && !has_arrays(path, network)
        && fits(path, before)
    {
        let inputs = samples(path, limit, scale, before)?;
        return computed(before, &inputs, network);
    }
    let parts = network.inputs();
    let is_cut = network.before().is_some();
    if parts.len() > 1 || has_arrays(path, network) {
        let samples = Samples::of_inputs(path, &model_inputs(parts), scale, limit)?;
        return Ok(if is_cut {
            without_images(samples, network)
        } else {
            samples
        });
    }
    let options = OpenOptions {
        features: Some(network.input_elements()),
        limit,
    };
    let dataset = Dataset::open(path, &options)?;
    let scale = scale_of(network, scale);
    let samples = dataset.prepare(network.input_shape().without_batch(), scale)?;
    Ok(if is_cut {
        without_images(samples, network)
    } else {
        samples
    })
}

/// What data of a network's one input are divided by: integers are never scaled.
pub fn scale_of(network: &Network, given: Option<f32>) -> Option<f32> {
    let integer = network.inputs().iter().any(|part| part.integer);
    if integer { Some(1.0) } else { given }
}

fn model_inputs(parts: &[InputPart]) -> Vec<ModelInput<'_>> {
    let mut inputs = Vec::new();
    for part in parts {
        inputs.push(ModelInput {
            name: &part.name,
            shape: part.shape.without_batch(),
            integer: part.integer,
        });
    }
    inputs
}

fn has_arrays(path: &Path, network: &Network) -> bool {
    has_arrays_of(path, &model_inputs(network.inputs()))
}

/// Whether data have the size of a network's input, or arrays for its inputs.
fn fits(path: &Path, network: &Network) -> bool {
    let options = OpenOptions {
        features: Some(network.input_elements()),
        limit: Some(1),
    };
    let of_size = |data: Dataset| data.features() == network.input_elements();
    has_arrays(path, network) || Dataset::open(path, &options).is_ok_and(of_size)
}

/// A tensor inside a model is no image, whatever its shape: its values have the range that was observed.
fn without_images(samples: Samples, network: &Network) -> Samples {
    let parts = network.inputs().iter().map(|part| SamplePart {
        name: part.name.clone(),
        features: part.shape.elements(),
        image: false,
    });
    samples.with_parts(parts.collect())
}

/// The tensors where a model was cut, computed from its own inputs.
fn computed(before: &Network, inputs: &Samples, network: &Network) -> Result<Samples, Error> {
    let elements = network.input_elements();
    let source = inputs.dataset().source();
    if inputs.len().saturating_mul(elements) > MAX_VALUES {
        return Err(Error::Request(format!(
            "{}: {} samples become {elements} values each where the model is cut, too many in all; use fewer with \
             --limit",
            source.display(),
            inputs.len()
        )));
    }
    let outputs: Vec<Point> = (0..before.outputs().len()).map(Point::Output).collect();
    let pass = Pass::keep(outputs.iter().copied());
    let mut values = Vec::with_capacity(inputs.len() * elements);
    let mut x = Vec::new();
    for start in (0..inputs.len()).step_by(BATCH) {
        let range = start..inputs.len().min(start + BATCH);
        x.resize(range.len() * before.input_elements(), 0.0);
        inputs.fill(range.clone(), &mut x);
        let trace = before.forward(&x, &pass);
        for row in 0..range.len() {
            for &output in &outputs {
                values.extend_from_slice(trace.sample(output, row));
            }
        }
    }
    let shape = network.input_shape();
    let shape = shape.without_batch();
    let dataset = Dataset::new(source, shape, Elements::F32(values.into()))?;
    let stored = inputs.dataset();
    let dataset = match (stored.labels(), stored.quantity(0)) {
        (Some(labels), _) => dataset.with_labels(labels.to_vec())?,
        (None, Some(_)) => {
            let quantities = (0..stored.len()).filter_map(|sample| stored.quantity(sample));
            dataset.with_quantities(quantities.collect())?
        }
        (None, None) => dataset,
    };
    let dataset = match stored.class_names() {
        Some(names) => dataset.with_class_names(names.to_vec()),
        None => dataset,
    };
    Ok(without_images(dataset.prepare(shape, None)?, network))
}

/// Refuses to make tests of integers: between two ids there is nothing, and a step from one is no test.
pub fn can_be_searched(loaded: &Loaded) -> Result<(), Error> {
    let parts = loaded.network.inputs();
    let Some(part) = parts.iter().find(|part| part.integer) else {
        return Ok(());
    };
    let name = &part.name;
    let after = loaded.after_integers.iter();
    let after = after.clone().find(|(input, _)| input == name);
    let cut = after.map_or_else(String::new, |(_, tensor)| {
        format!(", or test the tensor that is computed from it with --from {tensor}")
    });
    Err(Error::Request(format!(
        "the input {name} holds integers, and between them there is nothing to test; fix it with --fix-input \
         {name}=FILE{cut}"
    )))
}

/// An input that is fixed, as the user gives it: NAME=FILE or NAME=NUMBER.
pub fn fixed(text: &str) -> Result<FixedInput, Error> {
    let refuse = |problem: String| Error::Request(format!("--fix-input {text}: {problem}"));
    let Some((name, value)) = text.split_once('=') else {
        return Err(refuse(
            "this is not of the form NAME=FILE or NAME=NUMBER".into(),
        ));
    };
    if let Ok(number) = value.parse::<f64>() {
        return Ok(FixedInput {
            name: name.to_owned(),
            shape: None,
            values: vec![number],
        });
    }
    let Array { shape, values } =
        array(Path::new(value), name).map_err(|e| refuse(e.to_string()))?;
    let first = values.first().copied();
    let same = |first: f64| values.iter().all(|v| v.to_bits() == first.to_bits());
    let values = match first {
        Some(first) if same(first) => vec![first],
        _ => values,
    };
    Ok(FixedInput {
        name: name.to_owned(),
        shape: Some(shape),
        values,
    })
}

/// The array of a file: of an archive, the one of this name, or the only one.
fn array(path: &Path, name: &str) -> Result<Array<f64>, Error> {
    let is = |ending: &str| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(ending))
    };
    if is("npy") {
        return Ok(read_npy(path)?);
    }
    if !is("npz") {
        return Err(Error::Request(
            "this is neither a number nor a numpy file (.npy, or .npz with an array of that name)"
                .into(),
        ));
    }
    let mut archive = NpzReader::open(path)?;
    let names: Vec<String> = archive.names().map(str::to_owned).collect();
    let chosen = match names.as_slice() {
        [only] => only,
        _ => name,
    };
    Ok(archive.read(chosen)?)
}

/// The extent of an open axis, as the user gives it: NAME=N.
pub fn extent(text: &str) -> Result<(String, usize), Error> {
    let parsed = text.rsplit_once('=');
    let parsed = parsed.and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?)));
    parsed
        .filter(|(name, n)| !name.is_empty() && *n > 0)
        .ok_or_else(|| {
            Error::Request(format!(
                "--dim {text}: this is not of the form NAME=N, for example height=320"
            ))
        })
}
