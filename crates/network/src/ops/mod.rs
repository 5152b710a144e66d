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

/// Exports the operators of these files and tests each against the laws of all operators, on the cases that its
/// file gives.
macro_rules! operators {
    ($($file:ident: $name:ident,)+) => {
        $(pub use $file::$name;)+

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
    abs: Abs,
    add: Add,
    arc: Arc,
    arg_max: ArgMax,
    average_pool: AveragePool,
    axis_map: AxisMap,
    celu: Celu,
    choose: Choose,
    clip: Clip,
    comparison: Comparison,
    concat: Concat,
    conv: Conv,
    dense: Dense,
    div: Div,
    dynamic_quantize: DynamicQuantize,
    elu: Elu,
    erf: Erf,
    exp: Exp,
    gelu: Gelu,
    hard_sigmoid: HardSigmoid,
    hard_swish: HardSwish,
    hyperbolic: Hyperbolic,
    layer_norm: LayerNorm,
    leaky_relu: LeakyRelu,
    log: Log,
    lookup: Lookup,
    mat_mul: MatMul,
    max: Max,
    max_pool: MaxPool,
    min: Min,
    mish: Mish,
    mul: Mul,
    power: Power,
    prelu: PRelu,
    quantize: FakeQuantize,
    reciprocal: Reciprocal,
    reduce: Reduce,
    relu: Relu,
    remainder: Remainder,
    select: Select,
    selu: Selu,
    sigmoid: Sigmoid,
    softmax: Softmax,
    softplus: Softplus,
    softsign: Softsign,
    sparse_map: SparseMap,
    sqrt: Sqrt,
    step: Step,
    sub: Sub,
    tanh: Tanh,
    top_k: TopK,
    transpose: Transpose,
    view: View,
    wave: Wave,
}
