//! The inputs of a graph: which are tested, which are fixed, and the shape of each at a batch of one.
//!
//! Axes that the file leaves open get their extents, in this order, from the option for them, from the arrays that
//! fix inputs, and, where they come first, from the batch of one; an extent holds for every axis of the same name.

use std::collections::{BTreeMap, BTreeSet};

use deepconcolic_network::{InputPart, Shape};

use super::cut::Section;
use super::dtype::DType;
use super::error::OnnxError;
use super::graph::Graph;
use super::quote::quote;
use super::value_info::{Dim, ValueInfo};
use crate::{FixedInput, LoadOptions};

/// The inputs of a graph, with concrete shapes.
pub(super) struct Inputs {
    free: Vec<InputPart>,
    pub fixed: Vec<Fixed>,
    /// The extents that options gave, in words.
    extents: Vec<String>,
}

/// An input that always has the same value.
pub(super) struct Fixed {
    pub name: String,
    pub shape: Shape,
    pub values: Vec<f64>,
    pub integer: bool,
}

fn refuse(problem: String) -> OnnxError {
    OnnxError::InputOption { problem }
}

impl Inputs {
    /// Those of a graph, read as options say.
    pub fn of(graph: &Graph, options: &LoadOptions) -> Result<Self, OnnxError> {
        check_fixed(graph, &options.fixed)?;
        let given = |input: &&ValueInfo| options.fixed.iter().any(|f| f.name == input.name);
        let (given, free): (Vec<_>, Vec<_>) = graph.inputs.iter().partition(given);
        if free.len() != 1 && (options.mean.is_some() || options.std.is_some()) {
            return Err(refuse(format!(
                "--mean and --std are for models with one input that is tested; this one has {}",
                free.len()
            )));
        }
        let mut extents = Extents::given(graph, &options.dims)?;
        for input in &given {
            let fixed = options.fixed.iter().find(|f| f.name == input.name);
            if let Some(shape) = fixed.and_then(|fixed| fixed.shape.as_deref()) {
                extents.learn(input, shape)?;
            }
        }
        for input in &free {
            extents.batch(input);
        }
        let part = |input: &&ValueInfo| {
            let alone = (free.len() == 1).then_some(options.input_shape.as_deref());
            let shape = input_shape(input, alone.flatten(), &extents)?;
            Ok(InputPart {
                integer: is_integer(input)?,
                ..InputPart::new(&input.name, shape)
            })
        };
        if options.input_shape.is_some() && free.len() != 1 {
            return Err(refuse(format!(
                "--input-shape is for models with one input that is tested; this one has {}: say --dim NAME=N",
                free.len()
            )));
        }
        let fixed = given.iter().map(|input| {
            let fixed = options.fixed.iter().find(|f| f.name == input.name);
            fixed.map(|fixed| Fixed::of(input, fixed, &extents))
        });
        Ok(Self {
            free: free.iter().map(part).collect::<Result<_, OnnxError>>()?,
            fixed: fixed.flatten().collect::<Result<_, OnnxError>>()?,
            extents: (options.dims.iter())
                .map(|(name, extent)| format!("{} = {extent}", quote(name)))
                .collect(),
        })
    }

    /// Those that are tested and that a section reads, as parts of one vector.
    pub fn tested(&self, section: &Section<'_>) -> Vec<InputPart> {
        let read = self.free.iter().filter(|part| section.reads(&part.name));
        read.cloned().collect()
    }

    /// The same with tensors inside the model first.
    pub fn replaced(&self, cut: &[InputPart]) -> Self {
        let fixed = self.fixed.iter().map(|fixed| Fixed {
            name: fixed.name.clone(),
            shape: fixed.shape.clone(),
            values: fixed.values.clone(),
            integer: fixed.integer,
        });
        Self {
            free: cut.iter().chain(&self.free).cloned().collect(),
            fixed: fixed.collect(),
            extents: self.extents.clone(),
        }
    }

    /// What is tested, in words, where that is not simply the model's one input.
    pub fn scope(&self, parts: &[InputPart], from: &[String]) -> Vec<String> {
        let mut words = Vec::new();
        if !from.is_empty() {
            let names: Vec<String> = from.iter().map(|name| quote(name)).collect();
            words.push(format!(
                "the model is cut at {}: what is tested is what follows, and tests are values of {}, not of the \
                 model's own input",
                names.join(", "),
                if from.len() == 1 { "this tensor" } else { "these tensors" }
            ));
        }
        if parts.len() > 1 {
            let parts = parts.iter();
            let parts = parts.map(|part| format!("{} ({})", quote(&part.name), part.shape));
            words.push(format!(
                "the input vector holds, one after the other, {}",
                parts.collect::<Vec<_>>().join(", ")
            ));
        }
        for fixed in &self.fixed {
            let first = fixed.values.first().copied().unwrap_or_default();
            let same = fixed.values.iter().all(|v| v.to_bits() == first.to_bits());
            words.push(if same {
                format!(
                    "the input {} is fixed: {first} throughout",
                    quote(&fixed.name)
                )
            } else {
                format!(
                    "the input {} is fixed: {} numbers that are not tested",
                    quote(&fixed.name),
                    fixed.values.len()
                )
            });
        }
        if !self.extents.is_empty() {
            words.push(format!("open axes: {}", self.extents.join(", ")));
        }
        words
    }
}

