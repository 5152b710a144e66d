//! What every operator can do: infer its shape, run on a batch, pull cotangents back, and bound
//! itself. To add one, write `ops/<name>.rs` and give the table of operators (`ops/mod.rs`) and that of the model
//! format a line.
//!
//! Operators see tensors in row-major order, one sample after the other. Which order of axes the
//! model file had is the builder's business (see [`crate::NetworkBuilder`]).

use std::fmt::Debug;
use std::sync::Arc;

use crate::plain::{AffineRow, StraightPart};
use crate::{Head, Order, Scalar, Shape, bits};

/// How an operator depends on its (non-constant) inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nature {
    /// A linear map plus a constant: exact in every analysis.
    Affine,
    /// Affine once its phase is fixed.
    PiecewiseLinear,
    /// Differentiable; analyses linearise it at a point or relax it, never exactly.
    Smooth,
    /// Rounds, compares or counts: it runs, its derivative is zero or a convention, and no
    /// symbolic engine sees through it.
    Discrete,
}

/// One tensor argument over a batch.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a, T> {
    /// The numbers: one sample after the other, or one tensor for all when constant.
    pub data: &'a [T],
    /// Shape of one sample.
    pub shape: &'a Shape,
    /// Whether the tensor is part of the model and the same for every sample.
    pub constant: bool,
}

impl<'a, T> Operand<'a, T> {
    /// The tensor of one sample.
    #[inline]
    pub fn sample(&self, s: usize) -> &'a [T] {
        if self.constant {
            self.data
        } else {
            let n = self.shape.elements();
            &self.data[s * n..(s + 1) * n]
        }
    }
}

/// The arguments of a batched call.
pub struct Batch<'a, T> {
    /// How many samples.
    pub samples: usize,
    /// The tensors.
    pub inputs: &'a [Operand<'a, T>],
    /// Shape of one output sample.
    pub output: &'a Shape,
}

/// An interval argument over a batch of boxes.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a, T> {
    /// Lower ends.
    pub lower: Operand<'a, T>,
    /// Upper ends.
    pub upper: Operand<'a, T>,
}

/// The arguments of an interval call.
pub struct Boxes<'a, T> {
    /// How many boxes.
    pub samples: usize,
    /// The tensors' ranges.
    pub inputs: &'a [Range<'a, T>],
    /// Shape of one output sample.
    pub output: &'a Shape,
}

/// What a pass at a point fixes: with it, the operator's derivative is known. One entry per
/// sample follows the other.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase<T> {
    /// The derivative depends on nothing.
    Fixed,
    /// One bit an element, `words` words a sample.
    Signs {
        /// The bits.
        bits: Vec<u64>,
        /// Words of one sample.
        words: usize,
    },
    /// Which input element each output takes, `each` entries a sample.
    Choice {
        /// Index into the input sample.
        index: Vec<u32>,
        /// Entries of one sample.
        each: usize,
    },
    /// Numbers the derivative is computed from, `each` a sample.
    Values {
        /// The numbers.
        values: Vec<T>,
        /// Numbers of one sample.
        each: usize,
    },
}

/// One sample's part of a [`Phase`].
#[derive(Clone, Copy, Debug)]
pub enum PhaseRow<'a, T> {
    /// See [`Phase::Fixed`].
    Fixed,
    /// See [`Phase::Signs`].
    Signs(&'a [u64]),
    /// See [`Phase::Choice`].
    Choice(&'a [u32]),
    /// See [`Phase::Values`].
    Values(&'a [T]),
}

impl<T: Scalar> Phase<T> {
    /// Whether something holds of each element of an operand.
    pub fn signs(samples: usize, operand: &Operand<'_, T>, holds: impl Fn(T) -> bool) -> Self {
        let words = operand.shape.elements().div_ceil(64);
        let mut bits = Vec::with_capacity(samples * words);
        for s in 0..samples {
            bits.extend(bits::pack(operand.sample(s), &holds));
        }
        Self::Signs { bits, words }
    }
}

impl<T> Phase<T> {
    /// The part of one sample.
    pub fn row(&self, sample: usize) -> PhaseRow<'_, T> {
        fn part<U>(all: &[U], each: usize, sample: usize) -> &[U] {
            &all[sample * each..(sample + 1) * each]
        }
        match self {
            Self::Fixed => PhaseRow::Fixed,
            Self::Signs { bits, words } => PhaseRow::Signs(part(bits, *words, sample)),
            Self::Choice { index, each } => PhaseRow::Choice(part(index, *each, sample)),
            Self::Values { values, each } => PhaseRow::Values(part(values, *each, sample)),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Fixed => 0,
            Self::Signs { bits, .. } => size_of_val(bits.as_slice()),
            Self::Choice { index, .. } => size_of_val(index.as_slice()),
            Self::Values { values, .. } => size_of_val(values.as_slice()),
        }
    }
}

/// The arguments of a backward call: each row is one vector-Jacobian product.
pub struct Backward<'a, T> {
    /// How many rows.
    pub rows: usize,
    /// The phase of the sample each row is taken at.
    pub phases: &'a [PhaseRow<'a, T>],
    /// Shapes of the inputs, with the numbers of those that are constant.
    pub inputs: &'a [(&'a Shape, Option<&'a [T]>)],
    /// Shape of one output sample.
    pub output: &'a Shape,
}

