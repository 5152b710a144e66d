//! Reporters of runs, by name: what is shown while a run works, and in the end.

use std::io::{self, Write};
use std::path::Path;

use deepconcolic::Event;
use deepconcolic_record::Summary;

use crate::progress::ProgressLine;
use crate::{json, pictures, summary};

/// What is left of a run.
pub struct Saved<'a> {
    /// Its figures.
    pub summary: &'a Summary,
    /// The folder, if it has one.
    pub folder: Option<&'a Path>,
}

/// How a run is to be shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Every layer and note, and what words mean.
    pub verbose: bool,
    /// Small pictures of adversarial tests, as the terminal can show them.
    pub pictures: bool,
    /// Characters that fit in a line.
    pub width: usize,
}

/// Shows a run.
pub trait Reporter: Send {
    /// Something happened.
    fn event(&mut self, event: &Event);

    /// The run is over. Results go to `out`, what is only for whoever watches to `err`.
    fn finish(
        &mut self,
        saved: &Saved<'_>,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> io::Result<()>;
}

/// A form that a run can be shown in.
pub struct Form {
    /// Its name.
    pub name: &'static str,
    /// What it shows.
    pub description: &'static str,
    /// A reporter that shows a run so.
    pub reporter: fn(&Look) -> Box<dyn Reporter>,
}

/// Every form; the first is the default.
pub const ALL: &[Form] = &[
    Form {
        name: "text",
        description: "a summary for people",
        reporter: |look| Box::new(Text(ProgressLine::new(), *look)),
    },
    Form {
        name: "json",
        description: "the figures of run.json",
        reporter: |_| Box::new(Json(ProgressLine::new())),
    },
    Form {
        name: "quiet",
        description: "nothing but errors and gates that fail",
        reporter: |_| Box::new(Quiet),
    },
];

/// The form of a name.
pub fn form(name: &str) -> Option<&'static Form> {
    ALL.iter().find(|form| form.name == name)
}

struct Text(ProgressLine, Look);

impl Reporter for Text {
    fn event(&mut self, event: &Event) {
        self.0.hear(event);
    }

    fn finish(
        &mut self,
        saved: &Saved<'_>,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> io::Result<()> {
        self.0.end();
        summary::print(out, saved.summary, &self.1)?;
        if let Some(folder) = saved.folder {
            if self.1.pictures {
                pictures::show(out, folder, saved.summary, self.1.width)?;
            }
            let page = folder.join("index.html");
            writeln!(
                out,
                "saved in {}; to look at: {}",
                folder.display(),
                page.display()
            )?;
            writeln!(
                out,
                "next: {}",
                summary::next_command(saved.summary, folder)
            )?;
        }
        // Nobody may be watching.
        let _ = writeln!(err, "{:.1} s", self.0.elapsed().as_secs_f64());
        Ok(())
    }
}

struct Json(ProgressLine);

impl Reporter for Json {
    fn event(&mut self, event: &Event) {
        self.0.hear(event);
    }

    fn finish(
        &mut self,
        saved: &Saved<'_>,
        out: &mut dyn Write,
        _: &mut dyn Write,
    ) -> io::Result<()> {
        self.0.end();
        json(saved.summary, out)
    }
}

struct Quiet;

impl Reporter for Quiet {
    fn event(&mut self, _: &Event) {}

    fn finish(&mut self, _: &Saved<'_>, _: &mut dyn Write, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_found_by_its_name_and_names_are_unique() {
        let mut names: Vec<&str> = ALL.iter().map(|form| form.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        for each in ALL {
            assert!(form(each.name).is_some_and(|found| found.description == each.description));
        }
        assert!(form("none").is_none());
    }
}
