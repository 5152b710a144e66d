//! A split tree of phases while it grows.

use deepconcolic_check::Unit;
use deepconcolic_check::steepness::{SlopeLeaf, SlopeTree};

/// A tree whose open parts have a leaf each.
pub(super) struct Growing(Vec<Node>);

enum Node {
    Leaf(SlopeLeaf),
    Split(Unit, [usize; 2]),
}

impl Growing {
    /// One part: the whole region.
    pub fn new(leaf: SlopeLeaf) -> Self {
        Self(vec![Node::Leaf(leaf)])
    }

    /// Cuts a part in two; where the two are.
    pub fn split(&mut self, at: usize, unit: Unit, leaves: [SlopeLeaf; 2]) -> [usize; 2] {
        let first = self.0.len();
        let parts = [first, first + 1];
        self.0.extend(leaves.map(Node::Leaf));
        self.0[at] = Node::Split(unit, parts);
        parts
    }

    /// The finished tree, depth first.
    pub fn finish(&self) -> Vec<SlopeTree> {
        let mut tree = Vec::with_capacity(self.0.len());
        let mut pending = vec![0];
        while let Some(at) = pending.pop() {
            match &self.0[at] {
                Node::Leaf(leaf) => tree.push(SlopeTree::Leaf(leaf.clone())),
                Node::Split(unit, [first, second]) => {
                    tree.push(SlopeTree::Split(*unit));
                    pending.extend([*second, *first]);
                }
            }
        }
        tree
    }
}
