//! The operator table: from an ONNX operator's name to the function that adds it to a network.
//!
//! To support another operator, write its function (in a file of its own unless it is a variant)
//! and give [`TABLE`] a line.

mod activation;
mod angles;
mod arithmetic;
mod attention;
mod context;
mod conv;
mod conv_transpose;
mod cropping;
mod dense;
mod discrete;
mod einsum;
mod fourier;
mod linear;
mod logic;
mod loss;
mod normalization;
mod pool;
mod power;
mod q_linear;
mod quantization;
mod rearrange;
mod recurrent;
mod reduce;
mod resize;
mod rotary;
mod sampling;
mod selection;
mod shape;

pub(super) use context::{Build, Context, constant};

use super::node::Node;
use super::quote::quote;

/// Domain, operator, builder.
const TABLE: &[(&str, &str, Build)] = &[
    ("", "Abs", activation::abs),
    ("", "Acos", angles::acos),
    ("", "Acosh", angles::acosh),
    ("", "Add", arithmetic::add),
    ("", "And", logic::and),
    ("", "ArgMax", discrete::arg_max),
    ("", "ArgMin", discrete::arg_min),
    ("", "Asin", angles::asin),
    ("", "Asinh", angles::asinh),
    ("", "Atan", angles::atan),
    ("", "Atanh", angles::atanh),
    ("", "Attention", attention::attention),
    ("", "AveragePool", pool::average_pool),
    ("", "BatchNormalization", normalization::batch_normalization),
    ("", "BitShift", logic::bit_shift),
    ("", "Cast", discrete::cast),
    ("", "CastLike", discrete::cast_like),
    ("", "Ceil", logic::ceil),
    ("", "Celu", activation::celu),
    ("", "CenterCropPad", cropping::center_crop_pad),
    ("", "Clip", activation::clip),
    ("", "Compress", cropping::compress),
    ("", "Concat", selection::concat),
    ("", "Constant", shape::constant),
    ("", "ConstantOfShape", shape::constant_of_shape),
    ("", "Conv", conv::conv),
    ("", "ConvInteger", q_linear::conv_integer),
    ("", "ConvTranspose", conv_transpose::conv_transpose),
    ("", "Cos", angles::cos),
    ("", "Cosh", angles::cosh),
    ("", "CumProd", logic::cumulative_product),
    ("", "CumSum", logic::cumulative_sum),
    ("", "DFT", fourier::dft),
    ("", "DepthToSpace", rearrange::depth_to_space),
    ("", "DequantizeLinear", quantization::dequantize_linear),
    ("", "Div", arithmetic::div),
    ("", "Dropout", shape::dropout),
    (
        "",
        "DynamicQuantizeLinear",
        quantization::dynamic_quantize_linear,
    ),
    ("", "Einsum", einsum::einsum),
    ("", "Elu", activation::elu),
    ("", "Equal", logic::equal),
    ("", "Erf", activation::erf),
    ("", "Exp", activation::exp),
    ("", "Expand", selection::expand),
    ("", "Flatten", shape::flatten),
    ("", "Floor", logic::floor),
    ("", "GRU", recurrent::gru),
    ("", "Gather", selection::gather),
    ("", "GatherElements", rearrange::gather_elements),
    ("", "GatherND", rearrange::gather_nd),
    ("", "Gelu", activation::gelu),
    ("", "Gemm", dense::gemm),
    ("", "GlobalAveragePool", pool::global_average_pool),
    ("", "GlobalLpPool", pool::global_lp_pool),
    ("", "GlobalMaxPool", pool::global_max_pool),
    ("", "Greater", logic::greater),
    ("", "GreaterOrEqual", logic::greater_or_equal),
    ("", "GridSample", sampling::grid_sample),
    ("", "GroupNormalization", normalization::group_normalization),
    ("", "HardSigmoid", activation::hard_sigmoid),
    ("", "HardSwish", activation::hard_swish),
    ("", "Hardmax", discrete::hard_max),
    ("", "Identity", shape::identity),
    (
        "",
        "InstanceNormalization",
        normalization::instance_normalization,
    ),
    ("", "IsInf", logic::is_infinite),
    ("", "IsNaN", logic::is_nan),
    ("", "LRN", normalization::local_response_normalization),
    ("", "LSTM", recurrent::lstm),
    ("", "LayerNormalization", normalization::layer_normalization),
    ("", "LeakyRelu", activation::leaky_relu),
    ("", "Less", logic::less),
    ("", "LessOrEqual", logic::less_or_equal),
    ("", "Log", activation::log),
    ("", "LogSoftmax", normalization::log_softmax),
    ("", "LpNormalization", normalization::lp_normalization),
    ("", "LpPool", pool::lp_pool),
    ("", "MatMul", dense::mat_mul),
    ("", "MatMulInteger", quantization::mat_mul_integer),
    ("", "Max", arithmetic::max),
    ("", "MaxPool", pool::max_pool),
    ("", "Mean", arithmetic::mean),
    (
        "",
        "MeanVarianceNormalization",
        normalization::mean_variance_normalization,
    ),
    ("", "Min", arithmetic::min),
    ("", "Mish", activation::mish),
    ("", "Mod", logic::modulo),
    ("", "Mul", arithmetic::mul),
    ("", "Neg", arithmetic::neg),
    (
        "",
        "NegativeLogLikelihoodLoss",
        loss::negative_log_likelihood,
    ),
    ("", "Not", logic::not),
    ("", "OneHot", logic::one_hot),
    ("", "Or", logic::or),
    ("", "PRelu", activation::prelu),
    ("", "Pad", selection::pad),
    ("", "Pow", power::pow),
    ("", "QLinearConv", quantization::q_linear_conv),
    ("", "QLinearMatMul", quantization::q_linear_mat_mul),
    ("", "QuantizeLinear", quantization::quantize_linear),
    ("", "RMSNormalization", normalization::rms_normalization),
    ("", "RNN", recurrent::rnn),
    ("", "Range", logic::range),
    ("", "Reciprocal", activation::reciprocal),
    ("", "ReduceL1", reduce::l1),
    ("", "ReduceL2", reduce::l2),
    ("", "ReduceLogSum", reduce::log_sum),
    ("", "ReduceLogSumExp", reduce::log_sum_exp),
    ("", "ReduceMax", reduce::max),
    ("", "ReduceMean", reduce::mean),
    ("", "ReduceMin", reduce::min),
    ("", "ReduceProd", reduce::product),
    ("", "ReduceSum", reduce::sum),
    ("", "ReduceSumSquare", reduce::sum_of_squares),
    ("", "Relu", activation::relu),
    ("", "Reshape", shape::reshape),
    ("", "Resize", resize::resize),
    ("", "ReverseSequence", cropping::reverse_sequence),
    ("", "RotaryEmbedding", rotary::rotary_embedding),
    ("", "Round", logic::round),
    ("", "Scatter", rearrange::scatter_elements),
    ("", "ScatterElements", rearrange::scatter_elements),
    ("", "ScatterND", rearrange::scatter_nd),
    ("", "Selu", activation::selu),
    ("", "Shape", shape::shape),
    ("", "Shrink", activation::shrink),
    ("", "Sigmoid", activation::sigmoid),
    ("", "Sign", logic::sign),
    ("", "Sin", angles::sin),
    ("", "Sinh", angles::sinh),
    ("", "Size", logic::size),
    ("", "Slice", selection::slice),
    ("", "Softmax", normalization::softmax),
    ("", "SoftmaxCrossEntropyLoss", loss::softmax_cross_entropy),
    ("", "Softplus", activation::softplus),
    ("", "Softsign", activation::softsign),
    ("", "SpaceToDepth", rearrange::space_to_depth),
    ("", "Split", selection::split),
    ("", "Sqrt", activation::sqrt),
    ("", "Squeeze", shape::squeeze),
    ("", "Sub", arithmetic::sub),
    ("", "Sum", arithmetic::sum),
    ("", "Swish", activation::swish),
    ("", "Tan", angles::tan),
    ("", "Tanh", activation::tanh),
    ("", "ThresholdedRelu", activation::thresholded_relu),
    ("", "Tile", selection::tile),
    ("", "TopK", discrete::top_k),
    ("", "Transpose", shape::transpose),
    ("", "Trilu", rearrange::trilu),
    ("", "Unsqueeze", shape::unsqueeze),
    ("", "Upsample", resize::resize),
    ("", "Where", rearrange::select_where),
    ("", "Xor", logic::xor),
    (
        "ai.onnx.ml",
        "ArrayFeatureExtractor",
        discrete::array_feature_extractor,
    ),
    ("ai.onnx.ml", "LinearClassifier", linear::linear_classifier),
    ("ai.onnx.ml", "LinearRegressor", linear::linear_regressor),
    ("ai.onnx.ml", "Normalizer", linear::normalizer),
    ("ai.onnx.ml", "Scaler", arithmetic::scaler),
    ("ai.onnx.ml", "ZipMap", shape::identity),
    (
        "com.microsoft",
        "DynamicQuantizeMatMul",
        q_linear::dynamic_quantize_mat_mul,
    ),
    ("com.microsoft", "FusedConv", conv::fused_conv),
    ("com.microsoft", "FusedGemm", dense::fused_gemm),
    ("com.microsoft", "Gelu", activation::gelu),
    (
        "com.microsoft",
        "MatMulIntegerToFloat",
        q_linear::mat_mul_integer_to_float,
    ),
    ("com.microsoft", "QGemm", quantization::q_gemm),
    ("com.microsoft", "QLinearAdd", q_linear::add),
    (
        "com.microsoft",
        "QLinearAveragePool",
        q_linear::average_pool,
    ),
    ("com.microsoft", "QLinearConcat", q_linear::concat),
    (
        "com.microsoft",
        "QLinearGlobalAveragePool",
        q_linear::global_average_pool,
    ),
    ("com.microsoft", "QLinearLeakyRelu", q_linear::leaky_relu),
    ("com.microsoft", "QLinearMul", q_linear::mul),
    ("com.microsoft", "QLinearSigmoid", q_linear::sigmoid),
    ("com.microsoft", "QLinearSoftmax", q_linear::softmax),
];

/// The builder of a node's operator.
pub(super) fn find(node: &Node) -> Option<Build> {
    TABLE
        .iter()
        .find(|(domain, operator, _)| *domain == node.domain && *operator == node.op_type)
        .map(|(_, _, build)| *build)
}

/// Why a node has no builder, and what the user can do.
pub(super) fn unsupported(node: &Node) -> String {
    match node.domain.as_str() {
        "" => "this operator is not supported; \
               simplify the model before export, or ask for the operator"
            .into(),
        domain => format!(
            "this operator of domain {} is not supported; export with standard ONNX operators only",
            quote(domain)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::TABLE;

    #[test]
    fn the_table_is_sorted_and_names_each_operator_once() {
        let names: Vec<_> = TABLE
            .iter()
            .map(|(domain, name, _)| (domain, name))
            .collect();
        assert!(names.is_sorted_by(|a, b| a < b));
    }
}
