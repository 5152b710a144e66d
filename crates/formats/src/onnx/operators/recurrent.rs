//! LSTM, GRU and RNN, written out step by step: a sequence of fixed length is a feed-forward network whose weights
//! repeat.

use std::sync::Arc;

use deepconcolic_network::ops::{
    Add, Binary, Clip, Concat, Dense, Elementwise, Elu, HardSigmoid, LeakyRelu, Lie, Mul, Relu,
    Sigmoid, Softplus, Softsign, Sub, Tanh, Transpose, View,
};
use deepconcolic_network::{Numbers, Operator, Order, Shape, Tensor};

use super::context::{Context, float};
use super::selection::{select, whole};
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

/// The longest sequence that is written out.
const MAX_STEPS: usize = 1 << 10;

pub fn lstm(context: &mut Context<'_>) -> Outputs {
    unrolled(context, Kind::Lstm)
}

pub fn gru(context: &mut Context<'_>) -> Outputs {
    unrolled(context, Kind::Gru)
}

pub fn rnn(context: &mut Context<'_>) -> Outputs {
    unrolled(context, Kind::Plain)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lstm,
    Gru,
    Plain,
}

impl Kind {
    /// Blocks of weights, one after the other.
    fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru => 3,
            Self::Plain => 1,
        }
    }

    fn activations(self) -> &'static [&'static str] {
        match self {
            Self::Lstm => &["Sigmoid", "Tanh", "Tanh"],
            Self::Gru => &["Sigmoid", "Tanh"],
            Self::Plain => &["Tanh"],
        }
    }
}

/// What a step hands to the next: the output, and the cell of an LSTM.
#[derive(Clone, Copy)]
struct State {
    output: Tensor,
    cell: Tensor,
}

/// The weights of one direction.
struct Cell {
    kind: Kind,
    hidden: usize,
    /// From the input, with both biases, and from the output before.
    input: Arc<dyn Operator>,
    recurrent: Arc<dyn Operator>,
    /// Of a GRU: from the output before to the candidate, apart from the gates.
    candidate: Option<Arc<dyn Operator>>,
    reset_after: bool,
    /// From the cell to the gates of an LSTM.
    peepholes: Option<Vec<f64>>,
    activations: Vec<Arc<dyn Operator>>,
    clip: Option<f64>,
}

fn unrolled(context: &mut Context<'_>, kind: Kind) -> Outputs {
    let by_sample = context.flag("layout")?;
    let input = context.tensor(0)?;
    let input = if by_sample {
        context.add(Transpose::new(Order::new(vec![1, 0, 2])?), &[input])?
    } else {
        input
    };
    let shape = context.builder.shape(input);
    let &[steps, batch, size] = shape.dims() else {
        return Err(format!("shape {shape} is not a sequence"));
    };
    if steps == 0 || steps > MAX_STEPS {
        return Err(format!(
            "a sequence of {steps} steps; from 1 to {MAX_STEPS} can be written out"
        ));
    }
    if let Some(lengths) = context.integers(4)?
        && lengths.iter().any(|&length| length != steps as i64)
    {
        return Err(format!(
            "sequences of lengths {lengths:?} in {steps} steps; only equal lengths are supported"
        ));
    }
    let backwards = match context.string_or("direction", "forward")? {
        "forward" => vec![false],
        "reverse" => vec![true],
        "bidirectional" => vec![false, true],
        other => return Err(format!("direction={} is not known", quote(other))),
    };
    let mut runs = Vec::new();
    for (direction, &backward) in backwards.iter().enumerate() {
        let cell = Cell::new(context, kind, direction, backwards.len(), size)?;
        let start = State {
            output: initial(context, 5, direction, [batch, cell.hidden], by_sample)?,
            cell: initial(context, 6, direction, [batch, cell.hidden], by_sample)?,
        };
        // What comes from the input does not wait for the step before: one product for all steps.
        let projected = shared(context, &cell.input, input)?;
        let lines = context.builder.shape(projected);
        let mut state = start;
        let mut outputs = Vec::with_capacity(steps);
        for step in 0..steps {
            let at = if backward { steps - 1 - step } else { step };
            let mut along = whole(&lines);
            along[0] = vec![Some(at)];
            let now = select(context, "Slice", projected, &along, 0.0)?;
            let now = context.add(View::new(Shape::new(&lines.dims()[1..])?), &[now])?;
            let suffix = match (backwards.len(), direction) {
                (1, _) => format!("/step{at}"),
                (_, 0) => format!("/forward/step{at}"),
                _ => format!("/backward/step{at}"),
            };
            state = cell.step(context, now, state, &suffix)?;
            outputs.push(state.output);
        }
        if backward {
            outputs.reverse();
        }
        runs.push((outputs, state, cell.hidden));
    }
    collected(context, kind, &runs, batch, by_sample)
}

