//! Model and data that a run was given in memory: there is no file to name, so that its folder keeps them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use deepconcolic_dataset::write::{AtomicFile, NpzWriter};
use deepconcolic_dataset::{Dataset, Elements, OpenOptions};
use deepconcolic_record::RunFolder;

use crate::error::Error;
use crate::settings::{DataSettings, ModelSettings, Settings};

/// What settings call a model that lies in the folder of the run.
pub const KEPT_MODEL: &str = "run:model.onnx";
/// What settings call data that lie in the folder of the run.
pub const KEPT_DATA: &str = "run:data.npz";

/// The name in the folder of what settings call so.
fn name_of(kept: &str) -> &str {
    kept.strip_prefix("run:").unwrap_or(kept)
}

/// Settings with the content of what the folder of the run keeps. What it should have and does not is
/// missed where it is needed.
pub fn fetched(mut settings: Settings, folder: &Path) -> Settings {
    let model = &mut settings.model;
    if model.model == Path::new(KEPT_MODEL) && model.content.is_none() {
        let bytes = fs::read(folder.join(name_of(KEPT_MODEL)));
        model.content = bytes.ok().map(Arc::from);
    }
    let data = &mut settings.data;
    if data.data == Path::new(KEPT_DATA) && data.content.is_none() {
        let path = folder.join(name_of(KEPT_DATA));
        data.content = Dataset::open(&path, &OpenOptions::default()).ok();
    }
    settings
}

/// The files of its folder that a run with these settings is kept in.
pub fn names(settings: &Settings) -> impl Iterator<Item = String> {
    let model = (settings.model.model == Path::new(KEPT_MODEL)).then_some(KEPT_MODEL);
    let data = (settings.data.data == Path::new(KEPT_DATA)).then_some(KEPT_DATA);
    let kept = model.into_iter().chain(data);
    kept.map(|kept| name_of(kept).to_owned())
}

/// Writes what is in memory alone into the folder of the run, unless it is there.
pub fn keep(model: &ModelSettings, data: &DataSettings, folder: &RunFolder) -> Result<(), Error> {
    if let Some(bytes) = &model.content {
        let path = folder.file(name_of(KEPT_MODEL));
        if !path.exists() {
            let mut file = AtomicFile::create(&path)?;
            file.write_all(bytes)
                .map_err(|e| Error::Request(format!("cannot write {}: {e}", path.display())))?;
            file.commit()?;
        }
    }
    if let Some(dataset) = &data.content {
        let path = folder.file(name_of(KEPT_DATA));
        if !path.exists() {
            write_data(&path, dataset)?;
        }
    }
    Ok(())
}

/// Samples and labels as `x` and `y`.
fn write_data(path: &Path, dataset: &Dataset) -> Result<(), Error> {
    let mut shape = vec![dataset.len()];
    shape.extend(dataset.shape());
    let mut file = NpzWriter::create(path)?;
    match dataset.elements() {
        Elements::U8(values) => file.add("x", &shape, values)?,
        Elements::F32(values) => file.add("x", &shape, values)?,
        _ => return Err(Error::Internal("data of an unknown kind".into())),
    }
    if let Some(labels) = dataset.labels() {
        file.add("y", &[labels.len()], labels)?;
    } else {
        let quantities = (0..dataset.len()).map(|sample| dataset.quantity(sample));
        if let Some(values) = quantities.collect::<Option<Vec<f64>>>() {
            file.add("y", &[values.len()], &values)?;
        }
    }
    Ok(file.finish()?)
}
