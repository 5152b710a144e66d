//! What a builder sees of its node, and the constants of a model.

use std::collections::HashMap;
use std::sync::Arc;

use deepconcolic_network::ops::Step;
use deepconcolic_network::{NetworkBuilder, Numbers, Operator, Shape, Tensor};

use crate::onnx::array::{Array, Data};
use crate::onnx::dtype::DType;
use crate::onnx::import::{Slot, Value};
use crate::onnx::node::Node;

/// Adds a node's operator to the network and returns its outputs, first to last.
pub type Build = fn(&mut Context<'_>) -> Result<Vec<Value>, String>;

/// One node on its way into the network.
pub struct Context<'a> {
    pub node: &'a Node,
    /// What its layer is called, if it is one.
    pub name: &'a str,
    /// Version of the standard operators.
    pub opset: i64,
    pub inputs: Vec<Option<Value>>,
    /// Element types of the constants of the file.
    pub types: &'a HashMap<&'a str, DType>,
    pub builder: &'a mut NetworkBuilder,
}

impl Context<'_> {
    /// An input the operator cannot do without.
    pub fn value(&self, position: usize) -> Result<Value, String> {
        self.optional(position)
            .ok_or_else(|| format!("input {position} is missing"))
    }

    /// An input that may be left out.
    pub fn optional(&self, position: usize) -> Option<Value> {
        self.inputs.get(position).copied().flatten()
    }

    /// The tensor of a required input.
    pub fn tensor(&self, position: usize) -> Result<Tensor, String> {
        Ok(self.value(position)?.tensor)
    }

    /// All inputs, none left out.
    pub fn tensors(&self) -> Result<Vec<Tensor>, String> {
        (0..self.inputs.len()).map(|i| self.tensor(i)).collect()
    }

    /// Shape of a required input.
    pub fn shape(&self, position: usize) -> Result<Shape, String> {
        Ok(self.builder.shape(self.tensor(position)?))
    }

    /// The numbers of an input that must not depend on the network's input, and their shape.
    pub fn known(&self, position: usize) -> Result<(Shape, Vec<f64>), String> {
        let tensor = self.tensor(position)?;
        let data = self.builder.known(tensor);
        let data = data.ok_or_else(|| not_constant(position))?;
        Ok((self.builder.shape(tensor), data))
    }

    /// The same for weights, which are not copied.
    pub fn weights(&self, position: usize) -> Result<(Shape, Numbers), String> {
        let tensor = self.tensor(position)?;
        let numbers = self.builder.numbers(tensor);
        let numbers = numbers.ok_or_else(|| not_constant(position))?;
        Ok((self.builder.shape(tensor), numbers))
    }

    /// The numbers of an optional constant input.
    pub fn known_if_given(&self, position: usize) -> Result<Option<Vec<f64>>, String> {
        match self.optional(position) {
            None => Ok(None),
            Some(_) => Ok(Some(self.known(position)?.1)),
        }
    }

    /// The integers of an optional constant input. `f64` holds every extent exactly; the huge
    /// values that mean "to the end" saturate.
    pub fn integers(&self, position: usize) -> Result<Option<Vec<i64>>, String> {
        let numbers = self.known_if_given(position)?;
        Ok(numbers.map(|n| n.iter().map(|&v| v as i64).collect()))
    }

    /// Integers that older operator sets give as an attribute and newer ones as an input.
    pub fn integers_or_attribute(
        &self,
        position: usize,
        attribute: &str,
    ) -> Result<Option<Vec<i64>>, String> {
        match self.integers(position)? {
            None => self.ints(attribute),
            given => Ok(given),
        }
    }

    /// Element type of an input that is a constant of the file.
    pub fn element_type(&self, position: usize) -> Option<DType> {
        let name = self.node.inputs.get(position)?;
        self.types.get(name.as_str()).copied()
    }

    pub fn int(&self, name: &str) -> Result<Option<i64>, String> {
        self.node.int(name).map_err(|e| e.to_string())
    }

    pub fn int_or(&self, name: &str, default: i64) -> Result<i64, String> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    pub fn flag(&self, name: &str) -> Result<bool, String> {
        Ok(self.int_or(name, 0)? != 0)
    }

    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>, String> {
        let ints = self.node.ints(name).map_err(|e| e.to_string())?;
        Ok(ints.map(<[i64]>::to_vec))
    }

    pub fn float_or(&self, name: &str, default: f32) -> Result<f64, String> {
        let float = self.node.float(name).map_err(|e| e.to_string())?;
        Ok(f64::from(float.unwrap_or(default)))
    }

    pub fn floats(&self, name: &str) -> Result<Option<Vec<f64>>, String> {
        let floats = self.node.floats(name).map_err(|e| e.to_string())?;
        Ok(floats.map(|f| f.iter().copied().map(f64::from).collect()))
    }

    /// How many strings an attribute lists.
    pub fn strings(&self, name: &str) -> Result<usize, String> {
        let strings = self.node.strings(name);
        let strings = strings.map_err(|e| e.to_string())?;
        Ok(strings.map_or(0, <[String]>::len))
    }

    pub fn string_or<'b>(&'b self, name: &str, default: &'b str) -> Result<&'b str, String> {
        let string = self.node.string(name).map_err(|e| e.to_string())?;
        Ok(string.unwrap_or(default))
    }

    /// Whether every input has integers.
    pub fn all_integers(&self) -> bool {
        self.inputs.iter().flatten().all(|value| value.integer)
    }

    /// Integers that lose the fraction an operation left them with, towards zero.
    pub fn truncated(&mut self, tensor: Tensor, operation: &str) -> Result<Vec<Value>, String> {
        let numbers = self.builder.known(tensor).unwrap_or_default();
        if !numbers.iter().all(|n| n.is_finite()) {
            return Err(format!("{operation} of integers is not a number"));
        }
        typed(self.add(Step::Truncate, &[tensor])?, true)
    }

    /// Adds an operator under the node's name.
    pub fn add(
        &mut self,
        op: impl Into<Arc<dyn Operator>>,
        inputs: &[Tensor],
    ) -> Result<Tensor, String> {
        self.builder.add(op, inputs, self.name)
    }

    /// Adds a constant.
    pub fn constant(&mut self, shape: &[usize], data: Vec<f64>) -> Result<Tensor, String> {
        self.builder.constant(Shape::new(shape)?, data)
    }
}

fn not_constant(position: usize) -> String {
    format!(
        "input {position} depends on the network's input; \
         only a constant is supported here"
    )
}

/// One floating-point result.
pub fn float(tensor: Tensor) -> Result<Vec<Value>, String> {
    Ok(vec![Value {
        tensor,
        integer: false,
    }])
}

/// One result whose elements are integers if `integer`.
pub fn typed(tensor: Tensor, integer: bool) -> Result<Vec<Value>, String> {
    Ok(vec![Value { tensor, integer }])
}

/// A constant of the file as a value.
pub fn constant(builder: &mut NetworkBuilder, array: &Array) -> Slot {
    let numbers = match &array.data {
        Data::F32(single) => Numbers::Single(Arc::clone(single)),
        _ => Numbers::from(array.to_f64().map_err(|e| e.to_string())?.into_owned()),
    };
    let shape = Shape::new(array.shape.clone())?;
    let tensor = builder.constant(shape, numbers)?;
    Ok(Value {
        tensor,
        integer: matches!(array.data, Data::I64(_)),
    })
}
