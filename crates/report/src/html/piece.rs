//! Parts of a report for pages that are not ours, such as a notebook: a piece of HTML with its own style, which touches
//! nothing outside of it, and needs no other file and no script.

use std::path::Path;

use deepconcolic::{Error, SavedRun};
use maud::{Markup, PreEscaped, html};

use super::page::{Form, Links, style_with_root};
use super::picture::Pictures;
use super::svg::definitions;
use super::view::View;
use super::{drawings, index, measured};

/// Adversarial inputs that are shown; the report has a gallery.
const CARDS: usize = 6;

/// The summary of the run in a folder, with the nearest adversarial inputs.
pub fn run_piece(folder: &Path) -> Result<String, Error> {
    let view = View::of(SavedRun::read(folder)?);
    let pictures = Pictures::of_nearest(&view, CARDS)?;
    let links = Links {
        form: Form::Piece,
        pictures: &pictures,
    };
    Ok(framed(&index::piece(&view, &links, CARDS)))
}

/// The figures of a measurement, from what `coverage --json` writes.
pub fn coverage_piece(report: &str) -> Result<String, Error> {
    Ok(framed(&measured::piece(report)?))
}

/// Every drawing of the report of a run, as files.
pub fn run_drawings(folder: &Path) -> Result<Vec<drawings::Drawing>, Error> {
    let view = View::of(SavedRun::read(folder)?);
    let links = Links {
        form: Form::Piece,
        pictures: &Pictures::default(),
    };
    Ok(drawings::all(&view, &links))
}

/// The style sheet inside a rule: what it says holds inside the piece alone.
fn framed(body: &Markup) -> String {
    let style = format!(".deepconcolic {{\n{}}}\n", style_with_root("&"));
    html! {
        div class="deepconcolic" {
            style { (PreEscaped(style)) }
            (definitions())
            (body)
        }
    }
    .into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_of_a_piece_is_inside_its_rule() {
        let piece = framed(&html! { p { "text" } });
        let style = piece.split("<style>").nth(1).expect("it has a style");
        let style = style.split("</style>").next().expect("which ends");
        assert!(!style.contains(":root") && !style.contains("\nbody"));
        assert!(style.starts_with(".deepconcolic {\n& {"));
        let depth =
            |text: &str| text.matches('{').count() as i64 - text.matches('}').count() as i64;
        assert_eq!(depth(style), 0);
        assert_eq!(
            depth(&style[..style.trim_end().len() - 1]),
            1,
            "one rule holds all others"
        );
    }

    #[test]
    fn figures_are_read_as_they_are_written_and_garbage_is_refused() {
        let report = r#"{"samples": 3, "layout": "3 features", "domain": "0..1", "notes": ["<b>"], "criteria": [
            {"name": "nc", "definition": "d", "total": 4, "covered": 1, "layers": [{"name": "r", "total": 4, "covered": 1}]}]}"#;
        let piece = coverage_piece(report).expect("it is one");
        assert!(piece.contains("3 samples cover 25.0"), "{piece}");
        assert!(piece.contains("&lt;b&gt;") && !piece.contains("<script"));
        assert!(coverage_piece("{}").is_err() && coverage_piece("").is_err());
    }
}
