//! Concrete execution of a batch.
//!
//! A batch is cut into chunks small enough that the tensors between operators stay in the cache;
//! each chunk runs through the whole network before the next, and chunks run in parallel. No
//! number depends on where the cuts are.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::network::{Network, Point, Source, ValueId};
use crate::operator::{Batch, Operand, Phase};
use crate::ops::reorder;
use crate::tape::Tape;
use crate::workspace::{Buffer, Workspace};
use crate::{Scalar, Shape};

/// What a run keeps.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    keep: Vec<Point>,
    differentiate: Vec<Point>,
}

impl Pass {
    /// Keeps these tensors and nothing else.
    pub fn keep(points: impl IntoIterator<Item = Point>) -> Self {
        Self {
            keep: points.into_iter().collect(),
            differentiate: Vec::new(),
        }
    }

    /// The tensors kept.
    pub fn points(&self) -> &[Point] {
        &self.keep
    }

    /// Also records what derivatives of these tensors need: a bit per unit for a Relu, an index for
    /// a maximum.
    #[must_use]
    pub fn differentiating(mut self, points: impl IntoIterator<Item = Point>) -> Self {
        self.differentiate.extend(points);
        self
    }
}

/// What was kept of a run: tensors in the model file's order, sample by sample.
#[derive(Debug, Clone, Default)]
pub struct Trace<T> {
    samples: usize,
    kept: Vec<(Point, Vec<T>)>,
    tape: Option<Tape<T>>,
}

impl<T: Scalar> Trace<T> {
    /// How many samples were run.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// A tensor that was asked for, all samples.
    ///
    /// # Panics
    /// When it was not asked for.
    pub fn get(&self, point: Point) -> &[T] {
        match self.kept.iter().find(|(kept, _)| *kept == point) {
            Some((_, data)) => data,
            // Whoever reads a tensor asked for it in the pass before; what a file names is looked up in the network
            // first, and becomes a point to ask for.
            None => panic!("{point:?} was not kept in this trace"),
        }
    }

    /// A tensor of one sample.
    pub fn sample(&self, point: Point, sample: usize) -> &[T] {
        let all = self.get(point);
        let each = all.len() / self.samples.max(1);
        &all[sample * each..(sample + 1) * each]
    }

    /// The record for derivatives, when one was asked for.
    pub fn tape(&self) -> Option<&Tape<T>> {
        self.tape.as_ref()
    }

    /// Bytes held: what was asked for, and no more.
    pub fn bytes(&self) -> usize {
        let kept: usize = self
            .kept
            .iter()
            .map(|(_, d)| size_of_val(d.as_slice()))
            .sum();
        kept + self.tape.as_ref().map_or(0, Tape::bytes)
    }
}

/// Bytes of tensors that a chunk may hold between operators: about what a second-level cache
/// keeps beside the weights.
const CHUNK_BYTES: usize = 1 << 19;
/// Most samples of a chunk; more would only make threads wait for the last one.
const CHUNK_SAMPLES: usize = 48;

impl Network {
    /// Runs a batch: `inputs` holds whole samples one after the other, in the model file's order.
    ///
    /// # Panics
    /// When `inputs` is not a whole number of samples.
    pub fn forward<T: Scalar>(&self, inputs: &[T], pass: &Pass) -> Trace<T> {
        let mut trace = Trace::default();
        self.forward_into(inputs, pass, &mut trace);
        trace
    }

    /// As [`Network::forward`], into the memory of a trace that is no longer needed.
    ///
    /// # Panics
    /// When `inputs` is not a whole number of samples.
    pub fn forward_into<T: Scalar>(&self, inputs: &[T], pass: &Pass, trace: &mut Trace<T>) {
        let each = self.input_elements();
        assert_eq!(
            inputs.len() % each.max(1),
            0,
            "inputs must be whole samples"
        );
        let samples = inputs.len() / each.max(1);
        let run = Run::new(self, pass);
        let chunk = self.chunk::<T>(&run.needed);
        let mut old = std::mem::take(&mut trace.kept).into_iter();
        let mut kept: Vec<(Point, Vec<T>)> = pass
            .keep
            .iter()
            .map(|&point| {
                let mut buffer = old.next().map(|(_, buffer)| buffer).unwrap_or_default();
                buffer.resize(samples * self.elements(point), T::ZERO);
                (point, buffer)
            })
            .collect();
        let workspaces = T::workspaces(&self.workspaces);
        let parts: Vec<Vec<Phase<T>>> = split(&mut kept, samples, chunk)
            .into_par_iter()
            .zip(inputs.par_chunks((chunk * each).max(1)))
            .map(|(outputs, inputs)| workspaces.with(|w| run.chunk(inputs, outputs, w, None)))
            .collect();
        *trace = Trace {
            samples,
            kept,
            tape: (!pass.differentiate.is_empty()).then(|| Tape::new(chunk, parts)),
        };
    }

