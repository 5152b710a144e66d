//! A report, from a folder to its files.

use std::path::{Path, PathBuf};

use deepconcolic::{CheckReport, CoverageReport, Error, LeftOut, SavedRun};

use super::files::Files;
use super::page::{Form, Links, Page, SCRIPT, STYLE, whole, written_by};
use super::picture::{Pictures, path};
use super::view::View;
use super::{
    compare, gallery, index, junit, layers, measured, overview, requirements, run, sarif,
    single_file, summary_md, verification,
};

/// What report is wanted.
#[derive(Clone, Debug, Default)]
pub struct ReportRequest {
    /// Also all pages in one file.
    pub single_file: bool,
    /// The folder of a run to compare with.
    pub compare: Option<PathBuf>,
}

/// Writes the report of a folder, and says which file to open.
pub fn write(folder: &Path, request: &ReportRequest) -> Result<PathBuf, Error> {
    if !SavedRun::is_in(folder) {
        return other(folder, request);
    }
    let view = View::of(SavedRun::read(folder)?);
    let pictures = Pictures::of(&view)?;
    if let Some(path) = &request.compare {
        let before = View::of(SavedRun::read(path)?);
        let page = compare::page(&view, &before, path);
        let mut files = Files::default();
        files.add(
            compare::FILE,
            whole(&index::title(&view), &page, &listing(&view, true)),
        );
        files.put(folder)?;
    }
    let compared = folder.join(compare::FILE).is_file();
    let mut files = pages_of(&view, &pictures, compared);
    let mut first = folder.join("index.html");
    if request.single_file {
        files.add(single_file::NAME, single(&view, &pictures));
        first = folder.join(single_file::NAME);
    }
    files.write(folder)?;
    Ok(first)
}

/// Writes what `coverage` measured into a folder, with a report; the folder is made if it is not there.
pub fn write_coverage(
    folder: &Path,
    report: &CoverageReport,
    command: &[String],
) -> Result<PathBuf, Error> {
    if SavedRun::is_in(folder) || verification::is_in(folder) {
        return Err(Error::Request(format!(
            "--out {} holds a run or an answer already; name another folder",
            folder.display()
        )));
    }
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::Request(format!("{} cannot be made: {e}", folder.display())))?;
    measured::file(report, command)?.put(folder)?;
    write(folder, &ReportRequest::default())
}

/// Makes the report of a folder again, and enters in what `check` found where it differs. A folder without a report
/// has nothing to compare.
pub fn check(folder: &Path, report: &mut CheckReport) {
    if !Files::are_in(folder) {
        return;
    }
    let late = !report.left_out().is_empty();
    let known = std::fs::read_to_string(folder.join("index.html")).ok();
    if known.is_some_and(|known| !known.contains(&written_by())) {
        let line = "index.html and its pages: another version of this program wrote them; `deepconcolic report` \
                    writes them anew";
        unverified(report, line);
        report.other_files().remove(Files::may_have);
        return;
    }
    // What was left out may be what its pages follow from.
    if late {
        report.other_files().remove(Files::may_have);
        report.leave_out(LeftOut {
            what: "report (index.html and what belongs to it)".into(),
            count: 1,
        });
        return;
    }
    match made_again(folder) {
        Ok(files) => {
            report
                .other_files()
                .remove(|name| files.0.contains_key(name));
            for (file, why) in files.differences(folder) {
                wrong(report, &file, why);
            }
        }
        Err(error) => wrong(report, "index.html", &error.to_string()),
    }
    if folder.join(compare::FILE).is_file() {
        unverified(report, "compare.html: it speaks of another folder too");
        report.other_files().remove(|name| name == compare::FILE);
    }
}

fn wrong(report: &mut CheckReport, file: &str, why: &str) {
    match report {
        CheckReport::Run(findings) => findings.differs(file, "page", "made from this folder", why),
        CheckReport::Answer(findings) => findings.wrong.push(format!("{file}: {why}")),
    }
}

fn unverified(report: &mut CheckReport, line: &str) {
    match report {
        CheckReport::Run(findings) => findings.unverified.push(line.into()),
        CheckReport::Answer(findings) => findings.not_verified.push(line.into()),
    }
}

/// The files that a report of the folder has.
fn made_again(folder: &Path) -> Result<Files, Error> {
    if !SavedRun::is_in(folder) {
        return verification::files(folder);
    }
    let view = View::of(SavedRun::read(folder)?);
    let pictures = Pictures::of(&view)?;
    let compared = folder.join(compare::FILE).is_file();
    let mut files = pages_of(&view, &pictures, compared);
    if folder.join(single_file::NAME).is_file() {
        files.add(single_file::NAME, single(&view, &pictures));
    }
    Ok(files)
}

/// The report of what is no run: an answer of `verify`, or a folder of runs.
fn other(folder: &Path, request: &ReportRequest) -> Result<PathBuf, Error> {
    if request.single_file || request.compare.is_some() {
        return Err(Error::Request(format!(
            "{} is not the folder of a run, so that --single-file and --compare do not apply",
            folder.display()
        )));
    }
    if measured::is_in(folder) {
        measured::files(folder)?.write(folder)?;
    } else if verification::is_in(folder) {
        verification::files(folder)?.write(folder)?;
    } else {
        overview::files(folder)?.write(folder)?;
    }
    Ok(folder.join("index.html"))
}

fn pages(view: &View, links: &Links<'_>, compared: bool) -> Vec<Page> {
    let mut pages = vec![index::page(view, links, compared)];
    pages.extend(gallery::page(view, links));
    pages.extend(requirements::page(view, links));
    pages.push(run::page(view));
    pages.extend(layers::pages(view, links));
    pages
}

/// Names and titles of the pages that the navigation has.
fn listing(view: &View, compared: bool) -> Vec<(String, String)> {
    let mut listed = vec![("index", "Summary")];
    if !view.adversarial.is_empty() {
        listed.push(("adversarial", "Adversarial inputs"));
    }
    if !view.named.is_empty() {
        listed.push(("requirements", "Requirements"));
    }
    listed.push(("run", "The run"));
    if compared {
        listed.push(("compare", "Comparison"));
    }
    let own = |(name, title): (&str, &str)| (name.to_owned(), title.to_owned());
    listed.into_iter().map(own).collect()
}

fn pages_of(view: &View, pictures: &Pictures, compared: bool) -> Files {
    let links = Links {
        form: Form::Folder,
        pictures,
    };
    let title = index::title(view);
    let listed = listing(view, compared);
    let mut files = Files::default();
    for page in pages(view, &links, compared) {
        let name = format!("{}.html", page.name);
        files.add(
            name,
            whole(&format!("{} · {title}", page.title), &page, &listed),
        );
    }
    for (name, contents) in &pictures.files {
        files.add(path(name), contents.clone());
    }
    files.add("style.css", STYLE);
    files.add("report.js", SCRIPT);
    files.add("junit.xml", junit::text(view));
    files.add("findings.sarif", sarif::text(view));
    files.add("summary.md", summary_md::text(view));
    files
}

fn single(view: &View, pictures: &Pictures) -> String {
    let links = Links {
        form: Form::SingleFile,
        pictures,
    };
    single_file::text(&index::title(view), &pages(view, &links, false))
}
