//! The frame of every page: head, navigation, foot. No inline style and no inline handler: policies of build servers
//! forbid both.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::svg::definitions;

/// The style sheet.
pub const STYLE: &str = include_str!("assets/style.css");
/// What makes pages sort, filter and search. They are complete without it.
pub const SCRIPT: &str = include_str!("assets/report.js");

/// What made a page.
const GENERATOR: &str = concat!("deepconcolic ", env!("CARGO_PKG_VERSION"));

/// What a page that this version made contains.
pub fn written_by() -> String {
    html! { meta name="generator" content=(GENERATOR); }.into_string()
}

/// A page of a report.
pub struct Page {
    /// Its name, without the ending; also its anchor where all pages are one file.
    pub name: String,
    /// What the navigation calls it.
    pub title: String,
    /// Whether the navigation has it: pages of single layers are reached from the first page.
    pub listed: bool,
    /// What is on it.
    pub body: Markup,
}

/// How pages refer to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A file a page.
    Folder,
    /// All in one file.
    SingleFile,
    /// A piece of somebody else's page, from which no other page can be reached.
    Piece,
}

/// Links of a report.
#[derive(Clone, Copy)]
pub struct Links<'a> {
    /// Where they lead to.
    pub form: Form,
    /// The pictures there are, by their names.
    pub pictures: &'a super::picture::Pictures,
}

impl Links<'_> {
    /// To a page, if it can be reached.
    pub fn page(&self, name: &str) -> Option<String> {
        match self.form {
            Form::Folder => Some(format!("{name}.html")),
            Form::SingleFile => Some(format!("#{name}")),
            Form::Piece => None,
        }
    }

    /// To a place on a page, if it can be reached.
    pub fn place(&self, page: &str, anchor: &str) -> Option<String> {
        match self.form {
            Form::Folder => Some(format!("{page}.html#{anchor}")),
            Form::SingleFile => Some(format!("#{anchor}")),
            Form::Piece => None,
        }
    }

    /// Where a picture comes from.
    pub fn picture(&self, name: &str) -> String {
        match self.form {
            Form::Folder => super::picture::path(name),
            Form::SingleFile | Form::Piece => self.pictures.embedded(name),
        }
    }
}

/// A whole page.
pub fn whole(title: &str, page: &Page, pages: &[(String, String)]) -> String {
    let head = html! {
        link rel="stylesheet" href="style.css";
        script src="report.js" defer {}
    };
    document(
        title,
        &head,
        &navigation(pages, Some(&page.name), |name| format!("{name}.html")),
        &page.body,
    )
}

/// The links to pages that are listed.
pub fn navigation(
    pages: &[(String, String)],
    here: Option<&str>,
    address: fn(&str) -> String,
) -> Markup {
    html! {
        nav aria-label="Pages" {
            @for (name, title) in pages {
                @let to = address(name);
                @if here == Some(name) {
                    a href=(to) aria-current="page" { (title) }
                } @else {
                    a href=(to) { (title) }
                }
            }
        }
    }
}

/// A document with this head and contents.
pub fn document(title: &str, head: &Markup, navigation: &Markup, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(GENERATOR);
                title { (title) }
                (head)
            }
            body {
                (definitions())
                header class="top" {
                    span class="product" { "deepconcolic" }
                    (navigation)
                }
                main { (body) }
            }
        }
    }
    .into_string()
}

/// The style sheet and the script inside a file; neither contains what would end its element.
pub fn embedded() -> Markup {
    html! {
        style { (PreEscaped(STYLE)) }
        script { (PreEscaped(SCRIPT)) }
    }
}

/// The style sheet for a root of another kind than a page: what it says of pages holds for elements that the selector
/// names.
pub fn style_with_root(selector: &str) -> String {
    let with_root = STYLE.replace(":root {", &format!("{selector} {{"));
    with_root.replace("\nbody {", &format!("\n{selector} {{"))
}

/// A table behind a plot.
pub fn behind(title: &str, table: &Markup) -> Markup {
    html! {
        details {
            summary { (title) }
            div class="scroll" { (table) }
        }
    }
}

/// A command to copy.
pub fn command(words: &str) -> Markup {
    html! { code class="command" { (words) } }
}