    /// The logits of a batch.
    pub fn logits<T: Scalar>(&self, inputs: &[T]) -> Vec<T> {
        let pass = Pass::keep([Point::Logits]);
        let mut trace = self.forward(inputs, &pass);
        trace.kept.swap_remove(0).1
    }

    /// Runs a batch on this thread for its logits, adding what each operator takes to its place in `times`.
    pub(crate) fn forward_timed<T: Scalar>(&self, inputs: &[T], times: &mut [Duration]) {
        let run = Run::new(self, &Pass::keep([Point::Logits]));
        let chunk = self.chunk::<T>(&run.needed);
        let (each_in, each_out) = (self.input_elements(), self.elements(Point::Logits));
        let mut logits = vec![T::ZERO; chunk * each_out];
        T::workspaces(&self.workspaces).with(|workspace| {
            for inputs in inputs.chunks((chunk * each_in).max(1)) {
                let logits = &mut logits[..inputs.len() / each_in.max(1) * each_out];
                run.chunk(inputs, vec![logits], workspace, Some(times));
            }
        });
    }

    /// Samples of a chunk when these nodes run.
    pub(crate) fn chunk<T>(&self, needed: &[bool]) -> usize {
        let widest = self
            .nodes
            .iter()
            .zip(needed)
            .filter(|(_, needed)| **needed)
            .map(|(node, _)| {
                let inputs: usize = node
                    .inputs
                    .iter()
                    .map(|(v, _)| self.values[*v].elements)
                    .sum();
                inputs + node.shape.elements()
            })
            .max()
            .unwrap_or(1);
        (CHUNK_BYTES / (widest * size_of::<T>()).max(1)).clamp(1, CHUNK_SAMPLES)
    }
}

/// For each chunk, its part of every kept tensor.
fn split<T>(kept: &mut [(Point, Vec<T>)], samples: usize, chunk: usize) -> Vec<Vec<&mut [T]>> {
    let chunks = samples.div_ceil(chunk);
    let mut parts: Vec<Vec<&mut [T]>> = (0..chunks).map(|_| Vec::new()).collect();
    for (_, data) in kept {
        let each = data.len() / samples.max(1);
        let mut pieces = data.chunks_mut((each * chunk).max(1));
        for part in &mut parts {
            part.push(pieces.next().unwrap_or_default());
        }
    }
    parts
}

/// One pass through the network, before it meets numbers.
struct Run<'a> {
    network: &'a Network,
    needed: Vec<bool>,
    taped: Vec<bool>,
    /// Kept tensors by the stored tensor they are read from.
    keep: Vec<(ValueId, Point)>,
    /// How many nodes read each stored tensor.
    readers: Vec<usize>,
}

impl<'a> Run<'a> {
    fn new(network: &'a Network, pass: &Pass) -> Self {
        let values = |points: &[Point]| -> Vec<ValueId> {
            points.iter().map(|&p| network.place(p).value).collect()
        };
        let (kept, differentiated) = (values(&pass.keep), values(&pass.differentiate));
        let needed = network.ancestors(kept.iter().chain(&differentiated).copied());
        let taped = network.ancestors(differentiated.into_iter());
        let mut readers = vec![0; network.values.len()];
        for (node, _) in network.nodes.iter().zip(&needed).filter(|(_, n)| **n) {
            for (value, _) in &node.inputs {
                readers[*value] += 1;
            }
        }
        Self {
            network,
            needed,
            taped,
            keep: kept.into_iter().zip(pass.keep.iter().copied()).collect(),
            readers,
        }
    }