/// Linear functions below and above an output, over the elements of the inputs.
#[derive(Clone, Debug)]
pub enum Relaxation<T> {
    /// Element `e` of the output lies between `lower.0[e] * x + lower.1[e]` and
    /// `upper.0[e] * x + upper.1[e]`, where `x` is element `e` of the one variable input.
    Elementwise {
        /// Slopes and constants below.
        lower: (Vec<T>, Vec<T>),
        /// Slopes and constants above.
        upper: (Vec<T>, Vec<T>),
    },
    /// Each output by the few input elements it depends on.
    Sparse {
        /// Functions below.
        lower: SparseRows<T>,
        /// Functions above.
        upper: SparseRows<T>,
    },
}

/// One sparse linear function per output element.
#[derive(Clone, Debug, Default)]
pub struct SparseRows<T> {
    /// Entries of output `e` are `starts[e]..starts[e + 1]`.
    pub starts: Vec<usize>,
    /// Which input, which element of it, and the coefficient.
    pub entries: Vec<(u32, u32, T)>,
    /// The constant of each output.
    pub constants: Vec<T>,
}

impl<T: Scalar> SparseRows<T> {
    /// Functions that do not depend on the inputs.
    pub fn constants(constants: Vec<T>) -> Self {
        Self {
            starts: vec![0; constants.len() + 1],
            entries: Vec::new(),
            constants,
        }
    }

    /// Appends the function of the next output.
    pub fn push(&mut self, entries: impl IntoIterator<Item = (u32, u32, T)>, constant: T) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.entries.extend(entries);
        self.starts.push(self.entries.len());
        self.constants.push(constant);
    }
}

/// Numbers an operator may use during one call; reused between calls.
pub type Scratch<T> = Vec<T>;

/// An operator in one number type.
pub trait Evaluate<T: Scalar> {
    /// Runs a batch. `output` holds `samples` tensors and is overwritten.
    fn forward(&self, batch: &Batch<'_, T>, output: &mut [T], scratch: &mut Scratch<T>);

    /// For an operator of one input that maps every number by itself: puts the images in the place of the
    /// numbers, and says so.
    fn forward_in_place(&self, _numbers: &mut [T]) -> bool {
        false
    }

    /// What [`Evaluate::vjp`] needs to know of a point, after `output` was computed there.
    fn phase(&self, _batch: &Batch<'_, T>, _output: &[T]) -> Phase<T> {
        Phase::Fixed
    }

    /// Pulls cotangents of the output back to input number `input`, overwriting `result`.
    fn vjp(
        &self,
        input: usize,
        call: &Backward<'_, T>,
        cotangent: &[T],
        result: &mut [T],
        scratch: &mut Scratch<T>,
    );

    /// Ranges of the output over boxes of inputs. They contain what [`Evaluate::forward`] computes
    /// in `T`, rounding included, for every point of the box.
    fn interval(
        &self,
        boxes: &Boxes<'_, T>,
        lower: &mut [T],
        upper: &mut [T],
        scratch: &mut Scratch<T>,
    );

    /// Linear functions below and above the output over *one* box. Not called for operators that
    /// are affine in their variable inputs. The default knows nothing but the range.
    fn relax(&self, boxes: &Boxes<'_, T>, scratch: &mut Scratch<T>) -> Relaxation<T> {
        let mut lower = vec![T::ZERO; boxes.output.elements()];
        let mut upper = lower.clone();
        self.interval(boxes, &mut lower, &mut upper, scratch);
        Relaxation::Sparse {
            lower: SparseRows::constants(lower),
            upper: SparseRows::constants(upper),
        }
    }
}

/// Whether an operator commutes with a reordering of axes.
pub enum Reordered {
    /// The same operator does the work on reordered inputs.
    Same,
    /// This one does.
    By(Arc<dyn Operator>),
    /// None does; the inputs must be put back in order first.
    No,
}

/// The shape of the input of an operator that takes one.
pub(crate) fn shape_of_one<'s>(kind: &str, inputs: &[&'s Shape]) -> Result<&'s Shape, String> {
    match inputs {
        [input] => Ok(input),
        _ => Err(format!("{kind} takes one input, not {}", inputs.len())),
    }
}

