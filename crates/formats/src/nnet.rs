//! `.nnet`: fully connected networks with Relu, as text: the format of the ACAS Xu networks.
//!
//! After lines of comments (`//`) come numbers: layers, inputs, outputs and the widest layer; the size of every layer; a
//! flag nobody reads; the lowest and the highest value of every input; the means and ranges of the inputs and of all
//! outputs together; then of every layer its weights, an output a row, and its biases. Inputs are taken as they are
//! measured, and outputs given as they are meant: the network holds the normalisation. Inputs beyond their lowest and
//! highest values, which the format's own evaluation clips, are not clipped.

use std::fs;
use std::path::Path;

use deepconcolic_network::{Network, NetworkBuilder, Numbers, Shape, Tensor, ops};
use sha2::{Digest, Sha256};

use crate::normalisation::normalise;
use crate::{LoadError, LoadOptions, Loaded};

/// Real files have a few hundred kilobytes.
const LARGEST_FILE: u64 = 64 << 20;
/// Networks of this format have some ten layers.
const MAX_LAYERS: usize = 4096;

/// Reads a file.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Loaded, LoadError> {
    let refuse = |problem: String| LoadError::Nnet {
        path: path.display().to_string(),
        problem,
    };
    if options.input_shape.is_some()
        || !(options.dims.is_empty() && options.fixed.is_empty() && options.from.is_empty())
    {
        let problem = "--input-shape, --dim, --fix-input and --from are for ONNX files";
        return Err(refuse(problem.into()));
    }
    let cannot_read = |error: std::io::Error| refuse(format!("cannot be read: {error}"));
    let metadata = fs::metadata(path).map_err(cannot_read)?;
    if !metadata.is_file() || metadata.len() > LARGEST_FILE {
        return Err(refuse(format!(
            "not a regular file of at most {LARGEST_FILE} bytes"
        )));
    }
    let bytes = fs::read(path).map_err(cannot_read)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| refuse("it is not text".into()))?;
    let content = Content::parse(text).map_err(refuse)?;
    let hash = Sha256::digest(&bytes);
    Ok(Loaded {
        notes: vec![content.note()],
        network: content.network(options).map_err(refuse)?,
        format: "nnet".into(),
        producer: String::new(),
        sha256: format!("{hash:x}"),
        scope: Vec::new(),
        after_integers: Vec::new(),
    })
}

/// What a file holds.
struct Content {
    lowest: Vec<f64>,
    highest: Vec<f64>,
    means: Vec<f64>,
    ranges: Vec<f64>,
    layers: Vec<Layer>,
}

struct Layer {
    inputs: usize,
    /// A row for each output.
    weights: Vec<f64>,
    biases: Vec<f64>,
}

/// The numbers of a file, in order, with where they are.
struct Tokens<'a>(Box<dyn Iterator<Item = (usize, &'a str)> + 'a>);

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Self {
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
        let tokens = lines.flat_map(|(number, line)| {
            let tokens = line.split(',').map(str::trim);
            tokens
                .filter(|token| !token.is_empty())
                .map(move |token| (number + 1, token))
        });
        Self(Box::new(tokens))
    }

    fn number(&mut self, what: &str) -> Result<f64, String> {
        let Some((line, token)) = self.0.next() else {
            return Err(format!(
                "it ends before {what}; the file is damaged, download it again"
            ));
        };
        match token.parse::<f64>() {
            Ok(number) if (number as f32).is_finite() => Ok(number),
            _ => Err(format!(
                "line {line}: {} is no number, where {what} should be",
                crate::onnx::quote(token)
            )),
        }
    }

    fn numbers(&mut self, count: usize, what: &str) -> Result<Vec<f64>, String> {
        // One by one: the count is the file's word, and only what is there takes memory.
        let mut numbers = Vec::new();
        for _ in 0..count {
            numbers.push(self.number(what)?);
        }
        Ok(numbers)
    }

    fn size(&mut self, what: &str, maximum: usize) -> Result<usize, String> {
        let number = self.number(what)?;
        if number.fract() == 0.0 && number >= 1.0 && number <= maximum as f64 {
            return Ok(number as usize);
        }
        Err(format!("{what} is {number}, not from 1 to {maximum}"))
    }
}

impl Content {
    fn parse(text: &str) -> Result<Self, String> {
        const WIDEST: usize = 1 << 20;
        let mut tokens = Tokens::of(text);
        let layers = tokens.size("the number of layers", MAX_LAYERS)?;
        let inputs = tokens.size("the number of inputs", WIDEST)?;
        let outputs = tokens.size("the number of outputs", WIDEST)?;
        tokens.number("the size of the widest layer")?;
        let mut sizes = Vec::new();
        for _ in 0..=layers {
            sizes.push(tokens.size("the size of a layer", WIDEST)?);
        }
        if sizes[0] != inputs || sizes[layers] != outputs {
            return Err(format!(
                "its layers have the sizes {sizes:?}, and it has {inputs} inputs and {outputs} outputs"
            ));
        }
        tokens.number("a flag")?;
        let lowest = tokens.numbers(inputs, "the lowest value of an input")?;
        let highest = tokens.numbers(inputs, "the highest value of an input")?;
        let means = tokens.numbers(inputs + 1, "a mean")?;
        let ranges = tokens.numbers(inputs + 1, "a range")?;
        if let Some(range) = ranges.iter().find(|&&range| (range as f32) <= 0.0) {
            return Err(format!("a range is {range}; it must be above 0"));
        }
        let mut read = Vec::new();
        for pair in sizes.windows(2) {
            read.push(Layer {
                inputs: pair[0],
                weights: tokens.numbers(pair[0] * pair[1], "a weight")?,
                biases: tokens.numbers(pair[1], "a bias")?,
            });
        }
        if let Some((line, _)) = tokens.0.next() {
            return Err(format!("line {line}: numbers after the last bias"));
        }
        Ok(Self {
            lowest,
            highest,
            means,
            ranges,
            layers: read,
        })
    }

