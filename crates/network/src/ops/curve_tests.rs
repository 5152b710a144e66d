//! What must hold of every [`Curve`]: the laws of all operators, and that it bends only where it says.

use super::laws::{Laws, Random};
use super::*;
use crate::operator::{
    Batch, Boxes, Evaluate, Nature, Operand, Operator, Phase, Range, Relaxation,
};
use crate::{Scalar, Shape};

impl Laws {
    /// The laws of all operators, and those of curves. `range` is where the curve is defined and its differences
    /// make sense.
    pub fn curve<C: Curve + Clone>(&mut self, curve: C, range: (f64, f64)) {
        between_breaks_it_is_convex_or_concave(&curve, range);
        slopes_and_lines_belong_to_the_value(&curve, range);
        bounds_are_numbers_even_at_infinity(&curve);
        nan_passes_through(&curve);
        let op = Elementwise::new(curve);
        self.check(&op, &[&[1, 70]], &[], range, 1);
        self.check(&op, &[&[2, 3, 2, 5]], &[], range, 2);
        self.check(&op, &[&[]], &[], range, 3);
        self.check(&op, &[&[1, 0]], &[], range, 4);
        // Far out, where exponentials vanish and overflow.
        if range.0 < 0.0 && op.nature(&[false]) != Nature::Discrete && range.1 > 0.0 {
            let wide = (range.0 * 6.0, range.1 * 6.0);
            self.check(&op, &[&[1, 70]], &[], wide, 5);
        }
    }
}

/// Second differences at equal steps keep one sign on each part, beyond rounding.
fn between_breaks_it_is_convex_or_concave<C: Curve>(curve: &C, range: (f64, f64)) {
    let mut ends = vec![range.0];
    ends.extend(
        curve
            .breaks()
            .iter()
            .filter(|b| range.0 < **b && **b < range.1),
    );
    ends.push(range.1);
    for part in ends.windows(2) {
        let steps = 1000;
        let h = (part[1] - part[0]) / f64::from(steps);
        let f = |i: u32| curve.value(part[0] + f64::from(i) * h);
        let (mut rises, mut falls) = (false, false);
        for i in 1..steps {
            let second = f(i - 1) - 2.0 * f(i) + f(i + 1);
            let rounding = 1e-14 * (1.0 + f(i).abs());
            rises |= second > rounding;
            falls |= second < -rounding;
        }
        assert!(!(rises && falls), "{curve:?} bends inside {part:?}");
        if curve.nature() == Nature::PiecewiseLinear {
            assert!(!rises && !falls, "{curve:?} is not straight in {part:?}");
        }
    }
}

/// The slope is the derivative from the right, and straight parts are where they are said to be.
fn slopes_and_lines_belong_to_the_value<C: Curve>(curve: &C, range: (f64, f64)) {
    let h = 1e-7;
    let mut random = Random(7);
    let mut points: Vec<f64> = (0..200)
        .map(|_| random.between(range.0, range.1 - h))
        .collect();
    let inside = |b: &f64| range.0 < *b && *b < range.1;
    points.extend(curve.breaks().iter().copied().filter(inside));
    for x in points {
        let near_break = curve.breaks().iter().any(|b| x < *b && *b < x + h);
        let right = (curve.value(x + h) - curve.value(x)) / h;
        let off = (curve.slope(x) - right).abs();
        assert!(
            near_break || off <= 1e-3 * (1.0 + right.abs()),
            "{curve:?} at {x}: slope {}, not {right}",
            curve.slope(x)
        );
        if let Some((slope, intercept)) = curve.line(x) {
            let line = slope * x + intercept;
            assert!((line - curve.value(x)).abs() < 1e-12 * (1.0 + line.abs()));
            assert!((slope - curve.slope(x)).abs() == 0.0);
        }
    }
}

