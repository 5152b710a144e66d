//! Events of a session as Python takes them: a name and fields.

use deepconcolic::Event;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An event that Python is told: its name, and its fields by theirs. None of a kind that this package does not know.
pub fn for_python<'py>(
    py: Python<'py>,
    event: &Event,
) -> PyResult<Option<(&'static str, Bound<'py, PyDict>)>> {
    let fields = PyDict::new(py);
    let kind = match event {
        Event::Note(text) => {
            fields.set_item("text", text)?;
            "Note"
        }
        Event::Stage(stage) => {
            fields.set_item("stage", stage.name())?;
            "Stage"
        }
        Event::Test {
            number,
            stage,
            seed,
            distance,
            label,
        } => {
            fields.set_item("number", number)?;
            fields.set_item("stage", stage.name())?;
            fields.set_item("seed", seed)?;
            fields.set_item("distance", distance)?;
            fields.set_item("label", label)?;
            "Test"
        }
        Event::Round { stage, tests, gain } => {
            fields.set_item("stage", stage.name())?;
            fields.set_item("tests", tests)?;
            fields.set_item("gain", gain)?;
            "Round"
        }
        Event::Proof {
            nodes,
            certificate,
            cut,
        } => {
            fields.set_item("nodes", nodes)?;
            fields.set_item("certificate", certificate)?;
            fields.set_item("cut", cut)?;
            "Proof"
        }
        Event::Progress(progress) => {
            fields.set_item("stage", progress.stage.name())?;
            fields.set_item("covered", progress.goals.met)?;
            fields.set_item("impossible", progress.goals.impossible)?;
            fields.set_item("total", progress.goals.total)?;
            fields.set_item("refuted", progress.properties.met)?;
            fields.set_item("proven", progress.properties.impossible)?;
            fields.set_item("properties", progress.properties.total)?;
            fields.set_item("tests", progress.tests)?;
            fields.set_item("adversarial", progress.adversarial)?;
            fields.set_item("passes", progress.passes)?;
            let left = progress.left.map(|left| left.as_secs_f64());
            fields.set_item("seconds_left", left)?;
            "Progress"
        }
        Event::Stopped(stop) => {
            fields.set_item("reason", stop.name())?;
            "Stopped"
        }
        _ => return Ok(None),
    };
    Ok(Some((kind, fields)))
}