/// All outputs, the last ones, and the last cells of an LSTM, with an axis for directions.
fn collected(
    context: &mut Context<'_>,
    kind: Kind,
    runs: &[(Vec<Tensor>, State, usize)],
    batch: usize,
    by_sample: bool,
) -> Outputs {
    let hidden = runs[0].2;
    let view = |context: &mut Context<'_>, tensor: Tensor, dims: &[usize]| {
        context.add(View::new(Shape::new(dims)?), &[tensor])
    };
    let mut every = Vec::new();
    for step in 0..runs[0].0.len() {
        for (outputs, _, _) in runs {
            every.push(view(context, outputs[step], &[1, 1, batch, hidden])?);
        }
    }
    let every = context.add(Concat::new(0), &every)?;
    let all = [runs[0].0.len(), runs.len(), batch, hidden];
    let mut every = view(context, every, &all)?;
    if by_sample {
        every = context.add(Transpose::new(Order::new(vec![2, 0, 1, 3])?), &[every])?;
    }
    let mut last = |state: fn(&State) -> Tensor| {
        let parts: Result<Vec<Tensor>, String> = runs
            .iter()
            .map(|(_, end, _)| view(context, state(end), &[1, batch, hidden]))
            .collect();
        let joined = context.add(Concat::new(0), &parts?)?;
        if by_sample {
            return context.add(Transpose::new(Order::new(vec![1, 0, 2])?), &[joined]);
        }
        Ok(joined)
    };
    let mut outputs = vec![every, last(|state| state.output)?];
    if kind == Kind::Lstm {
        outputs.push(last(|state| state.cell)?);
    }
    let outputs: Result<Vec<Vec<Value>>, String> = outputs.into_iter().map(float).collect();
    Ok(outputs?.concat())
}

/// What the first step starts from: zeros, or a part of an input.
fn initial(
    context: &mut Context<'_>,
    position: usize,
    direction: usize,
    dims: [usize; 2],
    by_sample: bool,
) -> Result<Tensor, String> {
    let Some(given) = context.optional(position) else {
        return context.constant(&dims, vec![0.0; dims[0] * dims[1]]);
    };
    let shape = context.builder.shape(given.tensor);
    let axis = usize::from(by_sample);
    if shape.rank() != 3 || direction >= shape.dims()[axis] {
        return Err(format!("an initial state of shape {shape}"));
    }
    let mut along = whole(&shape);
    along[axis] = vec![Some(direction)];
    let own = select(context, "Slice", given.tensor, &along, 0.0)?;
    context.add(View::new(Shape::new(dims)?), &[own])
}

impl Cell {
    fn new(
        context: &Context<'_>,
        kind: Kind,
        direction: usize,
        directions: usize,
        size: usize,
    ) -> Result<Self, String> {
        let (shape, from_input) = context.known(1)?;
        let &[count, rows, columns] = shape.dims() else {
            return Err(format!("weights of shape {shape}"));
        };
        let (hidden, gates) = (rows / kind.gates(), kind.gates());
        let (turned, from_output) = context.known(2)?;
        let fits = rows == hidden * gates
            && columns == size
            && count == directions
            && turned.dims() == [directions, rows, hidden];
        if !fits || hidden == 0 {
            return Err(format!("weights of shapes {shape} and {turned}"));
        }
        let own = |numbers: &[f64], each: usize, what: &str| {
            let part = numbers.get(direction * each..(direction + 1) * each);
            let part = part.ok_or_else(|| format!("too few numbers of {what}"))?;
            Ok::<_, String>(part.to_vec())
        };
        let biases = match context.known_if_given(3)? {
            Some(biases) => own(&biases, 2 * rows, "bias")?,
            None => vec![0.0; 2 * rows],
        };
        let (mut first, mut second) = (biases[..rows].to_vec(), biases[rows..].to_vec());
        let reset_after = kind == Kind::Gru && context.flag("linear_before_reset")?;
        // What is added to the same sum is added once; the candidate of a GRU that resets after its product keeps
        // its own bias there.
        let shared = if reset_after { 2 * hidden } else { rows };
        for (a, b) in first.iter_mut().zip(&mut second).take(shared) {
            *a += std::mem::take(b);
        }
        let from_input = own(&from_input, rows * size, "weights")?;
        let from_output = own(&from_output, rows * hidden, "weights")?;
        let dense = |weights: Vec<f64>, inputs: usize, bias: Vec<f64>| {
            let sides = [inputs, bias.len()];
            let layer = Dense::of(sides, &Numbers::from(weights), Lie::OutputsByInputs, bias)?;
            Ok::<Arc<dyn Operator>, String>(layer.into())
        };
        let split = if kind == Kind::Gru { 2 * hidden } else { rows };
        let (gates_part, candidate_part) = from_output.split_at(split * hidden);
        let candidate = (kind == Kind::Gru)
            .then(|| dense(candidate_part.to_vec(), hidden, second[split..].to_vec()));
        let peepholes = match context.known_if_given(7)? {
            Some(numbers) if kind == Kind::Lstm => Some(own(&numbers, 3 * hidden, "peepholes")?),
            _ => None,
        };
        if context.flag("input_forget")? {
            return Err("input_forget=1 is not supported".into());
        }
        Ok(Self {
            kind,
            hidden,
            input: dense(from_input, size, first)?,
            recurrent: dense(gates_part.to_vec(), hidden, second[..split].to_vec())?,
            candidate: candidate.transpose()?,
            reset_after,
            peepholes,
            activations: activations(context, kind, direction)?,
            clip: Some(context.float_or("clip", 0.0)?).filter(|&clip| clip > 0.0),
        })
    }

