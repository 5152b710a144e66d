//! DFT: a linear map along one axis of complex numbers, which are the last axis.

use std::f64::consts::TAU;

use deepconcolic_network::ops::{Dense, Lie, Transpose, View};
use deepconcolic_network::{Numbers, Order, Shape};

use super::context::{Context, float};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

/// The longest axis whose matrix is written out.
const MAX_LENGTH: usize = 1 << 10;

/// The axis is an attribute before operator set 20, an input since.
pub fn dft(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let shape = context.shape(0)?;
    let axis = if context.opset < 20 {
        context.int_or("axis", 1)?
    } else {
        let given = context.integers(2)?;
        given.and_then(|axis| axis.first().copied()).unwrap_or(-2)
    };
    let axis = shape.axis(axis)?;
    let (Some(&parts), last) = (shape.dims().last(), shape.rank() - 1) else {
        return Err("a signal without axes".into());
    };
    if axis == last || !(1..=2).contains(&parts) {
        return Err(format!("shape {shape} does not end in complex numbers"));
    }
    let (inverse, half) = (context.flag("inverse")?, context.flag("onesided")?);
    let extent = shape.dims()[axis];
    let length = context
        .integers(1)?
        .and_then(|length| length.first().copied());
    let length = match length.map(usize::try_from) {
        Some(Ok(length)) => length,
        Some(Err(_)) => return Err("a negative length".into()),
        None if inverse && half => 2 * extent.saturating_sub(1),
        None => extent,
    };
    if length == 0 || length.max(extent) > MAX_LENGTH {
        return Err(format!(
            "a transform of length {length}; from 1 to {MAX_LENGTH} is supported"
        ));
    }
    let transform = Transform {
        extent,
        length,
        parts,
        inverse,
        half,
    };
    let (rows, outputs) = (extent * parts, transform.outputs());
    let weights = transform.weights();
    let dense = Dense::of(
        [rows, outputs.0 * outputs.1],
        &Numbers::from(weights),
        Lie::OutputsByInputs,
        vec![0.0; outputs.0 * outputs.1],
    )?;
    let mut order: Vec<usize> = (0..last).filter(|&a| a != axis).collect();
    let before: Vec<usize> = order.iter().map(|&a| shape.dims()[a]).collect();
    order.extend([axis, last]);
    let turned = context.add(Transpose::new(Order::new(order.clone())?), &[input])?;
    let lines: usize = before.iter().product();
    let flat = context.add(View::new(Shape::new([lines, rows])?), &[turned])?;
    let result = context.add(dense, &[flat])?;
    let dims = [&before[..], &[outputs.0, outputs.1]].concat();
    let result = context.add(View::new(Shape::new(dims)?), &[result])?;
    let back = Transpose::new(Order::new(order)?.inverse());
    float(context.add(back, &[result])?)
}

struct Transform {
    extent: usize,
    length: usize,
    parts: usize,
    inverse: bool,
    half: bool,
}

impl Transform {
    /// How many frequencies or samples come out, of how many parts.
    fn outputs(&self) -> (usize, usize) {
        match (self.inverse, self.half) {
            (true, true) => (self.length, 1),
            (false, true) => (self.length / 2 + 1, 2),
            _ => (self.length, 2),
        }
    }

    /// The matrix, a row for every output.
    fn weights(&self) -> Vec<f64> {
        let (count, parts) = self.outputs();
        let sign = if self.inverse { 1.0 } else { -1.0 };
        let scale = if self.inverse {
            1.0 / self.length as f64
        } else {
            1.0
        };
        let mut weights = Vec::with_capacity(count * parts * self.extent * self.parts);
        for k in 0..count {
            for part in 0..parts {
                for n in 0..self.extent {
                    let turn = (k * n % self.length) as f64 / self.length as f64;
                    let angle = sign * TAU * turn;
                    let mirrored = self.mirrored(n);
                    let (real, imaginary) = match part {
                        0 => (angle.cos(), -angle.sin()),
                        _ => (angle.sin(), angle.cos()),
                    };
                    weights.push(real * scale * mirrored);
                    if self.parts == 2 {
                        weights.push(imaginary * scale * mirrored);
                    }
                }
            }
        }
        weights
    }

    /// How often a position counts: not at all beyond the length; twice where a half stands for both.
    fn mirrored(&self, n: usize) -> f64 {
        match (self.inverse, self.half) {
            (true, true) if n > self.length / 2 => 0.0,
            (true, true) if n == 0 || 2 * n == self.length => 1.0,
            (true, true) => 2.0,
            _ if n >= self.length => 0.0,
            _ => 1.0,
        }
    }
}
