//! A small network whose weights the test knows, so that its affine pieces can be written down
//! without asking the network.

use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Shape};
use deepconcolic_testing::Random;

/// `u = a . x + c`
pub struct Piece {
    pub a: Vec<f64>,
    pub c: f64,
}

pub struct Mlp {
    sizes: Vec<usize>,
    weights: Vec<Vec<f64>>,
    biases: Vec<Vec<f64>>,
}

impl Mlp {
    pub fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut sizes = vec![2 + random.below(5)];
        for _ in 0..2 + random.below(2) {
            sizes.push(3 + random.below(5));
        }
        sizes.push(3);
        Self::drawn(&sizes, &mut random)
    }

    /// Layers of these sizes.
    pub fn with_sizes(sizes: &[usize], seed: u64) -> Self {
        Self::drawn(sizes, &mut Random::new(seed))
    }

    fn drawn(sizes: &[usize], random: &mut Random) -> Self {
        let single = |list: Vec<f64>| list.into_iter().map(|x| f64::from(x as f32)).collect();
        let mut mlp = Self {
            sizes: sizes.to_vec(),
            weights: Vec::new(),
            biases: Vec::new(),
        };
        for pair in sizes.windows(2) {
            let spread = (2.0 / pair[0] as f64).sqrt();
            mlp.weights
                .push(single(random.list(pair[0] * pair[1], -spread, spread)));
            mlp.biases.push(single(random.list(pair[1], -0.4, 0.3)));
        }
        mlp
    }

    pub fn inputs(&self) -> usize {
        self.sizes[0]
    }

    /// Sizes of the hidden layers.
    pub fn hidden(&self) -> &[usize] {
        &self.sizes[1..self.sizes.len() - 1]
    }

    pub fn network(&self) -> Network {
        let (mut builder, mut x) =
            NetworkBuilder::new("x", Shape::new([1, self.sizes[0]]).unwrap());
        let last = self.weights.len() - 1;
        for layer in 0..=last {
            let (inputs, outputs) = (self.sizes[layer], self.sizes[layer + 1]);
            let (w, b) = (self.weights[layer].clone(), self.biases[layer].clone());
            let dense = Dense::new(inputs, outputs, w, b).unwrap();
            x = builder.add(dense, &[x], "dense").unwrap();
            if layer < last {
                let name = format!("relu{layer}");
                x = builder.add(Elementwise::new(Relu), &[x], &name).unwrap();
            }
        }
        builder.finish(&[("y", x)], 0).unwrap()
    }

    /// u of every hidden layer at an input.
    pub fn run(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let mut v = x.to_vec();
        let mut all = Vec::new();
        for layer in 0..self.hidden().len() {
            let u: Vec<f64> = (0..self.sizes[layer + 1])
                .map(|j| {
                    let products = v.iter().enumerate();
                    let sum: f64 = products.map(|(i, v)| v * self.weight(layer, i, j)).sum();
                    sum + self.biases[layer][j]
                })
                .collect();
            v = u.iter().map(|u| u.max(0.0)).collect();
            all.push(u);
        }
        all
    }

    fn weight(&self, layer: usize, i: usize, j: usize) -> f64 {
        self.weights[layer][i * self.sizes[layer + 1] + j]
    }

    /// The affine pieces of all hidden neurons under a pattern of signs.
    pub fn pieces(&self, pattern: &[Vec<bool>]) -> Vec<Vec<Piece>> {
        let n = self.inputs();
        let mut before: Vec<Piece> = (0..n)
            .map(|e| Piece {
                a: (0..n).map(|i| f64::from(u8::from(i == e))).collect(),
                c: 0.0,
            })
            .collect();
        let mut all: Vec<Vec<Piece>> = Vec::new();
        for (layer, signs) in pattern.iter().enumerate() {
            let pieces: Vec<Piece> = (0..self.sizes[layer + 1])
                .map(|j| {
                    let mut sum = Piece {
                        a: vec![0.0; n],
                        c: self.biases[layer][j],
                    };
                    for (i, piece) in before.iter().enumerate() {
                        let w = self.weight(layer, i, j);
                        for (s, a) in sum.a.iter_mut().zip(&piece.a) {
                            *s += w * a;
                        }
                        sum.c += w * piece.c;
                    }
                    sum
                })
                .collect();
            before = pieces
                .iter()
                .zip(signs)
                .map(|(piece, &on)| Piece {
                    a: piece.a.iter().map(|a| if on { *a } else { 0.0 }).collect(),
                    c: if on { piece.c } else { 0.0 },
                })
                .collect();
            all.push(pieces);
        }
        all
    }
}