    fn step(
        &self,
        context: &mut Context<'_>,
        fresh: Tensor,
        before: State,
        suffix: &str,
    ) -> Result<State, String> {
        let echo = shared(context, &self.recurrent, before.output)?;
        match self.kind {
            Kind::Plain => {
                let sum = context.add(Binary::new(Add), &[fresh, echo])?;
                let output = self.activated(context, 0, sum, suffix)?;
                Ok(State { output, ..before })
            }
            Kind::Gru => self.gru_step(context, [fresh, echo], before, suffix),
            Kind::Lstm => {
                let sum = context.add(Binary::new(Add), &[fresh, echo])?;
                self.lstm_step(context, sum, before, suffix)
            }
        }
    }

    /// Update and reset gate, then the candidate, then what is kept of both.
    fn gru_step(
        &self,
        context: &mut Context<'_>,
        [fresh, echo]: [Tensor; 2],
        before: State,
        suffix: &str,
    ) -> Result<State, String> {
        let h = self.hidden;
        let own = Self::part(context, fresh, 0, 2 * h)?;
        let sum = context.add(Binary::new(Add), &[own, echo])?;
        let gates = self.activated(context, 0, sum, &format!("{suffix}/gates"))?;
        let update = Self::part(context, gates, 0, h)?;
        let reset = Self::part(context, gates, h, h)?;
        let Some(candidate) = &self.candidate else {
            return Err("weights of a GRU are missing".into());
        };
        let remembered = if self.reset_after {
            let product = shared(context, candidate, before.output)?;
            context.add(Binary::new(Mul), &[reset, product])?
        } else {
            let kept = context.add(Binary::new(Mul), &[reset, before.output])?;
            shared(context, candidate, kept)?
        };
        let own = Self::part(context, fresh, 2 * h, h)?;
        let sum = context.add(Binary::new(Add), &[own, remembered])?;
        let new = self.activated(context, 1, sum, &format!("{suffix}/candidate"))?;
        // (1 - z) n + z h = n + z (h - n).
        let difference = context.add(Binary::new(Sub), &[before.output, new])?;
        let kept = context.add(Binary::new(Mul), &[update, difference])?;
        let output = context.add(Binary::new(Add), &[new, kept])?;
        Ok(State { output, ..before })
    }

    /// Input, output and forget gate, the new cell, and what it shows.
    fn lstm_step(
        &self,
        context: &mut Context<'_>,
        sum: Tensor,
        before: State,
        suffix: &str,
    ) -> Result<State, String> {
        let h = self.hidden;
        let input = Self::part(context, sum, 0, h)?;
        let output = Self::part(context, sum, h, h)?;
        let forget = Self::part(context, sum, 2 * h, h)?;
        let input = self.seen(context, input, 0, before.cell)?;
        let forget = self.seen(context, forget, 2, before.cell)?;
        let input = self.activated(context, 0, input, &format!("{suffix}/input"))?;
        let forget = self.activated(context, 0, forget, &format!("{suffix}/forget"))?;
        let own = Self::part(context, sum, 3 * h, h)?;
        let own = self.activated(context, 1, own, &format!("{suffix}/cell"))?;
        let kept = context.add(Binary::new(Mul), &[forget, before.cell])?;
        let new = context.add(Binary::new(Mul), &[input, own])?;
        let cell = context.add(Binary::new(Add), &[kept, new])?;
        let output = self.seen(context, output, 1, cell)?;
        let output = self.activated(context, 0, output, &format!("{suffix}/output"))?;
        let shown = self.activated(context, 2, cell, &format!("{suffix}/shown"))?;
        let output = context.add(Binary::new(Mul), &[output, shown])?;
        Ok(State { output, cell })
    }

