//! Einsum, as sums, reorderings and products of stacks of matrices: two operands at a time.

use deepconcolic_network::ops::{MatMul, Reduce, Transpose, View};
use deepconcolic_network::{Order, Shape, Tensor};

use super::context::{Context, typed};
use super::rearrange::{element, moved, position, spread};
use crate::onnx::import::Value;
use crate::onnx::quote::quote;

type Outputs = Result<Vec<Value>, String>;

/// An axis by its letter, or by its distance from the end of what dots stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Dots(usize),
    Letter(char),
}

/// A tensor whose axes have labels, each once.
struct Operand {
    tensor: Tensor,
    labels: Vec<Label>,
}

pub fn einsum(context: &mut Context<'_>) -> Outputs {
    let text = context.string_or("equation", "")?.to_owned();
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let problem = |what: &str| format!("equation {}: {what}", quote(&text));
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (text.as_str(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    let tensors = context.tensors()?;
    if terms.len() != tensors.len() {
        return Err(problem(&format!("{} inputs", tensors.len())));
    }
    let mut operands = Vec::new();
    for (term, &tensor) in terms.iter().zip(&tensors) {
        let rank = context.builder.shape(tensor).rank();
        let labels = labels(term, Some(rank)).map_err(|what| problem(&what))?;
        operands.push(diagonal(context, tensor, &labels)?);
    }
    let most = operands
        .iter()
        .flat_map(|o| &o.labels)
        .filter_map(|l| match l {
            Label::Dots(distance) => Some(distance + 1),
            Label::Letter(_) => None,
        });
    let most = most.max().unwrap_or(0);
    let output = match right {
        Some(right) => {
            let letters = right.replace("...", "").chars().count();
            let dots = if right.contains("...") { most } else { 0 };
            labels(right, Some(letters + dots)).map_err(|what| problem(&what))?
        }
        None => implicit(left, most),
    };
    let mut sorted = output.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let known = |label: &Label| operands.iter().any(|o| o.labels.contains(label));
    if sorted.len() != output.len() || !output.iter().all(known) {
        return Err(problem(
            "the output names an axis twice, or one that no input has",
        ));
    }
    let mut operands = operands.into_iter().peekable();
    let Some(mut result) = operands.next() else {
        return Err(problem("no inputs"));
    };
    let mut rest: Vec<Operand> = operands.collect();
    while !rest.is_empty() {
        let next = rest.remove(0);
        let later =
            |label: &Label| output.contains(label) || rest.iter().any(|o| o.labels.contains(label));
        result = combined(context, result, next, later)?;
    }
    let result = summed(context, result, |label| output.contains(label))?;
    let tensor = arranged(context, &result, &output)?;
    typed(tensor, context.all_integers())
}

/// The labels of a term, for a tensor of that rank.
fn labels(term: &str, rank: Option<usize>) -> Result<Vec<Label>, String> {
    let (before, after) = match term.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (term, None),
    };
    let letters: Vec<char> = before.chars().chain(after.unwrap_or("").chars()).collect();
    if !letters.iter().all(char::is_ascii_alphabetic) {
        return Err("axes are named by letters".into());
    }
    let rank = rank.unwrap_or(letters.len());
    let dots = match after {
        Some(_) => rank.checked_sub(letters.len()),
        None => (rank == letters.len()).then_some(0),
    };
    let dots = dots.ok_or_else(|| format!("{} letters for {rank} axes", letters.len()))?;
    let (first, last) = letters.split_at(before.chars().count());
    let letter = |c: &char| Label::Letter(*c);
    let middle = (0..dots).rev().map(Label::Dots);
    Ok(first
        .iter()
        .map(letter)
        .chain(middle)
        .chain(last.iter().map(letter))
        .collect())
}

/// Without an arrow: what dots stand for, then the letters that occur once, by the alphabet.
fn implicit(left: &str, dots: usize) -> Vec<Label> {
    let letters = || left.chars().filter(char::is_ascii_alphabetic);
    let mut once: Vec<char> = letters()
        .filter(|c| letters().filter(|other| other == c).count() == 1)
        .collect();
    once.sort_unstable();
    let dots = (0..dots).rev().map(Label::Dots);
    dots.chain(once.into_iter().map(Label::Letter)).collect()
}

/// The tensor with each label once: where one occurs twice, the elements with equal positions.
fn diagonal(
    context: &mut Context<'_>,
    tensor: Tensor,
    labels: &[Label],
) -> Result<Operand, String> {
    let shape = context.builder.shape(tensor);
    let mut own: Vec<Label> = Vec::new();
    let mut dims = Vec::new();
    for (label, &extent) in labels.iter().zip(shape.dims()) {
        match own.iter().position(|l| l == label) {
            Some(at) if dims[at] != extent => {
                return Err(format!("an axis named twice in shape {shape}"));
            }
            Some(_) => {}
            None => {
                own.push(*label);
                dims.push(extent);
            }
        }
    }
    if own.len() == labels.len() {
        return Ok(Operand {
            tensor,
            labels: own,
        });
    }
    let to = Shape::new(dims)?;
    let axis = |label: &Label| own.iter().position(|l| l == label).unwrap_or(0);
    let axes: Vec<usize> = labels.iter().map(axis).collect();
    let source = |e: usize| {
        let at = position(&to, e);
        let from: Vec<usize> = axes.iter().map(|&axis| at[axis]).collect();
        Ok(Some(element(&shape, &from)))
    };
    let tensor = moved(context, "Einsum", tensor, to.clone(), source)?;
    Ok(Operand {
        tensor,
        labels: own,
    })
}

/// Without the labels that are not wanted, by sums.
fn summed(
    context: &mut Context<'_>,
    operand: Operand,
    wanted: impl Fn(&Label) -> bool,
) -> Result<Operand, String> {
    let shape = context.builder.shape(operand.tensor);
    let (kept, gone): (Vec<usize>, Vec<usize>) =
        (0..operand.labels.len()).partition(|&axis| wanted(&operand.labels[axis]));
    if gone.is_empty() {
        return Ok(operand);
    }
    let sums = context.add(Reduce::sum(gone), &[operand.tensor])?;
    let dims: Vec<usize> = kept.iter().map(|&axis| shape.dims()[axis]).collect();
    Ok(Operand {
        tensor: context.add(View::new(Shape::new(dims)?), &[sums])?,
        labels: kept.iter().map(|&axis| operand.labels[axis]).collect(),
    })
}

/// The axes in the order of these labels, which are the operand's.
fn arranged(
    context: &mut Context<'_>,
    operand: &Operand,
    labels: &[Label],
) -> Result<Tensor, String> {
    let axis = |label: &Label| operand.labels.iter().position(|l| l == label).unwrap_or(0);
    let order = Order::new(labels.iter().map(axis).collect())?;
    context.add(Transpose::new(order), &[operand.tensor])
}

/// Both operands as one, without the labels that no one wants later.
fn combined(
    context: &mut Context<'_>,
    a: Operand,
    b: Operand,
    later: impl Fn(&Label) -> bool,
) -> Result<Operand, String> {
    let a = summed(context, a, |label| later(label) || b.labels.contains(label))?;
    let b = summed(context, b, |label| later(label) || a.labels.contains(label))?;
    let both = |label: &&Label| b.labels.contains(label);
    let (common, rows): (Vec<Label>, Vec<Label>) = a.labels.iter().partition(|label| both(label));
    let (stack, depth): (Vec<Label>, Vec<Label>) = common.iter().partition(|label| later(label));
    let of_b = b.labels.iter().filter(|label| !a.labels.contains(label));
    let columns: Vec<Label> = of_b.copied().collect();

    let extent = |context: &Context<'_>, label: &Label| {
        let of = |operand: &Operand| {
            let axis = operand.labels.iter().position(|l| l == label)?;
            Some(context.builder.shape(operand.tensor).dims()[axis])
        };
        match (of(&a), of(&b)) {
            (Some(x), Some(y)) if x == y || y == 1 => Ok(x),
            (Some(1), Some(y)) => Ok(y),
            (Some(x), None) | (None, Some(x)) => Ok(x),
            (Some(x), Some(y)) => Err(format!("extents {x} and {y} of one axis")),
            (None, None) => Ok(1),
        }
    };
    let extents = |context: &Context<'_>, labels: &[Label]| -> Result<Vec<usize>, String> {
        labels.iter().map(|label| extent(context, label)).collect()
    };
    let [stacks, heights, depths, widths] = [
        extents(context, &stack)?,
        extents(context, &rows)?,
        extents(context, &depth)?,
        extents(context, &columns)?,
    ];
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    let [n, h, d, w] = [&stacks, &heights, &depths, &widths].map(|dims| product(dims));
    let mut matrix =
        |operand: &Operand, labels: [&[Label]; 3], dims: [&[usize]; 3], to: [usize; 3]| {
            let tensor = arranged(context, operand, &labels.concat())?;
            let tensor = spread(context, tensor, &Shape::new(dims.concat())?)?;
            context.add(View::new(Shape::new(to)?), &[tensor])
        };
    let left = matrix(
        &a,
        [&stack, &rows, &depth],
        [&stacks, &heights, &depths],
        [n, h, d],
    )?;
    let right = matrix(
        &b,
        [&stack, &depth, &columns],
        [&stacks, &depths, &widths],
        [n, d, w],
    )?;
    let tensor = context.add(MatMul, &[left, right])?;
    let dims = Shape::new([stacks, heights, widths].concat())?;
    Ok(Operand {
        tensor: context.add(View::new(dims), &[tensor])?,
        labels: [stack, rows, columns].concat(),
    })
}
