//! Small ONNX files written by the tests themselves: just enough of the format for the networks here.

use std::path::Path;

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }
}

/// A graph under construction, with weights from a seed.
pub struct Graph {
    graph: Message,
    random: deepconcolic_testing::Random,
}

impl Graph {
    pub fn new(seed: u64) -> Self {
        Self {
            graph: Message::default().text(2, "test"),
            random: deepconcolic_testing::Random::new(seed),
        }
    }

    fn add(&mut self, field: u64, message: &Message) {
        self.graph = std::mem::take(&mut self.graph).message(field, message);
    }

    /// A node; attributes are lists of integers, or single ones.
    pub fn node(&mut self, op: &str, inputs: &[&str], output: &str, ints: &[(&str, &[u64])]) {
        let mut node = Message::default();
        for input in inputs {
            node = node.text(1, input);
        }
        node = node.text(2, output).text(3, output).text(4, op);
        for (name, values) in ints {
            let mut attribute = Message::default().text(1, name);
            for &value in *values {
                attribute = attribute.number(8, value);
            }
            node = node.message(5, &attribute.number(20, 7));
        }
        self.add(1, &node);
    }

    /// So many values of about this size.
    pub fn values(&mut self, count: usize, size: f64) -> Vec<f32> {
        let each = (0..count).map(|_| self.random.between(-size, size) as f32);
        each.collect()
    }

    pub fn weight(&mut self, name: &str, dims: &[usize], values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, dims, 1, &bytes);
    }

    pub fn integers(&mut self, name: &str, values: &[i64]) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, &[values.len()], 7, &bytes);
    }

    fn tensor(&mut self, name: &str, dims: &[usize], kind: u64, bytes: &[u8]) {
        let mut tensor = Message::default();
        for &dim in dims {
            tensor = tensor.number(1, dim as u64);
        }
        let tensor = tensor.number(2, kind).text(8, name).bytes(9, bytes);
        self.add(5, &tensor);
    }

    /// Writes the model: an open batch axis, then these.
    pub fn save(mut self, path: &Path, input: (&str, &[usize]), output: (&str, &[usize])) {
        for (field, (name, dims)) in [(11, input), (12, output)] {
            let mut shape = Message::default().message(1, &Message::default().text(2, "batch"));
            for &dim in dims {
                shape = shape.message(1, &Message::default().number(1, dim as u64));
            }
            let tensor = Message::default().number(1, 1).message(2, &shape);
            let kind = Message::default().message(1, &tensor);
            self.add(field, &Message::default().text(1, name).message(2, &kind));
        }
        let opset = Message::default().text(1, "").number(2, 15);
        let model = Message::default()
            .number(1, 8)
            .message(7, &self.graph)
            .message(8, &opset);
        std::fs::write(path, model.0).unwrap();
    }
}

/// How the tensors of a twin are laid out.
#[derive(Clone, Copy, PartialEq)]
pub enum Channels {
    First,
    Last,
    /// The input is one row of values, channel after channel.
    Flat,
}

/// Height, width and channels of a twin's images, and channels behind its convolution.
pub const IMAGE: [usize; 3] = [6, 5, 3];
const HIDDEN: usize = 4;

/// One network, a convolution and two dense layers, written down in several ways; `seed` gives its weights.
pub fn twin(path: &Path, channels: Channels, seed: u64) {
    let [height, width, depth] = IMAGE;
    let mut graph = Graph::new(seed);
    let kernel = graph.values(HIDDEN * depth * 9, 0.5);
    graph.weight("kernel", &[HIDDEN, depth, 3, 3], &kernel);
    let neurons = HIDDEN * height * width;
    let first = graph.values(neurons * 8, 0.3);
    let second = graph.values(8 * 3, 0.7);
    graph.weight("second", &[8, 3], &second);
    graph.integers("image", &[-1, depth as i64, height as i64, width as i64]);
    graph.integers("row", &[-1, neurons as i64]);
    let image = match channels {
        Channels::First => "x",
        Channels::Last => {
            graph.node("Transpose", &["x"], "planes", &[("perm", &[0, 3, 1, 2])]);
            "planes"
        }
        Channels::Flat => {
            graph.node("Reshape", &["x", "image"], "planes", &[]);
            "planes"
        }
    };
    let pads: &[(&str, &[u64])] = &[("pads", &[1, 1, 1, 1]), ("kernel_shape", &[3, 3])];
    graph.node("Conv", &[image, "kernel"], "conv", pads);
    // Rows of the next weights go with the neurons, in the order that these have here.
    let (before, weights) = if channels == Channels::Last {
        graph.node("Transpose", &["conv"], "pixels", &[("perm", &[0, 2, 3, 1])]);
        let order =
            (0..height * width).flat_map(|p| (0..HIDDEN).map(move |c| c * height * width + p));
        let rows = order.flat_map(|n| first[n * 8..(n + 1) * 8].to_vec());
        ("pixels", rows.collect())
    } else {
        ("conv", first)
    };
    graph.weight("first", &[neurons, 8], &weights);
    graph.node("Relu", &[before], "relu", &[]);
    graph.node("Reshape", &["relu", "row"], "flat", &[]);
    graph.node("MatMul", &["flat", "first"], "dense", &[]);
    graph.node("Relu", &["dense"], "hidden", &[]);
    graph.node("MatMul", &["hidden", "second"], "y", &[]);
    let shape: &[usize] = match channels {
        Channels::First => &[depth, height, width],
        Channels::Last => &[height, width, depth],
        Channels::Flat => &[depth * height * width],
    };
    graph.save(path, ("x", shape), ("y", &[3]));
}

/// Images for the twins: 8-bit, channels last, as an npz file.
pub fn images(path: &Path, count: usize) {
    let mut random = deepconcolic_testing::Random::new(5);
    let [height, width, depth] = IMAGE;
    let values = (0..count * height * width * depth).map(|_| random.between(0.0, 255.0) as u8);
    let values: Vec<u8> = values.collect();
    let mut file = deepconcolic_dataset::write::NpzWriter::create(path).unwrap();
    file.add("x", &[count, height, width, depth], &values)
        .unwrap();
    file.finish().unwrap();
}
