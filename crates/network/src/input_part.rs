//! What one input vector is made of: the inputs of a model file that are tested together.
//!
//! Every analysis works on one vector. A model with several inputs gets one that holds them one after the other,
//! and operators that take its parts.

use std::ops::Range;

use crate::ops::{Select, View};
use crate::{NetworkBuilder, Shape, Tensor};

/// One tensor of the model file within the input vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputPart {
    /// Its name in the file.
    pub name: String,
    /// Its shape in the file, with a batch of one.
    pub shape: Shape,
    /// Where its elements begin in the vector.
    pub first: usize,
    /// Whether the file declares its elements to be integers: ids, which have nothing between them.
    pub integer: bool,
}

impl InputPart {
    /// A tensor of floating-point numbers; where it begins is for the builder to say.
    pub fn new(name: &str, shape: Shape) -> Self {
        Self {
            name: name.to_owned(),
            shape,
            first: 0,
            integer: false,
        }
    }

    /// Its elements within the vector.
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.shape.elements()
    }
}

impl NetworkBuilder {
    /// A network whose input vector holds these tensors one after the other, and the tensors. One tensor alone keeps
    /// its shape.
    pub fn of_inputs(mut parts: Vec<InputPart>) -> Result<(Self, Vec<Tensor>), String> {
        if let [only] = parts.as_slice() {
            let (mut builder, tensor) = Self::new(&only.name, only.shape.clone());
            builder.declare_inputs(parts);
            return Ok((builder, vec![tensor]));
        }
        let mut total = 0;
        for part in &mut parts {
            part.first = total;
            total += part.shape.elements();
        }
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        let vector = Shape::new([1, total])?;
        let (mut builder, whole) = Self::new(&names.join("+"), vector.clone());
        let tensors = parts.iter().map(|part| {
            let elements = part.range();
            let row = Shape::new([1, elements.len()])?;
            let table = elements.map(|element| element as u32).collect();
            let slice = Select::new("Slice", vector.clone(), row, table, 0.0)?;
            let row = builder.add(slice, &[whole], &part.name)?;
            builder.add(View::new(part.shape.clone()), &[row], &part.name)
        });
        let tensors = tensors.collect::<Result<Vec<_>, String>>()?;
        builder.declare_inputs(parts);
        Ok((builder, tensors))
    }
}

#[cfg(test)]
mod tests {
    use super::InputPart;
    use crate::ops::{Add, Binary};
    use crate::{NetworkBuilder, Pass, Point, Shape};

    fn part(name: &str, dims: &[usize]) -> InputPart {
        InputPart::new(name, Shape::new(dims).unwrap())
    }

    #[test]
    fn several_inputs_are_parts_of_one_vector() {
        let parts = vec![part("a", &[1, 2, 2]), part("b", &[]), part("c", &[2])];
        let (mut builder, tensors) = NetworkBuilder::of_inputs(parts).unwrap();
        let sum = builder
            .add(Binary::new(Add), &[tensors[0], tensors[1]], "sum")
            .unwrap();
        let sum = builder
            .add(Binary::new(Add), &[sum, tensors[2]], "more")
            .unwrap();
        let network = builder.finish(&[("y", sum)], 0).unwrap();
        assert_eq!(network.input_name(), "a+b+c");
        assert_eq!(network.input_shape().dims(), [1, 7]);
        let ranges: Vec<_> = network.inputs().iter().map(InputPart::range).collect();
        assert_eq!(ranges, [0..4, 4..5, 5..7]);
        let trace = network.forward(
            &[1.0f32, 2.0, 3.0, 4.0, 10.0, 100.0, 200.0],
            &Pass::keep([Point::Output(0)]),
        );
        assert_eq!(trace.get(Point::Output(0)), [111.0, 212.0, 113.0, 214.0]);
    }

    #[test]
    fn one_input_alone_keeps_its_shape() {
        let (builder, tensors) = NetworkBuilder::of_inputs(vec![part("x", &[1, 3])]).unwrap();
        assert_eq!(builder.shape(tensors[0]).dims(), [1, 3]);
    }

    #[test]
    fn a_vector_beyond_the_limit_is_refused() {
        let huge = [1usize << 27, 1];
        let parts = (0..3).map(|_| part("a", &huge)).collect();
        assert!(NetworkBuilder::of_inputs(parts).is_err());
    }
}
