//! The tests of a run in the forms of others: arrays, pictures, a table, and tests for pytest that replay every failure in
//! another runtime.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use deepconcolic_dataset::write::{AtomicFile, NpzWriter, png_contents};
use deepconcolic_record::{AdversarialTable, ArchiveError, Picture, SuiteTable, Summary};
use serde_json::json;

use crate::error::Error;
use crate::folder;
use crate::settings::Settings;

/// The tests that a folder gets for pytest; they read what is written beside them.
const PYTEST: &str = include_str!("test_failures.py");
/// A row of a table holds no larger input.
const WIDEST: usize = 16_384;

/// A form that tests can be written in.
pub struct ExportForm {
    /// Its name.
    pub name: &'static str,
    /// What is written.
    pub description: &'static str,
    write: fn(&Contents, &Path) -> Result<Exported, Error>,
}

/// Every form.
pub const EXPORTS: &[ExportForm] = &[
    ExportForm {
        name: "npz",
        description: "tests.npz: x, y (what each should be), label (what the network says), adversarial",
        write: npz,
    },
    ExportForm {
        name: "png",
        description: "png/: a picture of every test, TEST-Y-as-LABEL.png",
        write: png,
    },
    ExportForm {
        name: "csv",
        description: "tests.csv: a row a test, its values, y, label, adversarial",
        write: csv,
    },
    ExportForm {
        name: "pytest",
        description: "test_failures.py: replays every adversarial test in onnxruntime; fails until the model is mended",
        write: pytest,
    },
];

/// What was written, in words.
pub struct Exported(pub String);

/// What is asked for.
pub struct SuiteExport {
    /// The folder of the run.
    pub dir: PathBuf,
    /// Where to write.
    pub out: PathBuf,
    /// The forms, by name; all that fit without.
    pub forms: Vec<String>,
}

/// What is written.
struct Contents {
    settings: Settings,
    shape: Vec<usize>,
    suite: SuiteTable,
}

impl SuiteExport {
    /// Writes every form, and says what was written.
    pub fn run(&self) -> Result<Vec<Exported>, Error> {
        let known = |name: &String| EXPORTS.iter().any(|form| form.name == *name);
        if let Some(name) = self.forms.iter().find(|name| !known(name)) {
            let names: Vec<&str> = EXPORTS.iter().map(|form| form.name).collect();
            let names = names.join(", ");
            return Err(Error::Request(format!(
                "there is no form `{name}`; there are {names}"
            )));
        }
        let contents = Contents::read(&self.dir)?;
        fs::create_dir_all(&self.out).map_err(|error| {
            Error::Request(format!("{} cannot be made: {error}", self.out.display()))
        })?;
        let chosen = |form: &&ExportForm| {
            self.forms.is_empty() || self.forms.iter().any(|name| name == form.name)
        };
        let mut written = Vec::new();
        for form in EXPORTS.iter().filter(chosen) {
            match (form.write)(&contents, &self.out) {
                // What was not asked for by name may not fit.
                Err(Error::Request(why)) if self.forms.is_empty() => {
                    written.push(Exported(format!("{}: left out: {why}", form.name)));
                }
                other => written.push(other?),
            }
        }
        Ok(written)
    }
}

impl Contents {
    fn read(dir: &Path) -> Result<Self, Error> {
        let summary = Summary::read(&dir.join(folder::SUMMARY))?;
        let settings = Settings::read(&summary.settings).map_err(|detail| {
            let path = dir.join(folder::SUMMARY);
            Error::from(ArchiveError::Damaged { path, detail })
        })?;
        let path = dir.join(folder::SUITE);
        let shape = SuiteTable::shape(&path)?;
        let size = |product: usize, &side: &usize| product.checked_mul(side);
        let elements = shape.iter().try_fold(1, size).filter(|&n| n > 0);
        let elements = elements.ok_or_else(|| {
            let detail = format!("inputs of the shape {shape:?} are none");
            let path = path.clone();
            Error::from(ArchiveError::Damaged { path, detail })
        })?;
        let suite = SuiteTable::read(&path, elements)?;
        Ok(Self {
            settings,
            shape,
            suite,
        })
    }

    fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    fn input(&self, test: usize) -> &[f32] {
        &self.suite.x[test * self.elements()..(test + 1) * self.elements()]
    }

    /// The shape of so many inputs.
    fn whole(&self, count: usize) -> Vec<usize> {
        [count]
            .into_iter()
            .chain(self.shape.iter().copied())
            .collect()
    }

    fn adversarial(&self) -> Vec<u8> {
        let mut marks = vec![0; self.suite.len()];
        self.suite.adversarial().for_each(|test| marks[test] = 1);
        marks
    }
}

