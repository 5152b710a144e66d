//! `run.html`: where everything comes from: command, hashes, domain, time.

use maud::{Markup, html};

use super::index::words_of;
use super::number::{At, count, seconds, short};
use super::page::{Page, command};
use super::view::View;
use super::words;

/// Most input elements whose ranges are listed.
const ELEMENTS: usize = 200;

/// The page.
pub fn page(view: &View) -> Page {
    let summary = &view.run.summary;
    Page {
        name: "run".into(),
        title: "The run".into(),
        listed: true,
        body: html! {
            h1 { "The run" }
            p { (command(&line(&summary.command))) }
            (origins(view))
            (domain(view))
            (time(view))
            section {
                h2 { "What this rests on" }
                p { "The page " a href="statement.md" { "statement.md" } " has it for an assessor: what was asked, of what, what came of it, and which questions it does not answer. "
                    code { "run.json" } " has every figure for scripts, " code { "suite.npz" } " the tests, " code { "requirements.npz" } " how each requirement ended." }
            }
        },
    }
}

/// A command line that a shell takes.
pub fn line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| words_of(word)).collect();
    words.join(" ")
}

fn origins(view: &View) -> Markup {
    let (summary, settings) = (&view.run.summary, &view.run.settings);
    let row = |name: &str, value: Markup| html! { tr { th scope="row" { (name) } td { (value) } } };
    let code = |text: &str| html! { code class="hash" { (text) } };
    html! {
        section {
            h2 { "Where it comes from" }
            div class="scroll" {
                table class="facts-table" {
                    tbody {
                        (row("date", html! { (summary.date) }))
                        (row("tool", html! { (summary.tool) }))
                        (row("model", html! { (summary.model.path) }))
                        (row("SHA-256 of the model", code(&summary.model.sha256)))
                        (row("data", html! { (settings.data.data.display()) ", " (count(settings.samples)) " samples" }))
                        (row("SHA-256 of the data as used", code(&settings.data_sha256)))
                        @if let (Some(path), Some(hash)) = (&settings.reference, &settings.reference_sha256) {
                            (row("reference data", html! { (path.display()) }))
                            (row("SHA-256 of them as used", code(hash)))
                        }
                        @if let Some(file) = &settings.requirements {
                            (row("requirement file", html! { (file.name) }))
                            (row("SHA-256 of it", code(&file.sha256)))
                        } @else {
                            (row("criterion", html! { (summary.criterion) }))
                        }
                        @if let Some(profile) = &settings.profile { (row("ranges of neurons from", html! { (profile) })) }
                        @if let Some(part) = settings.partition { (row("part", html! { (part) " of the requirements" })) }
                        (row("where", html! { (words::place(view)) }))
                        (row("adversarial within", html! { (short(settings.adversarial_radius)) " (" (words::norm(&summary.norm)) ") of a real input" }))
                        @if let Some(rule) = summary.decision { (row("decision", html! { (rule.words()) })) }
                        (row("seeds", html! { (count(summary.tests.seeds)) " (" (count(summary.tests.misclassified)) " misclassified samples passed over or named)" }))
                        (row("tests generated", html! { (count(summary.tests.generated)) }))
                        (row("search", html! { (settings.strategy) ", " (if settings.proofs { "with proofs" } else { "without proofs" }) ", random numbers of seed " (summary.rng_seed) }))
                        (row("stopped", html! { (summary.stop) }))
                        (row("SHA-256 of the settings", code(&summary.settings_sha256)))
                    }
                }
            }
        }
    }
}

fn domain(view: &View) -> Markup {
    let domain = &view.run.settings.domain;
    html! {
        section {
            h2 { "Domain" }
            @match (domain.lower.as_slice(), domain.upper.as_slice()) {
                ([lower], [upper]) => p { "Every input value lies from " (lower) " to " (upper) " (" (domain.words) ")." },
                (lower, upper) => {
                    p { "Each of the " (count(lower.len())) " input values has its own range (" (domain.words) ")." }
                    div class="scroll" {
                        table class="sortable numbers" {
                            thead { tr { th scope="col" { "value" } th scope="col" { "from" } th scope="col" { "to" } } }
                            tbody {
                                @for (element, (lower, upper)) in lower.iter().zip(upper).take(ELEMENTS).enumerate() {
                                    tr { th scope="row" { (view.feature(element)) } td { (lower) } td { (upper) } }
                                }
                            }
                        }
                    }
                    @if lower.len() > ELEMENTS { p class="small" { "The others are in " code { "settings.domain" } " of " code { "run.json" } "." } }
                },
            }
        }
    }
}

fn time(view: &View) -> Markup {
    let (times, work) = (&view.run.summary.time_s, &view.run.summary.executions);
    let stages = [
        ("measure", times.measure),
        ("ascend", times.ascend),
        ("symbolic", times.symbolic),
        ("prove", times.prove),
        ("oracle", times.oracle),
        ("controls", times.controls),
    ];
    let total = times.total.max(1e-9);
    html! {
        section {
            h2 { "Time and work" }
            div class="scroll" {
                table class="numbers" {
                    thead { tr { th scope="col" { "stage" } th scope="col" { "time" } th scope="col" { "share" } th scope="col" {} } }
                    tbody {
                        @for (name, time) in stages {
                            tr {
                                th scope="row" { (name) }
                                td { (seconds(time)) }
                                td { (format!("{:.0} %", time / total * 100.0)) }
                                td { svg class="share" width="160" height="10" viewBox="0 0 160 10" aria-hidden="true" { rect x="0" y="1" width=(At((time / total).clamp(0.0, 1.0) * 160.0)) height="8" class="met" {} } }
                            }
                        }
                    }
                    tfoot { tr { th scope="row" { "all" } td { (seconds(times.total)) } td {} td {} } }
                }
            }
            p { (count(work.forward)) " forward and " (count(work.vjp)) " backward passes, " (count(work.lp)) " linear programs, " (count(work.nodes)) " parts bounded in proofs." }
        }
    }
}