    /// A gate that also sees the cell, by weights of its own.
    fn seen(
        &self,
        context: &mut Context<'_>,
        gate: Tensor,
        number: usize,
        cell: Tensor,
    ) -> Result<Tensor, String> {
        let Some(peepholes) = &self.peepholes else {
            return Ok(gate);
        };
        let h = self.hidden;
        let weights = context.constant(&[h], peepholes[number * h..(number + 1) * h].to_vec())?;
        let share = context.add(Binary::new(Mul), &[cell, weights])?;
        context.add(Binary::new(Add), &[gate, share])
    }

    /// Some columns of a matrix.
    fn part(
        context: &mut Context<'_>,
        tensor: Tensor,
        start: usize,
        count: usize,
    ) -> Result<Tensor, String> {
        let mut along = whole(&context.builder.shape(tensor));
        if along[1].len() == count {
            return Ok(tensor);
        }
        along[1] = (start..start + count).map(Some).collect();
        select(context, "Slice", tensor, &along, 0.0)
    }

    /// The activation of that number, as a layer with a name of its own.
    fn activated(
        &self,
        context: &mut Context<'_>,
        number: usize,
        mut tensor: Tensor,
        suffix: &str,
    ) -> Result<Tensor, String> {
        if let Some(clip) = self.clip {
            let bound = format!("{}{suffix}/clip", context.name);
            let clip = Elementwise::new(Clip::new(-clip, clip)?);
            tensor = context.builder.add(clip, &[tensor], &bound)?;
        }
        let name = format!("{}{suffix}", context.name);
        let activation = Arc::clone(&self.activations[number]);
        context.builder.add(activation, &[tensor], &name)
    }
}

fn shared(
    context: &mut Context<'_>,
    op: &Arc<dyn Operator>,
    input: Tensor,
) -> Result<Tensor, String> {
    let name = context.name.to_owned();
    context.builder.add(Arc::clone(op), &[input], &name)
}

/// The activations of one direction, by the node's names and parameters.
fn activations(
    context: &Context<'_>,
    kind: Kind,
    direction: usize,
) -> Result<Vec<Arc<dyn Operator>>, String> {
    let count = kind.activations().len();
    let named = context
        .node
        .strings("activations")
        .map_err(|e| e.to_string())?;
    let alphas = context.floats("activation_alpha")?.unwrap_or_default();
    let betas = context.floats("activation_beta")?.unwrap_or_default();
    let (mut alphas, mut betas) = (alphas.into_iter(), betas.into_iter());
    let all: Vec<String> = match named {
        Some(names) if names.len() > count * direction => names.to_vec(),
        Some(names) => return Err(format!("{} activations", names.len())),
        None => {
            let every = kind.activations().repeat(direction + 1);
            every.into_iter().map(str::to_owned).collect()
        }
    };
    if all.len() < count * (direction + 1) {
        return Err(format!(
            "{} activations, not {count} a direction",
            all.len()
        ));
    }
    let mut made: Vec<Arc<dyn Operator>> = Vec::new();
    for name in &all {
        // Parameters are listed for those activations alone that have some.
        let mut alpha = |default: f64| alphas.next().unwrap_or(default);
        made.push(match name.to_ascii_lowercase().as_str() {
            "sigmoid" => Elementwise::new(Sigmoid).into(),
            "tanh" => Elementwise::new(Tanh).into(),
            "relu" => Elementwise::new(Relu).into(),
            "softsign" => Elementwise::new(Softsign).into(),
            "softplus" => Elementwise::new(Softplus).into(),
            "leakyrelu" => Elementwise::new(LeakyRelu::new(alpha(0.01))?).into(),
            "elu" => Elementwise::new(Elu::new(alpha(1.0))?).into(),
            "hardsigmoid" => {
                let (alpha, beta) = (alpha(0.2), betas.next().unwrap_or(0.5));
                Elementwise::new(HardSigmoid::new(alpha, beta)?).into()
            }
            _ => return Err(format!("activation {} is not supported", quote(name))),
        });
    }
    Ok(made[count * direction..count * (direction + 1)].to_vec())
}
