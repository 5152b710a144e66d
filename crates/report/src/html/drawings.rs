//! The drawings of a report one by one, each as a file of its own: for notebooks and papers.

use maud::Markup;

use super::page::{Links, style_with_root};
use super::svg::definitions;
use super::view::View;
use super::{layers, plots, slopes};

/// A drawing by itself.
pub struct Drawing {
    /// What it is called where one is chosen.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The drawing: a whole SVG file.
    pub svg: String,
}

/// Every drawing that a run has.
pub fn all(view: &View, links: &Links<'_>) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    let mut add = |name: &str, title: &str, svg: Markup| {
        drawings.push(Drawing {
            name: name.to_owned(),
            title: title.to_owned(),
            svg: file(&svg),
        });
    };
    if plots::has_growth(view) {
        let plot = plots::over_tests(view);
        add("tests", plot.title, plot.draw());
        if plots::has_seconds(view) {
            let plot = plots::over_seconds(view);
            add("time", plot.title, plot.draw());
        }
    }
    if plots::has_seeds(view) {
        let rows = plots::seed_by_seed(view);
        add("seeds", plots::SEEDS, plots::seeds(&rows, links));
        if let Some(svg) = plots::robustness(view, &rows) {
            add("robustness", plots::ROBUSTNESS, svg);
        }
    }
    let regions = &view.run.summary.lipschitz;
    if !regions.is_empty() {
        let plot = slopes::constants(regions);
        add("constants", plot.title, plot.draw());
        if let Some(svg) = slopes::between(regions) {
            add("slopes", slopes::BETWEEN, svg);
        }
    }
    for (number, map) in view.pairs.iter().enumerate() {
        let (drawing, _) = plots::pair_drawing(map);
        add(
            &format!("pairs-{}", number + 1),
            &drawing.title,
            drawing.draw(),
        );
    }
    for layer in &view.layers {
        if let Some(drawing) = layers::drawing(layer) {
            add(&layer.page, &drawing.title, drawing.draw());
        }
    }
    if !view.adversarial.is_empty() {
        let (svg, words) = plots::distances(view);
        add("distances", words, svg);
        if let Some((svg, _)) = plots::confusion(view) {
            add("labels", plots::CONFUSION, svg);
        }
    }
    drawings
}

/// A drawing as a file: on a page, the page has what it refers to.
fn file(drawing: &Markup) -> String {
    let style = style_with_root(":root");
    let inside = definitions();
    // Attributes hold no `>` that is not escaped, so that the first one ends the opening tag.
    let (tag, rest) = drawing.0.split_once('>').unwrap_or((&drawing.0, ""));
    let attributes = tag.strip_prefix("<svg").unwrap_or(tag);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{attributes}><style>{style}</style>{}{rest}\n",
        inside.0
    )
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    #[test]
    fn a_drawing_becomes_a_file_with_its_colours() {
        let drawing = html! { svg class="plot" aria-label="1 > 0" { rect class="met" {} } };
        let file = file(&drawing);
        assert!(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" aria-label=\"1 &gt; 0\"><style>"));
        assert!(file.contains(".met {") && file.contains("id=\"hatch\""));
        assert!(file.ends_with("<rect class=\"met\"></rect></svg>\n"));
        assert!(!file.contains("\nbody {"));
    }
}
