//! Sections of a graph: the nodes between where a network begins and what it computes.
//!
//! A model can be cut at tensors inside it, so that these are tested in place of the inputs that they are computed
//! from. What lies after the cut is one network, what lies before it another.

use std::collections::{HashMap, HashSet};

use super::error::OnnxError;
use super::graph::Graph;
use super::node::Node;
use super::quote::quote;

/// The nodes that compute some tensors, as far back as the tensors where the section begins.
pub(super) struct Section<'a> {
    graph: &'a Graph,
    needed: Vec<bool>,
    /// Names that its nodes read, and those that it was asked to compute.
    read: HashSet<&'a str>,
}

impl<'a> Section<'a> {
    /// What computes the outputs. Inputs that no output depends on are not read, unless that is all of them.
    pub fn whole(graph: &'a Graph) -> Self {
        let outputs = graph.outputs.iter().map(|output| output.name.as_str());
        let mut section = Self::between(graph, &[], outputs);
        let inputs = || graph.inputs.iter().map(|input| input.name.as_str());
        if !inputs().any(|name| section.reads(name)) {
            section.read.extend(inputs());
        }
        section
    }

    /// What computes the outputs from the tensors where the graph is cut.
    pub fn after(graph: &'a Graph, cut: &'a [String]) -> Result<Self, OnnxError> {
        let refuse = |name: &str, why: String| OnnxError::InputOption {
            problem: format!("--from {}: {why}", quote(name)),
        };
        let computed: HashSet<&str> = graph
            .nodes
            .iter()
            .flat_map(|node| node.outputs.iter().map(String::as_str))
            .collect();
        for (at, name) in cut.iter().enumerate() {
            if cut[..at].contains(name) {
                return Err(refuse(name, "the tensor is named twice".into()));
            }
            if graph.inputs.iter().any(|input| input.name == *name) {
                return Err(refuse(name, "this is an input of the model already".into()));
            }
            if !computed.contains(name.as_str()) {
                return Err(refuse(
                    name,
                    format!(
                        "the model computes no such tensor; it computes, for example, {}",
                        examples(graph)
                    ),
                ));
            }
        }
        let outputs = graph.outputs.iter().map(|output| output.name.as_str());
        let section = Self::between(graph, cut, outputs);
        match cut.iter().find(|name| !section.reads(name)) {
            None => Ok(section),
            Some(unread) => Err(refuse(unread, "no output depends on this tensor".into())),
        }
    }

    /// What computes the tensors where the graph is cut. The inputs that are read after the cut too are among what it
    /// has to give.
    pub fn before(graph: &'a Graph, cut: &'a [String], after: &Self) -> Self {
        let inputs = graph.inputs.iter().map(|input| input.name.as_str());
        let inputs = inputs.filter(|name| after.reads(name));
        Self::between(graph, &[], cut.iter().map(String::as_str).chain(inputs))
    }

    fn between(
        graph: &'a Graph,
        begin: &'a [String],
        wanted: impl Iterator<Item = &'a str>,
    ) -> Self {
        let mut maker: HashMap<&str, usize> = HashMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            for output in &node.outputs {
                maker.insert(output, index);
            }
        }
        let mut needed = vec![false; graph.nodes.len()];
        let mut read = HashSet::new();
        let mut open: Vec<&str> = wanted.collect();
        while let Some(name) = open.pop() {
            if !read.insert(name) || begin.iter().any(|b| b == name) {
                continue;
            }
            if let Some(&index) = maker.get(name)
                && !std::mem::replace(&mut needed[index], true)
            {
                let node = &graph.nodes[index];
                open.extend(node.inputs.iter().map(String::as_str));
                if matches!(node.op_type.as_str(), "If" | "Loop" | "Scan") {
                    // The graphs inside may read anything that is there before.
                    open.extend(graph.inputs.iter().map(|input| input.name.as_str()));
                    let before = graph.nodes[..index].iter();
                    open.extend(before.flat_map(|node| node.outputs.iter().map(String::as_str)));
                }
            }
        }
        Self {
            graph,
            needed,
            read,
        }
    }

    /// Whether a node of the section reads a tensor.
    pub fn reads(&self, name: &str) -> bool {
        self.read.contains(name)
    }

    /// The nodes, with their places in the graph.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, &'a Node)> {
        let nodes = self.graph.nodes.iter().enumerate().zip(&self.needed);
        nodes.filter(|(_, needed)| **needed).map(|(node, _)| node)
    }
}

/// Some names of tensors, for a message.
fn examples(graph: &Graph) -> String {
    let first = graph.nodes.iter().take(3);
    let names = first.filter_map(|node| node.outputs.first());
    names.map(|name| quote(name)).collect::<Vec<_>>().join(", ")
}