/// The bounds of an operator over one interval.
fn bounds<T: Scalar>(op: &dyn Evaluate<T>, l: T, u: T) -> ((T, T), [(T, T); 2]) {
    let shape = Shape::new([1]).unwrap();
    let (l, u) = ([l], [u]);
    let operand = |data| Operand {
        data,
        shape: &shape,
        constant: false,
    };
    let boxes = Boxes {
        samples: 1,
        inputs: &[Range {
            lower: operand(&l),
            upper: operand(&u),
        }],
        output: &shape,
    };
    let (mut low, mut high) = ([T::ZERO], [T::ZERO]);
    op.interval(&boxes, &mut low, &mut high, &mut Vec::new());
    let Relaxation::Elementwise { lower, upper } = op.relax(&boxes, &mut Vec::new()) else {
        panic!("curves relax element by element");
    };
    let lines = [lower, upper].map(|(slopes, constants)| (slopes[0], constants[0]));
    ((low[0], high[0]), lines)
}

/// No bound over an interval with ends of any size is anything but a number that holds the values.
fn bounds_are_numbers_even_at_infinity<C: Curve + Clone>(curve: &C) {
    let op = Elementwise::new(curve.clone());
    let far = [
        f64::NEG_INFINITY,
        -f64::MAX,
        -1e30,
        -1e-320,
        0.0,
        2.0,
        1e30,
        f64::MAX,
        f64::INFINITY,
    ];
    for (i, &l) in far.iter().enumerate() {
        for &u in &far[i..] {
            let ((low, high), lines) = bounds::<f64>(&op, l, u);
            assert!(low <= high, "{curve:?} over {l}..{u}: {low}..{high}");
            assert!(lines.iter().all(|(s, c)| s.is_finite() && !c.is_nan()));
            let ((low, high), lines) = bounds::<f32>(&op, l as f32, u as f32);
            assert!(low <= high, "{curve:?} over {l}..{u} in f32");
            assert!(lines.iter().all(|(s, c)| s.is_finite() && !c.is_nan()));
            for x in far.iter().filter(|x| x.is_finite() && l <= **x && **x <= u) {
                let y = curve.at(*x as f32);
                assert!(
                    y.is_nan() || (low <= y && y <= high),
                    "{curve:?} over {l}..{u}: {y} at {x} is outside {low}..{high}"
                );
            }
        }
    }
}

/// What is no number stays none, except in a power of 0.
fn nan_passes_through<C: Curve>(curve: &C) {
    let zeroth_power = curve.kind() == "Pow" && curve.line(0.0) == Some((0.0, 1.0));
    assert!(curve.at(f32::NAN).is_nan() || zeroth_power, "{curve:?}");
}

#[test]
fn relu_takes_the_lines_of_deep_poly() {
    let relu = Elementwise::new(Relu);
    let (range, lines) = bounds(&relu, -1.0f64, 3.0);
    assert_eq!(range, (0.0, 3.0));
    assert_eq!(lines[0], (1.0, 0.0));
    let (slope, constant) = lines[1];
    assert!((slope - 0.75).abs() == 0.0);
    assert!((constant - 0.75).abs() < 1e-14 && constant >= 0.75);
    assert_eq!(bounds(&relu, -3.0f32, 1.0).1[0], (0.0, 0.0));
    assert_eq!(bounds(&relu, 0.1f32, 0.2).1, [(1.0, 0.0); 2]);
    assert_eq!(bounds(&relu, -0.2f32, 0.0).1, [(0.0, 0.0); 2]);
    assert_eq!(bounds(&relu, f32::NEG_INFINITY, -1.0).1, [(0.0, 0.0); 2]);
}

#[test]
fn a_neuron_at_zero_is_active() {
    let shape = Shape::new([4]).unwrap();
    let batch = Batch {
        samples: 1,
        inputs: &[Operand {
            data: &[-1.0f32, -0.0, 0.0, 1.0],
            shape: &shape,
            constant: false,
        }],
        output: &shape,
    };
    let phase = Elementwise::new(Relu).phase(&batch, &[]);
    let expected = Phase::Signs {
        bits: vec![0b1110],
        words: 1,
    };
    assert_eq!(phase, expected);
}