    fn chunk<T: Scalar>(
        &self,
        inputs: &[T],
        mut outputs: Vec<&mut [T]>,
        workspace: &mut Workspace<T>,
        mut times: Option<&mut [Duration]>,
    ) -> Vec<Phase<T>> {
        let network = self.network;
        let samples = inputs.len() / network.input_elements().max(1);
        let mut stored: Vec<Option<Buffer<T>>> = (0..network.values.len()).map(|_| None).collect();
        let mut readers = self.readers.clone();
        let mut phases = Vec::with_capacity(network.nodes.len());
        self.save(network.input.value, inputs, &mut outputs);
        self.save_constants(&mut outputs);
        for (index, node) in network.nodes.iter().enumerate() {
            if !self.needed[index] {
                phases.push(Phase::Fixed);
                continue;
            }
            let start = times.is_some().then(Instant::now);
            let (output, phase) = if let Some(output) = self.in_place(index, &readers, &mut stored)
            {
                (output, Phase::Fixed)
            } else {
                let operands: Vec<Operand<'_, T>> = node
                    .inputs
                    .iter()
                    .map(|(value, shape)| self.operand(*value, shape, inputs, &stored))
                    .collect();
                let batch = Batch {
                    samples,
                    inputs: &operands,
                    output: &node.shape,
                };
                let mut output = workspace.take(samples * node.shape.elements());
                let op = T::evaluate(node.op.as_ref());
                op.forward(&batch, &mut output, &mut workspace.scratch);
                let phase = if self.taped[index] {
                    op.phase(&batch, &output)
                } else {
                    Phase::Fixed
                };
                (output, phase)
            };
            phases.push(phase);
            if let (Some(times), Some(start)) = (&mut times, start) {
                times[index] += start.elapsed();
            }
            self.save(node.output, &output, &mut outputs);
            stored[node.output] = Some(output);
            for value in node.inputs.iter().map(|(v, _)| *v).chain([node.output]) {
                if value != node.output {
                    readers[value] -= 1;
                }
                if readers[value] == 0
                    && let Some(buffer) = stored[value].take()
                {
                    workspace.give(buffer);
                }
            }
        }
        phases
    }

    /// The output of a node in the place of its input, where nobody else reads that and the operator can.
    fn in_place<T: Scalar>(
        &self,
        index: usize,
        readers: &[usize],
        stored: &mut [Option<Buffer<T>>],
    ) -> Option<Buffer<T>> {
        let node = &self.network.nodes[index];
        let [(value, _)] = node.inputs.as_slice() else {
            return None;
        };
        if self.taped[index] || readers[*value] != 1 {
            return None;
        }
        let mut buffer = stored[*value].take()?;
        if T::evaluate(node.op.as_ref()).forward_in_place(&mut buffer) {
            return Some(buffer);
        }
        stored[*value] = Some(buffer);
        None
    }

    fn operand<'b, T: Scalar>(
        &'b self,
        value: ValueId,
        shape: &'b Shape,
        inputs: &'b [T],
        stored: &'b [Option<Buffer<T>>],
    ) -> Operand<'b, T> {
        let (data, constant): (&[T], bool) = match &self.network.values[value].source {
            Source::Input => (inputs, false),
            Source::Constant(constant) => (T::constant(constant), true),
            Source::Node(_) => (stored[value].as_deref().unwrap_or_default(), false),
        };
        Operand {
            data,
            shape,
            constant,
        }
    }

    /// Copies what is part of the model to where it is kept: the same for every sample.
    fn save_constants<T: Scalar>(&self, outputs: &mut [&mut [T]]) {
        for ((value, point), output) in self.keep.iter().zip(outputs) {
            if let Source::Constant(constant) = &self.network.values[*value].source {
                let place = self.network.place(*point);
                for to in output.chunks_exact_mut(place.shape.elements().max(1)) {
                    reorder(&place.order, &place.shape, T::constant(constant), to);
                }
            }
        }
    }

    /// Copies a stored tensor to where it is kept, in the model file's order.
    fn save<T: Scalar>(&self, value: ValueId, data: &[T], outputs: &mut [&mut [T]]) {
        for (slot, (kept, point)) in self.keep.iter().enumerate() {
            if *kept == value {
                let place = self.network.place(*point);
                let each = place.shape.elements().max(1);
                for (from, to) in data
                    .chunks_exact(each)
                    .zip(outputs[slot].chunks_exact_mut(each))
                {
                    reorder(&place.order, &place.shape, from, to);
                }
            }
        }
    }
}
