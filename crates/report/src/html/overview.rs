//! The index of several runs: a folder whose sub-folders are runs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use deepconcolic::{Error, Polarity, SavedRun, Table};
use deepconcolic_record::LayerSummary;
use maud::html;

use super::files::Files;
use super::number::{count, percent, short};
use super::page::{Page, SCRIPT, STYLE, whole};
use super::view::View;
use super::{index, words};

/// Columns of what wants a witness.
const GOALS: [&str; 5] = ["goals", "covered", "impossible", "open", "coverage"];
/// Columns of what wants none.
const PROPERTIES: [&str; 4] = ["properties", "refuted", "proven", "open"];

/// Most runs of an index.
const RUNS: usize = 500;

/// The index of a folder of runs.
pub fn files(folder: &Path) -> Result<Files, Error> {
    let unreadable =
        |e: std::io::Error| Error::Request(format!("{} cannot be read: {e}", folder.display()));
    let mut names: Vec<String> = fs::read_dir(folder)
        .map_err(unreadable)?
        .flatten()
        .filter(|entry| SavedRun::is_in(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names.truncate(RUNS);
    if names.is_empty() {
        return Err(Error::Request(format!(
            "{} has no run.json or verify.json, and no folder with one; name a folder that `run` or `verify --out` \
             wrote, or one that holds such folders",
            folder.display()
        )));
    }
    let mut runs = Vec::new();
    for name in names {
        let view = View::of(SavedRun::read(&folder.join(&name))?);
        runs.push((name, view));
    }
    let page = page(&runs);
    let mut files = Files::default();
    let listed = [("index".to_owned(), "Runs".to_owned())];
    files.add("index.html", whole("Runs", &page, &listed));
    files.add("style.css", STYLE);
    files.add("report.js", SCRIPT);
    Ok(files)
}

fn page(runs: &[(String, View)]) -> Page {
    Page {
        name: "index".into(),
        title: "Runs".into(),
        listed: true,
        body: html! {
            h1 { "Runs" }
            div class="scroll" {
                table class="sortable" {
                    thead { tr {
                        th scope="col" { "folder" } th scope="col" { "model" } th scope="col" { "criterion" }
                        @for name in GOALS.iter().chain(&PROPERTIES) { th scope="col" { (name) } }
                        th scope="col" { "adversarial" } th scope="col" { "nearest" }
                    } }
                    tbody {
                        @for (name, view) in runs {
                            @let s = &view.run.summary;
                            tr {
                                th scope="row" { a href=(format!("{}/index.html", address(name))) { (name) } }
                                td { (index::model(view)) }
                                td { (s.criterion) }
                                @for cell in counts(view) { td class="number" { (cell) } }
                                td class="number" { @match s.adversarial { Some(a) => (count(a.count)), None => "–" } }
                                td class="number" { @match view.adversarial.first() { Some(a) => (short(a.distance)), None => "–" } }
                            }
                        }
                    }
                }
            }
            @for (name, view) in runs {
                section {
                    h2 { a href=(format!("{}/index.html", address(name))) { (name) } }
                    p { (words::headline(view)) }
                }
            }
        },
    }
}

/// What a run came to: goals, then properties; a dash where it has none of them.
fn counts(view: &View) -> Vec<String> {
    let tables = Table::of_run(&view.run.summary);
    let of = |polarity: Polarity| {
        let mut tables = tables.iter();
        tables.find(|table| table.polarity == polarity && table.all.total > 0)
    };
    let cells = |all: &LayerSummary| {
        let counts = [all.total, all.covered, all.infeasible, all.unresolved];
        counts.map(count).to_vec()
    };
    let none = |columns: usize| vec!["–".to_owned(); columns];
    let goals = of(Polarity::Goal).map_or_else(
        || none(GOALS.len()),
        |goals| {
            let feasible = goals.all.total.saturating_sub(goals.all.infeasible);
            let share = percent(goals.all.covered, feasible);
            [cells(&goals.all), vec![share]].concat()
        },
    );
    let properties = of(Polarity::Property);
    let properties = properties.map_or_else(|| none(PROPERTIES.len()), |some| cells(&some.all));
    [goals, properties].concat()
}

/// The name of a folder as a part of an address.
fn address(name: &str) -> String {
    let mut address = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    // A name such as `javascript:x` is a folder all the same.
    format!("./{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_a_folder_whatever_it_is_called() {
        assert_eq!(address("nc 1"), "./nc%201");
        assert_eq!(address("javascript:x"), "./javascript%3Ax");
        assert_eq!(address("a\"b"), "./a%22b");
    }
}
