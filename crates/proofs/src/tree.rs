//! A split tree while it grows.

use deepconcolic_check::{Leaf, Proof, Split, Tree};

/// A split tree, some of whose parts are still open.
#[derive(Debug)]
pub(crate) struct Growing {
    nodes: Vec<Node>,
}

#[derive(Debug)]
enum Node {
    Open,
    Leaf(Leaf),
    Forward(Vec<(u32, f32)>),
    Split(Split, [usize; 2]),
}

impl Growing {
    /// One open part: the whole region.
    pub fn new() -> Self {
        Self {
            nodes: vec![Node::Open],
        }
    }

    /// Closes a part.
    pub fn close(&mut self, at: usize, leaf: Leaf) {
        self.nodes[at] = Node::Leaf(leaf);
    }

    /// Closes a part by lines that go forward, with the factors of its conditions.
    pub fn close_forward(&mut self, at: usize, factors: Vec<(u32, f32)>) {
        self.nodes[at] = Node::Forward(factors);
    }

    /// Cuts a part in two; where the two are.
    pub fn split(&mut self, at: usize, split: Split) -> [usize; 2] {
        let first = self.nodes.len();
        let parts = [first, first + 1];
        self.nodes.extend([Node::Open, Node::Open]);
        self.nodes[at] = Node::Split(split, parts);
        parts
    }

    /// The finished tree.
    pub fn finish(mut self) -> Proof {
        let mut proof = Vec::with_capacity(self.nodes.len());
        let mut pending = vec![0];
        while let Some(at) = pending.pop() {
            match std::mem::replace(&mut self.nodes[at], Node::Open) {
                Node::Leaf(leaf) => proof.push(Tree::Leaf(leaf)),
                Node::Forward(factors) => proof.push(Tree::Forward(factors)),
                Node::Split(split, [first, second]) => {
                    proof.push(Tree::Split(split));
                    pending.extend([second, first]);
                }
                Node::Open => proof.push(Tree::Leaf(Leaf::default())),
            }
        }
        proof
    }
}
