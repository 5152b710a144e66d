//! What is in a model, for people.

use std::io::{self, Write};

use deepconcolic::Inspection;
use deepconcolic_network::Shape;

use crate::Text;

impl Text for Inspection {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let producer = match self.producer.as_str() {
            "" => String::new(),
            name => format!(", written by {}", in_line(name)),
        };
        writeln!(out, "format   {}{producer}", self.format)?;
        writeln!(
            out,
            "input    {} {}",
            in_line(&self.input.name),
            dims(&self.input.shape)
        )?;
        for part in &self.inputs {
            let kind = if part.integer { ", integers" } else { "" };
            writeln!(
                out,
                "  part   {} {} from element {}{kind}",
                in_line(&part.name),
                dims(&part.shape),
                part.first
            )?;
        }
        for output in &self.outputs {
            let name = in_line(&output.name);
            writeln!(out, "output   {name} {}", dims(&output.shape))?;
        }
        let head = match self.head {
            Some(head) => format!(", before the final {head}"),
            None => String::new(),
        };
        writeln!(out, "logits   {}{head}", dims(&self.logits))?;
        layers(self, out)?;
        let operators: Vec<String> = self
            .operators
            .iter()
            .map(|(kind, count)| format!("{kind} x{count}"))
            .collect();
        writeln!(out, "operators as executed: {}", operators.join(", "))?;
        if self.exact {
            writeln!(out, "analysis: piecewise linear, so every cell is exact")?;
        }
        for limit in &self.limits {
            writeln!(out, "analysis: {limit}")?;
        }
        Ok(())
    }
}

/// A name as part of a line: files have anything in them, line breaks too.
fn in_line(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}

fn layers(inspection: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    if inspection.layers.is_empty() {
        return Ok(());
    }
    let name_width = inspection
        .layers
        .iter()
        .map(|l| l.name.len())
        .max()
        .unwrap_or(0)
        .max(4);
    writeln!(
        out,
        "\n{:>5}  {:name_width$}  {:12} {:>14} {:>9}",
        "layer", "name", "kind", "shape", "neurons"
    )?;
    for layer in &inspection.layers {
        writeln!(
            out,
            "{:>5}  {:name_width$}  {:12} {:>14} {:>9}",
            layer.number,
            layer.name,
            layer.kind,
            dims(&layer.shape),
            layer.neurons
        )?;
    }
    let total = format!("{} hidden layers", inspection.layers.len());
    writeln!(
        out,
        "{:>5}  {total:name_width$}  {:12} {:>14} {:>9}\n",
        "", "", "", inspection.neurons
    )
}

fn dims(shape: &[usize]) -> String {
    Shape::new(shape).map_or_else(|_| "?".into(), |s| s.to_string())
}