/// One operator with its parameters.
pub trait Operator: Evaluate<f32> + Evaluate<f64> + Debug + Send + Sync {
    /// Its name, as ONNX spells it where ONNX has it.
    fn kind(&self) -> &'static str;

    /// Shape of the output for one sample, or what is wrong with the inputs.
    fn output_shape(&self, inputs: &[&Shape]) -> Result<Shape, String>;

    /// How the output depends on the inputs, told which of them are constant.
    fn nature(&self, constant: &[bool]) -> Nature;

    /// Why a network cannot have it where these of its inputs are constant and the others are computed, if it cannot.
    fn refusal(&self, _constant: &[bool]) -> Option<String> {
        None
    }

    /// Whether this is an activation: a hidden layer, whose inputs are its neurons.
    fn is_activation(&self) -> bool {
        false
    }

    /// What this makes of logits when it is the last operator: none for operators that do not keep the
    /// order of all elements of a sample.
    fn head(&self, _input: &Shape) -> Option<Head> {
        None
    }

    /// Whether the output has the input's numbers in the input's order, so that no work is done.
    fn is_view(&self) -> bool {
        false
    }

    /// The operator `f'` with `f(reorder(x)) = reorder(f'(x))`, all inputs reordered alike. Inputs
    /// have the rank of `order`.
    fn reordered(&self, _order: &Order) -> Reordered {
        Reordered::No
    }

    /// Which elements of an input some elements of the output can depend on, whatever the numbers.
    /// The default says all of them.
    fn cone(
        &self,
        input: usize,
        inputs: &[&Shape],
        _output: &Shape,
        _elements: &[usize],
    ) -> Vec<usize> {
        (0..inputs[input].elements()).collect()
    }

    /// Whether two elements of the output have the same [`Operator::cone`] for a reason that costs nothing to see.
    fn shares_cone(&self, a: usize, b: usize) -> bool {
        a == b
    }

    /// For an operator that is affine in its variable inputs: writes which of their elements an output
    /// element is a sum of, with which weights, and says so. An operator states this from what it
    /// stores and never by running itself, so that an analysis of the rows shares no arithmetic with
    /// execution. The row comes empty; the inputs are told by shape, with the numbers of constants.
    fn affine_row(
        &self,
        _element: usize,
        _inputs: &[(&Shape, Option<&[f64]>)],
        _output: &Shape,
        _row: &mut AffineRow,
    ) -> bool {
        false
    }

    /// For a function of one number that is made of straight parts: the parts.
    fn straight_parts(&self) -> Option<Vec<StraightPart>> {
        None
    }

    /// Whether each output is the largest of the input elements in its [`Operator::cone`].
    fn takes_largest(&self) -> bool {
        false
    }

    /// Whether each output is the smallest of the input elements in its [`Operator::cone`].
    fn takes_smallest(&self) -> bool {
        false
    }

    /// Whether each output is the element of input 0 in its place where that is at least 0, and
    /// elsewhere that element times one of input 1, a constant.
    fn leaks(&self) -> bool {
        false
    }

    /// This operator followed by a multiplication and an addition for each element of the last axis, as one
    /// operator, if there is such a one.
    fn then(&self, _factor: &[f64], _shift: &[f64]) -> Option<Arc<dyn Operator>> {
        None
    }

    /// For an operator that only reorders axes: the order.
    fn as_reordering(&self) -> Option<&Order> {
        None
    }
}