    fn note(&self) -> String {
        let ends = self.lowest.iter().zip(&self.highest);
        let ranges: Vec<String> = ends
            .take(8)
            .map(|(low, high)| format!("{low}..{high}"))
            .collect();
        let more = if self.lowest.len() > 8 { ", ..." } else { "" };
        format!(
            "the file says that inputs lie in {}{more}; inputs beyond are not clipped",
            ranges.join(", ")
        )
    }

    fn network(self, options: &LoadOptions) -> Result<Network, String> {
        let inputs = self.lowest.len();
        let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, inputs])?);
        let x = normalise(&mut builder, x, options)?;
        let constant = |builder: &mut NetworkBuilder, numbers: &[f64]| -> Result<Tensor, String> {
            builder.constant(Shape::new([1, numbers.len()])?, numbers.to_vec())
        };
        let means = constant(&mut builder, &self.means[..inputs])?;
        let ranges = constant(&mut builder, &self.ranges[..inputs])?;
        let mut tensor = builder.add(ops::Binary::new(ops::Sub), &[x, means], "mean")?;
        tensor = builder.add(ops::Binary::new(ops::Div), &[tensor, ranges], "range")?;
        let last = self.layers.len() - 1;
        for (number, layer) in self.layers.into_iter().enumerate() {
            let sides = [layer.inputs, layer.biases.len()];
            let weights = Numbers::from(layer.weights);
            let lie = ops::Lie::OutputsByInputs;
            let dense = ops::Dense::of(sides, &weights, lie, layer.biases)?;
            tensor = builder.add(dense, &[tensor], &format!("dense{}", number + 1))?;
            if number < last {
                let relu = ops::Elementwise::new(ops::Relu);
                tensor = builder.add(relu, &[tensor], &format!("relu{}", number + 1))?;
            }
        }
        let range = constant(&mut builder, &self.ranges[inputs..])?;
        let mean = constant(&mut builder, &self.means[inputs..])?;
        tensor = builder.add(ops::Binary::new(ops::Mul), &[tensor, range], "scaled")?;
        tensor = builder.add(ops::Binary::new(ops::Add), &[tensor, mean], "y")?;
        builder.finish(&[("y", tensor)], 0)
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_network::{Pass, Point};
    use proptest::prelude::*;

    use super::*;

    const SMALL: &str = "// a comment, with 3 numbers, 4\n2,2,1,2,\n2,2,1,\n0,\n-1,-1,\n1,1,\n1.0,0.0,5.0,\n\
                         2.0,1.0,10.0,\n1.0,-1.0,\n0.5,2.0,\n0.0,\n-1.0,\n3.0,-1.0,\n0.25,\n";

    fn load_text(text: &str) -> Result<Loaded, LoadError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.nnet");
        fs::write(&path, text).unwrap();
        load(&path, &LoadOptions::default())
    }

    #[test]
    fn a_file_is_computed_in_the_units_it_means() {
        let loaded = load_text(SMALL).unwrap();
        let network = loaded.network;
        assert_eq!(network.layers().len(), 1);
        assert_eq!(network.layers()[0].name(), "relu1");
        // (3, 2) is normalised to (1, 2): u = (-1, 3.5), v = (0, 3.5), and y = (-3.5 + 0.25) 10 + 5.
        let trace = network.forward(&[3.0f32, 2.0], &Pass::keep([Point::Pre(0), Point::Answer]));
        assert_eq!(trace.get(Point::Pre(0)), [-1.0, 3.5]);
        assert_eq!(trace.get(Point::Answer), [-27.5]);
        assert!(loaded.notes[0].contains("-1..1, -1..1"));
    }

    #[test]
    fn what_is_wrong_is_told_in_one_line() {
        for (text, part) in [
            ("", "ends before the number of layers"),
            (&SMALL[..SMALL.len() - 6], "ends before a bias"),
            (
                &SMALL.replace("0.5,2.0", "0.5,two"),
                "line 10: `two` is no number",
            ),
            (&SMALL.replace("2,2,1,2,", "2,3,1,2,"), "3 inputs"),
            (
                &SMALL.replace("2,2,1,2,", "1e9,2,1,2,"),
                "not from 1 to 4096",
            ),
            (&SMALL.replace("2.0,1.0,10.0", "2.0,0.0,10.0"), "above 0"),
            (&format!("{SMALL}7,\n"), "after the last bias"),
        ] {
            let message = load_text(text).unwrap_err().to_string();
            assert!(
                message.contains(part) && !message.contains('\n'),
                "{message}"
            );
        }
        let wide = "1,1048576,1048576,1,\n1048576,1048576,\n0,\n1,\n";
        let message = load_text(wide).unwrap_err().to_string();
        assert!(message.contains("ends before"), "{message}");
    }

    proptest! {
        #[test]
        fn damaged_files_are_refused_or_read(at in 0..SMALL.len(), byte in 32u8..127) {
            let mut bytes = SMALL.as_bytes().to_vec();
            bytes[at] = byte;
            let text = String::from_utf8(bytes).unwrap();
            if let Ok(content) = Content::parse(&text) {
                prop_assert_eq!(content.lowest.len() + 1, content.means.len());
            }
        }
    }
}