#[test]
fn straight_parts_are_exact() {
    let six = Elementwise::new(Clip::new(0.0, 6.0).unwrap());
    assert_eq!(bounds(&six, 1.0f32, 2.0).1, [(1.0, 0.0); 2]);
    assert_eq!(bounds(&six, 6.0f32, 9.0).1, [(0.0, 6.0); 2]);
    let leaky = Elementwise::new(LeakyRelu::new(0.125).unwrap());
    assert_eq!(bounds(&leaky, -2.0f64, -1.0).1, [(0.125, 0.0); 2]);
    assert_eq!(bounds(&Elementwise::new(Abs), -2.0f64, 1.0).0, (0.0, 2.0));
    let elu = Elementwise::new(Elu::new(1.0).unwrap());
    assert_eq!(bounds(&elu, 0.5f64, 1.0).1, [(1.0, 0.0); 2]);
    assert_eq!(bounds(&elu, 0.5f64, 1.0).0, (0.5, 1.0));
}

#[test]
fn smooth_bounds_are_tight() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a}, {b}");
    let ((low, high), _) = bounds(&Elementwise::new(Gelu::Exact), -2.0f64, 1.0);
    // The minimum of Gelu lies at -0.7518.
    near(low, -0.169_971_207_479_903_66);
    near(high, 0.841_344_746_068_542_9);
    let (_, [below, above]) = bounds(&Elementwise::new(Exp), 0.0f64, 1.0);
    let chord = std::f64::consts::E - 1.0;
    near(below.0, chord);
    near(above.0, chord);
    near(above.1, 1.0);
    // The tangent with the chord's slope touches at ln(slope).
    near(below.1, chord - chord * chord.ln());
}

#[test]
fn outside_the_domain_nothing_is_known() {
    let all = (f64::NEG_INFINITY, f64::INFINITY);
    assert_eq!(bounds(&Elementwise::new(Log), -1.0f64, 1.0).0, all);
    assert_eq!(bounds(&Elementwise::new(Sqrt), -1.0f64, 1.0).0, all);
    assert_eq!(bounds(&Elementwise::new(Reciprocal), -1.0f64, 1.0).0, all);
    let root = Power::new(0.5).unwrap();
    assert_eq!(bounds(&Elementwise::new(root), -1.0f64, 1.0).0, all);
}

#[test]
fn known_values() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-14 * (1.0 + b.abs()), "{a} is not {b}");
    near(Elu::new(2.0).unwrap().value(-1.0), -1.264_241_117_657_115_4);
    near(
        Selu::new(1.5, 2.0).unwrap().value(-1.0),
        -1.896_361_676_485_673,
    );
    near(
        Celu::new(2.0).unwrap().value(-1.0),
        -0.786_938_680_574_733_3,
    );
    near(Sigmoid.value(1.0), 0.731_058_578_630_004_9);
    near(Sigmoid.value(-800.0), 0.0);
    near(Tanh.value(0.5), 0.462_117_157_260_009_74);
    near(Softplus.value(1.0), 1.313_261_687_518_222_8);
    near(Softplus.value(1000.0), 1000.0);
    near(Softsign.value(-3.0), -0.75);
    near(HardSwish.value(1.0), 2.0 / 3.0);
    near(HardSwish.value(-1.0), -1.0 / 3.0);
    near(Mish.value(1.0), 0.865_098_388_267_310_3);
    near(Mish.value(-1.0), -0.303_401_461_374_108_9);
    near(Erf.value(0.5), 0.520_499_877_813_046_5);
    near(Exp.value(1.0), std::f64::consts::E);
    near(Log.value(2.0), std::f64::consts::LN_2);
    near(Sqrt.value(2.0), std::f64::consts::SQRT_2);
    near(Reciprocal.value(-4.0), -0.25);
}

#[test]
fn natures_and_activations() {
    let of = |op: &dyn Operator| (op.nature(&[false]), op.is_activation());
    assert_eq!(of(&Elementwise::new(Relu)), (Nature::PiecewiseLinear, true));
    assert_eq!(of(&Elementwise::new(Tanh)), (Nature::Smooth, true));
    assert_eq!(of(&Elementwise::new(Exp)), (Nature::Smooth, false));
    let open = Clip::new(f64::NEG_INFINITY, f64::INFINITY).unwrap();
    assert_eq!(of(&Elementwise::new(open)), (Nature::Affine, true));
}