impl Fixed {
    fn of(input: &ValueInfo, fixed: &FixedInput, extents: &Extents) -> Result<Self, OnnxError> {
        let refuse =
            |problem: String| refuse(format!("--fix-input {}: {problem}", quote(&fixed.name)));
        let shape = match (&fixed.shape, &input.shape) {
            (Some(shape), _) => shape.clone(),
            (None, Some(declared)) => extents.concrete(input, declared)?,
            (None, None) => {
                return Err(refuse(
                    "the model does not declare its shape; give an array instead of a number"
                        .into(),
                ));
            }
        };
        let shape = Shape::new(shape).map_err(refuse)?;
        let values = match fixed.values.as_slice() {
            [one] => vec![*one; shape.elements()],
            all if all.len() == shape.elements() => all.to_vec(),
            all => {
                return Err(refuse(format!("{} numbers for shape {shape}", all.len())));
            }
        };
        let integer = is_integer(input)?;
        if let Some(value) = values.iter().find(|v| !v.is_finite()) {
            return Err(refuse(format!("{value} is not a finite number")));
        }
        if integer && let Some(value) = values.iter().find(|v| v.fract() != 0.0) {
            return Err(refuse(format!(
                "{value} is no {}, which the model wants",
                input.elem_type.map_or("integer", DType::name)
            )));
        }
        Ok(Self {
            name: fixed.name.clone(),
            shape,
            values,
            integer,
        })
    }
}

/// Refuses values for inputs that the model does not have, or twice.
fn check_fixed(graph: &Graph, fixed: &[FixedInput]) -> Result<(), OnnxError> {
    for (at, input) in fixed.iter().enumerate() {
        if !graph.inputs.iter().any(|i| i.name == input.name) {
            let names: Vec<String> = graph.inputs.iter().map(|i| quote(&i.name)).collect();
            return Err(refuse(format!(
                "--fix-input: the model has no input {}; its inputs are {}",
                quote(&input.name),
                names.join(", ")
            )));
        }
        if fixed[..at].iter().any(|other| other.name == input.name) {
            return Err(refuse(format!(
                "--fix-input: the input {} is fixed twice",
                quote(&input.name)
            )));
        }
    }
    Ok(())
}

/// Whether the file declares integers; refuses what are no numbers.
fn is_integer(input: &ValueInfo) -> Result<bool, OnnxError> {
    match input.elem_type {
        Some(dtype) if dtype.is_integer() => Ok(true),
        Some(dtype) if !dtype.is_float() => Err(OnnxError::Input {
            input: input.name.clone(),
            problem: format!(
                "its elements are {dtype}, not numbers that are supported; \
                 export the model without the conversion in front"
            ),
        }),
        _ => Ok(false),
    }
}

/// What is known of open axes.
struct Extents {
    /// By the name of the axis.
    named: BTreeMap<String, usize>,
    /// By the name of the input and the number of its axis.
    placed: BTreeMap<(String, usize), usize>,
}

impl Extents {
    /// Those that options give.
    fn given(graph: &Graph, dims: &BTreeMap<String, usize>) -> Result<Self, OnnxError> {
        let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
        for input in &graph.inputs {
            for (axis, dim) in input.shape.iter().flatten().enumerate() {
                match dim {
                    Dim::Known(_) => continue,
                    Dim::Symbolic(name) => drop(names.insert(name.as_str())),
                    Dim::Unknown => {}
                }
                places.insert((input.name.as_str(), axis));
            }
        }
        let mut extents = Self {
            named: BTreeMap::new(),
            placed: BTreeMap::new(),
        };
        for (name, &extent) in dims {
            if extent == 0 {
                return Err(refuse(format!("--dim {name}=0: an axis has at least 1")));
            }
            let place = name.rsplit_once(':');
            let place = place.and_then(|(input, axis)| Some((input, axis.parse().ok()?)));
            if names.contains(name.as_str()) {
                extents.named.insert(name.clone(), extent);
            } else if let Some((input, axis)) = place.filter(|place| places.contains(place)) {
                extents.placed.insert((input.to_owned(), axis), extent);
            } else {
                return Err(refuse(no_axis(name, &names, &places)));
            }
        }
        Ok(extents)
    }