fn npz(contents: &Contents, out: &Path) -> Result<Exported, Error> {
    let suite = &contents.suite;
    let count = suite.len();
    let path = out.join("tests.npz");
    let mut file = NpzWriter::create(&path)?;
    file.add("x", &contents.whole(count), &suite.x)?;
    if suite.output.is_empty() {
        file.add("y", &[count], &suite.reference_label)?;
        file.add("label", &[count], &suite.label)?;
    } else {
        let outputs = suite.outputs();
        file.add("y", &[count, outputs], &suite.reference_output)?;
        file.add("output", &[count, outputs], &suite.output)?;
    }
    file.add("adversarial", &[count], &contents.adversarial())?;
    file.finish()?;
    Ok(Exported(format!("{}: {count} tests", path.display())))
}

fn png(contents: &Contents, out: &Path) -> Result<Exported, Error> {
    let domain = contents.settings.domain.domain(contents.elements());
    let domain = domain.map_err(Error::Request)?;
    let picture = Picture::of(&contents.shape, &domain).map_err(Error::Request)?;
    let folder = out.join("png");
    let failed = |path: &Path, error: std::io::Error| {
        Error::Request(format!("{} cannot be written: {error}", path.display()))
    };
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    let suite = &contents.suite;
    let mut off = 0.0_f64;
    for test in 0..suite.len() {
        let (levels, error) = picture.levels(contents.input(test), 255);
        off = off.max(error);
        let name = format!(
            "{test:06}-{}-as-{}.png",
            suite.reference_label[test], suite.label[test]
        );
        let path = folder.join(name);
        let bytes: Vec<u8> = levels.iter().map(|&level| level as u8).collect();
        let bytes = png_contents(&path, picture.size(), &bytes)?;
        fs::write(&path, bytes).map_err(|error| failed(&path, error))?;
    }
    let exact = match off {
        off if off > 0.0 => {
            format!("; 8 bits are off by at most {off:.4} (run with --quantise 255)")
        }
        _ => String::new(),
    };
    Ok(Exported(format!(
        "{}: {} pictures{exact}",
        folder.display(),
        suite.len()
    )))
}

fn csv(contents: &Contents, out: &Path) -> Result<Exported, Error> {
    let elements = contents.elements();
    if elements > WIDEST {
        return Err(Error::Request(format!(
            "inputs of {elements} values are no rows of a table"
        )));
    }
    let suite = &contents.suite;
    let path = out.join("tests.csv");
    let names: Vec<String> = (0..elements).map(|i| format!("x{i}")).collect();
    let mut text = names.join(",") + ",y,label,adversarial\n";
    for (test, adversarial) in contents.adversarial().iter().enumerate() {
        for value in contents.input(test) {
            // As short as reads back the same; writing to a string cannot fail.
            let _ = write!(text, "{value},");
        }
        let (y, label) = (suite.reference_label[test], suite.label[test]);
        let _ = writeln!(text, "{y},{label},{adversarial}");
    }
    write(&path, text.as_bytes())?;
    Ok(Exported(format!(
        "{}: {} rows",
        path.display(),
        suite.len()
    )))
}

fn pytest(contents: &Contents, out: &Path) -> Result<Exported, Error> {
    let settings = &contents.settings;
    let Some(rule) = settings.decision else {
        return Err(Error::Request(
            "no test was judged, so that none is a failure".into(),
        ));
    };
    let failures = AdversarialTable::of(&contents.suite, contents.elements());
    let count = failures.len();
    let mut file = NpzWriter::create(&out.join("failures.npz"))?;
    file.add("x", &contents.whole(count), &failures.x)?;
    file.add("test", &[count], &failures.test)?;
    if failures.quantities.is_empty() {
        file.add("y", &[count], &failures.classes)?;
    } else {
        let outputs = failures.quantities.len() / count.max(1);
        file.add("y", &[count, outputs], &failures.quantities)?;
    }
    file.finish()?;
    let model = std::path::absolute(&settings.model.model);
    let model = model.unwrap_or_else(|_| settings.model.model.clone());
    let about = json!({
        "model": model.display().to_string(),
        "mean": settings.model.mean,
        "std": settings.model.std,
        "decision": rule,
    });
    write(
        &out.join("failures.json"),
        format!("{about:#}\n").as_bytes(),
    )?;
    let path = out.join("test_failures.py");
    write(&path, PYTEST.as_bytes())?;
    Ok(Exported(format!("{}: {count} failures", path.display())))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)
        .map_err(|e| Error::Request(format!("{} cannot be written: {e}", path.display())))?;
    Ok(file.commit()?)
}
