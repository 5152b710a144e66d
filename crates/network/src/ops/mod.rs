//! The operators, one file each.

mod abs;
mod add;
mod affine;
mod arc;
mod arg_max;
mod average_pool;
mod axis_map;
mod binary;
mod broadcast;
mod celu;
mod choose;
mod clip;
mod comparison;
mod concat;
mod conv;
mod curve;
#[cfg(test)]
mod curve_tests;
mod dense;
mod div;
mod dynamic_quantize;
mod elementwise;
mod elu;
mod envelope;
mod erf;
mod exp;
mod exponential;
mod gelu;
mod hard_sigmoid;
mod hard_swish;
mod hyperbolic;
#[cfg(test)]
mod laws;
mod layer_norm;
mod leaky_relu;
mod log;
mod lookup;
mod mat_mul;
mod max;
mod max_pool;
mod min;
mod mish;
mod mul;
mod outward;
mod power;
mod prelu;
mod quantize;
mod reciprocal;
mod reduce;
mod relu;
mod remainder;
mod select;
mod selu;
mod sigmoid;
mod softmax;
mod softplus;
mod softsign;
mod sparse_map;
mod sqrt;
mod step;
mod sub;
#[cfg(test)]
mod table_tests;
mod tanh;
mod top_k;
mod transpose;
mod view;
mod wave;
mod window;

pub use axis_map::AxisRow;
pub use binary::{Binary, Pairwise, Plane};
pub use curve::Curve;
pub use dense::Lie;
pub use elementwise::Elementwise;
pub use quantize::QuantizedOutput;
pub use select::FILL;
pub use top_k::Ranked;
pub use transpose::reorder;
pub use window::Window;

/// Exports what these files define and makes the operators of it that networks hold; tests each against the laws of all
/// operators, on the cases that its file gives.
///
/// Operators become shared here, in functions without parameters, so that this crate compiles what they do, once. Where
/// the caller shared them, the crate that reads model files compiled all of them a second time.
macro_rules! operators {
    ($($file:ident: $name:ident => $operator:ty,)+) => {
        $(pub use $file::$name;)+

        $(
            impl From<$operator> for std::sync::Arc<dyn crate::Operator> {
                #[inline(never)]
                fn from(operator: $operator) -> Self {
                    std::sync::Arc::new(operator)
                }
            }
        )+

        #[cfg(test)]
        mod obeys_the_laws {
            pub(super) const FILES: &[&str] = &[$(stringify!($file)),+];

            $(
                #[test]
                fn $file() {
                    super::laws::obeyed_by::<super::$name>(super::$file::tests::laws);
                }
            )+
        }
    };
}

operators! {
    abs: Abs => Elementwise<Abs>,
    add: Add => Binary<Add>,
    arc: Arc => Elementwise<Arc>,
    arg_max: ArgMax => ArgMax,
    average_pool: AveragePool => AveragePool,
    axis_map: AxisMap => AxisMap,
    celu: Celu => Elementwise<Celu>,
    choose: Choose => Choose,
    clip: Clip => Elementwise<Clip>,
    comparison: Comparison => Binary<Comparison>,
    concat: Concat => Concat,
    conv: Conv => Conv,
    dense: Dense => Dense,
    div: Div => Binary<Div>,
    dynamic_quantize: DynamicQuantize => DynamicQuantize,
    elu: Elu => Elementwise<Elu>,
    erf: Erf => Elementwise<Erf>,
    exp: Exp => Elementwise<Exp>,
    gelu: Gelu => Elementwise<Gelu>,
    hard_sigmoid: HardSigmoid => Elementwise<HardSigmoid>,
    hard_swish: HardSwish => Elementwise<HardSwish>,
    hyperbolic: Hyperbolic => Elementwise<Hyperbolic>,
    layer_norm: LayerNorm => LayerNorm,
    leaky_relu: LeakyRelu => Elementwise<LeakyRelu>,
    log: Log => Elementwise<Log>,
    lookup: Lookup => Lookup,
    mat_mul: MatMul => MatMul,
    max: Max => Binary<Max>,
    max_pool: MaxPool => MaxPool,
    min: Min => Binary<Min>,
    mish: Mish => Elementwise<Mish>,
    mul: Mul => Binary<Mul>,
    power: Power => Elementwise<Power>,
    prelu: PRelu => PRelu,
    quantize: FakeQuantize => FakeQuantize,
    reciprocal: Reciprocal => Elementwise<Reciprocal>,
    reduce: Reduce => Reduce,
    relu: Relu => Elementwise<Relu>,
    remainder: Remainder => Binary<Remainder>,
    select: Select => Select,
    selu: Selu => Elementwise<Selu>,
    sigmoid: Sigmoid => Elementwise<Sigmoid>,
    softmax: Softmax => Softmax,
    softplus: Softplus => Elementwise<Softplus>,
    softsign: Softsign => Elementwise<Softsign>,
    sparse_map: SparseMap => SparseMap,
    sqrt: Sqrt => Elementwise<Sqrt>,
    step: Step => Step,
    sub: Sub => Binary<Sub>,
    tanh: Tanh => Elementwise<Tanh>,
    top_k: TopK => TopK,
    transpose: Transpose => Transpose,
    view: View => View,
    wave: Wave => Wave,
}