    /// Compares an array with what the model declares, and takes the extents of open axes from it.
    fn learn(&mut self, input: &ValueInfo, shape: &[usize]) -> Result<(), OnnxError> {
        let Some(declared) = &input.shape else {
            return Ok(());
        };
        let contradiction = || {
            refuse(format!(
                "--fix-input {}: the array has shape {shape:?}, and the model wants {}",
                quote(&input.name),
                show(declared)
            ))
        };
        if declared.len() != shape.len() {
            return Err(contradiction());
        }
        for (axis, (dim, &extent)) in declared.iter().zip(shape).enumerate() {
            let known = match dim {
                Dim::Known(known) => Some(*known),
                Dim::Symbolic(name) => Some(*self.named.entry(name.clone()).or_insert(extent)),
                Dim::Unknown => self.placed.get(&(input.name.clone(), axis)).copied(),
            };
            if known.is_some_and(|known| known != extent) {
                return Err(contradiction());
            }
        }
        Ok(())
    }

    /// A named first axis that is still open is the batch.
    fn batch(&mut self, input: &ValueInfo) {
        if let Some([Dim::Symbolic(name), ..]) = input.shape.as_deref()
            && !self.placed.contains_key(&(input.name.clone(), 0))
        {
            self.named.entry(name.clone()).or_insert(1);
        }
    }

    fn extent(&self, input: &ValueInfo, axis: usize, dim: &Dim) -> Option<usize> {
        let placed = || self.placed.get(&(input.name.clone(), axis)).copied();
        match dim {
            Dim::Known(extent) => Some(*extent),
            Dim::Symbolic(name) => placed().or_else(|| self.named.get(name).copied()),
            Dim::Unknown => placed().or((axis == 0).then_some(1)),
        }
    }

    /// A declared shape with every axis known.
    fn concrete(&self, input: &ValueInfo, declared: &[Dim]) -> Result<Vec<usize>, OnnxError> {
        let extent = |(axis, dim): (usize, &Dim)| {
            self.extent(input, axis, dim).ok_or_else(|| {
                let name = match dim {
                    Dim::Symbolic(name) => name.clone(),
                    _ => format!("{}:{axis}", input.name),
                };
                OnnxError::Input {
                    input: input.name.clone(),
                    problem: format!(
                        "its shape {} is open beyond the batch axis; give --dim {name}=N for each open axis, or \
                         the whole with --input-shape, for example 1,3,32,32",
                        show(declared)
                    ),
                }
            })
        };
        declared.iter().enumerate().map(extent).collect()
    }
}

/// There is no such open axis; these are there.
fn no_axis(name: &str, names: &BTreeSet<&str>, places: &BTreeSet<(&str, usize)>) -> String {
    let mut open: Vec<String> = names.iter().map(|name| quote(name)).collect();
    let places = places.iter();
    open.extend(places.map(|(input, axis)| quote(&format!("{input}:{axis}"))));
    if open.is_empty() {
        return format!("--dim {}: the model leaves no axis open", quote(name));
    }
    format!(
        "--dim {}: the model has no such open axis; it has {}",
        quote(name),
        open.join(", ")
    )
}

/// The input's shape at a batch of one; `given` is that of the option for it.
fn input_shape(
    input: &ValueInfo,
    given: Option<&[usize]>,
    extents: &Extents,
) -> Result<Shape, OnnxError> {
    let refuse = |problem: String| OnnxError::Input {
        input: input.name.clone(),
        problem,
    };
    let dims = match (given, &input.shape) {
        (Some(given), declared) => {
            let declared = declared.as_deref().unwrap_or_default();
            let contradicts = |(axis, (dim, extent)): (usize, (&Dim, &usize))| {
                axis > 0 && matches!(dim, Dim::Known(known) if known != extent)
            };
            let agrees = declared.is_empty()
                || declared.len() == given.len()
                    && !declared.iter().zip(given).enumerate().any(contradicts);
            if !agrees {
                return Err(refuse(format!(
                    "the shape given, {given:?}, contradicts the model's {}",
                    show(declared)
                )));
            }
            given.to_vec()
        }
        (None, None) => {
            return Err(refuse(
                "the model does not declare its shape; give it with --input-shape, for example 1,3,32,32"
                    .into(),
            ));
        }
        (None, Some(declared)) => extents.concrete(input, declared)?,
    };
    Shape::new(dims).map_err(refuse)
}

fn show(declared: &[Dim]) -> String {
    let dims: Vec<String> = declared
        .iter()
        .map(|dim| match dim {
            Dim::Known(extent) => extent.to_string(),
            Dim::Symbolic(name) => quote(name),
            Dim::Unknown => "?".into(),
        })
        .collect();
    format!("[{}]", dims.join(", "))
}
