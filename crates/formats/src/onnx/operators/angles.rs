//! Functions of angles and their inverses, hyperbolic ones among them.

use deepconcolic_network::ops::{Arc, Binary, Div, Elementwise, Hyperbolic, Wave};

use super::context::{Context, float};
use crate::onnx::import::Value;

type Outputs = Result<Vec<Value>, String>;

fn wave(context: &mut Context<'_>, wave: Wave) -> Outputs {
    let input = context.tensor(0)?;
    float(context.add(wave, &[input])?)
}

fn arc(context: &mut Context<'_>, arc: Arc) -> Outputs {
    let input = context.tensor(0)?;
    float(context.add(Elementwise::new(arc), &[input])?)
}

fn hyperbolic(context: &mut Context<'_>, function: Hyperbolic) -> Outputs {
    let input = context.tensor(0)?;
    float(context.add(Elementwise::new(function), &[input])?)
}

pub fn sin(context: &mut Context<'_>) -> Outputs {
    wave(context, Wave::Sin)
}

pub fn cos(context: &mut Context<'_>) -> Outputs {
    wave(context, Wave::Cos)
}

/// The sine over the cosine.
pub fn tan(context: &mut Context<'_>) -> Outputs {
    let input = context.tensor(0)?;
    let sine = context.add(Wave::Sin, &[input])?;
    let cosine = context.add(Wave::Cos, &[input])?;
    float(context.add(Binary::new(Div), &[sine, cosine])?)
}

pub fn asin(context: &mut Context<'_>) -> Outputs {
    arc(context, Arc::Sin)
}

pub fn acos(context: &mut Context<'_>) -> Outputs {
    arc(context, Arc::Cos)
}

pub fn atan(context: &mut Context<'_>) -> Outputs {
    arc(context, Arc::Tan)
}

pub fn sinh(context: &mut Context<'_>) -> Outputs {
    hyperbolic(context, Hyperbolic::Sinh)
}

pub fn cosh(context: &mut Context<'_>) -> Outputs {
    hyperbolic(context, Hyperbolic::Cosh)
}

pub fn asinh(context: &mut Context<'_>) -> Outputs {
    hyperbolic(context, Hyperbolic::Asinh)
}

pub fn acosh(context: &mut Context<'_>) -> Outputs {
    hyperbolic(context, Hyperbolic::Acosh)
}

pub fn atanh(context: &mut Context<'_>) -> Outputs {
    hyperbolic(context, Hyperbolic::Atanh)
}
