//! `report.html`: all pages in one file that can be sent by mail; style, script and pictures are inside.

use maud::html;

use super::page::{Page, document, embedded, navigation};

/// The name of the file.
pub const NAME: &str = "report.html";

/// All pages, one below the other.
pub fn text(title: &str, pages: &[Page]) -> String {
    let listed: Vec<(String, String)> = pages
        .iter()
        .filter(|page| page.listed)
        .map(|page| (page.name.clone(), page.title.clone()))
        .collect();
    let body = html! {
        @for page in pages {
            div class="page" id=(page.name) { (page.body) }
        }
    };
    let navigation = navigation(&listed, None, |name| format!("#{name}"));
    document(title, &embedded(), &navigation, &body)
}
