//! The page of results: tables, plots and notes, from the files of runs alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::json;

use super::experiment::{self, Experiment};
use super::outcome::Outcome;
use super::plot::{Line, Plot};
use super::{Results, write as write_file};
use crate::cores;
use crate::error::BenchError;

/// The page, and the folder of its plots beside it.
const PAGE: &str = "RESULTS.md";
const PLOTS: &str = "results";
/// The strategies, in the order of the page, with their colours.
const STRATEGIES: [(&str, &str, bool); 4] = [
    ("cascade", "#0072B2", false),
    ("paper", "#D55E00", false),
    ("published", "#009E73", false),
    ("random", "#999999", true),
];
/// The colour of the published raw runs.
const RAW: &str = "#CC79A7";
/// Hours after which the paper's published log has a share of the neurons of its MNIST network.
const CLOCK: [(f64, f64); 5] = [
    (0.80, 1.0),
    (0.90, 2.5),
    (0.95, 4.3),
    (0.97, 7.4),
    (0.978_89, 156.5),
];
/// Neuron coverage in percent of the paper's Table 2: ours of then, and `DeepXplore` in its three modes.
const DEEPXPLORE: [(&str, [f64; 5]); 2] = [
    ("MNIST", [97.60, 95.91, 80.77, 82.68, 81.61]),
    ("CIFAR-10", [84.98, 98.63, 77.56, 81.48, 83.25]),
];

/// All numbers, for programs.
pub fn json(results: &Results) -> Result<String, BenchError> {
    let all = json!({
        "quick": results.quick,
        "runs": results.outcomes,
        "lipschitz": results.steepness,
    });
    serde_json::to_string_pretty(&all).map_err(|e| BenchError::Campaign(e.to_string()))
}

/// A line a run.
pub fn csv(results: &Results) -> String {
    let mut text = String::from(
        "experiment,strategy,seed,total,covered,infeasible,generated,adversarial,least_distance,other_answer,seconds,passes,programs\n",
    );
    for o in &results.outcomes {
        let least = o.least.map_or(String::new(), |least| least.to_string());
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{least},{},{:.2},{},{}",
            o.experiment,
            o.strategy,
            o.seed,
            o.total,
            o.covered,
            o.infeasible,
            o.generated,
            o.adversarial,
            o.other_answer,
            o.seconds,
            o.passes,
            o.programs
        );
    }
    text
}

/// Writes the page and its plots into a folder.
pub fn write(results: &Results, docs: &Path) -> Result<(), BenchError> {
    let plots = docs.join(PLOTS);
    fs::create_dir_all(&plots).map_err(|e| BenchError::File(plots.clone(), e))?;
    let mut page = head(results);
    page.push_str(&coverage(results));
    page.push_str(&decisions(results));
    page.push_str(&clock(results));
    page.push_str(&by_the_way(results));
    page.push_str(&deepxplore(results));
    page.push_str(&adversarial(results));
    page.push_str(&shrunk(results));
    page.push_str(&published(results));
    page.push_str("\n## Coverage over tests\n\n");
    for experiment in shown(results) {
        let name = format!("{}.svg", experiment.name);
        write_file(&plots.join(&name), &curve(results, experiment).svg())?;
        let _ = writeln!(page, "![{}]({PLOTS}/{name})\n", experiment.title);
    }
    page.push_str(&steepness(results, &plots)?);
    page.push_str(NOTES);
    write_file(&docs.join(PAGE), &page)
}

const NOTES: &str = "
## Where definitions differ

- The paper's figures count the ten logits as neurons; ours count hidden neurons.
- The paper limits how far *adversarial* inputs may be (0.3, or 100 pixels), not tests. Experiments here have no limit on tests
  either, but for those that say so; these are harder, and their open neurons are tried for proofs.
- Adversarial means here: another answer than the nearest real input of the whole test set, no further from it than the paper's bound. The
  published tool counts every test whose answer differs from the test it was made from, at any distance; the column *other answer*
  is that count.
- A seed that the network gets wrong is adversarial as it is; shares of adversarial tests count it, least distances do not.
- The paper tests a subset of neurons for NBC and SSC that it does not name. Here NBC is over all neurons, and SSC over all
  pairs whose decision is in the last hidden layer. The published SSC counts a decision when the linear program of one of its pairs has a
  solution; here both inputs are run, and all signs of the conditions' layer are compared.
- Strategies paper and published take minutes and are run once, from the paper's own seed where it has one; means and deviations are over ten
  runs, of pairs over three: from ten images for NC, the paper's first, the others spread over the test set; from the first 1,000 images with other
  random numbers for NBC and SSC.
- `DeepXplore` counts channels, after scaling each layer; its figures are those of the paper's Table 2 and are not measured here.
- Bounds of NBC come from the first tenth of the test data.
- The Lipschitz experiment is of the label's logit, in an L-infinity box of 0.1, with the L2 norm in the ratio.
- `--strategy paper` follows the paper's text. `--strategy published` follows the tool's rules, whose program leaves most pixels
  undetermined; [run.md](run.md) says what they are.
";

fn head(results: &Results) -> String {
    let form = if results.quick {
        "the short form (`--quick`): one seed, at most half a minute a run"
    } else {
        "the full form: ten runs where the paper has one, of pairs three, minutes a run"
    };
    let flag = if results.quick { " --quick" } else { "" };
    let missing = match results.missing {
        0 => String::new(),
        1 => " One run was not made.".into(),
        missing => format!(" {missing} runs were not made."),
    };
    format!(
        "# The paper's tables and figures, and ours\n\n\
         Made by `cargo run --release -p deepconcolic-bench -- reproduce{flag}`, {form}, on {} ({}).{missing}\n\
         Times are of the search, without judging tests and reading files; they are of this machine and say little alone. \
         Coverage is what the saved suite covers when it is run again.\n",
        if cores() == 1 {
            "1 core".into()
        } else {
            format!("{} cores", cores())
        },
        <f32 as deepconcolic_network::Scalar>::kernel().name,
    )
}

/// Experiments that were run, those about coverage.
fn shown(results: &Results) -> impl Iterator<Item = &'static Experiment> {
    all_shown(results).filter(|experiment| !experiment.shrunk)
}

/// Experiments that were run.
fn all_shown(results: &Results) -> impl Iterator<Item = &'static Experiment> {
    let has = |e: &&Experiment| results.outcomes.iter().any(|o| o.experiment == e.name);
    experiment::ALL.iter().filter(has)
}

fn of<'a>(results: &'a Results, experiment: &str, strategy: &str) -> Vec<&'a Outcome> {
    let all = results.outcomes.iter();
    all.filter(|o| o.experiment == experiment && o.strategy == strategy)
        .collect()
}

/// Mean, as it is to be shown, and standard deviation; or a dash.
fn spread(numbers: &[f64], digits: usize, shown: impl Fn(f64) -> f64) -> String {
    if numbers.is_empty() {
        return "–".into();
    }
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let text = format!("{:.digits$}", shown(mean));
    if numbers.len() == 1 {
        return text;
    }
    let squares: f64 = numbers.iter().map(|x| (x - mean) * (x - mean)).sum();
    format!("{text} ± {:.digits$}", (squares / (count - 1.0)).sqrt())
}

fn means(outcomes: &[&Outcome], digits: usize, figure: impl Fn(&Outcome) -> f64) -> String {
    let numbers: Vec<f64> = outcomes.iter().map(|o| figure(o)).collect();
    spread(&numbers, digits, |mean| mean)
}

/// Shares in percent, whose mean is never rounded up: only all of it is 100.00.
fn percents(outcomes: &[&Outcome], figure: impl Fn(&Outcome) -> f64) -> String {
    let numbers: Vec<f64> = outcomes.iter().map(|o| figure(o)).collect();
    spread(&numbers, 2, rounded_down)
}

/// Percent with two decimals, rounded down.
fn rounded_down(percent: f64) -> f64 {
    deepconcolic::percent(percent / 100.0, 2)
}

/// The paper's Table 3 and coverage figure.
fn coverage(results: &Results) -> String {
    let mut text = String::from(
        "\n## Coverage in percent\n\n\
         | experiment | published run | its tests | cascade | proven impossible | of the feasible | tests | seconds | paper's text | published rules | random |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for experiment in shown(results) {
        let raw = experiment
            .published
            .and_then(|run| results.published.get(run)?.last());
        let ours = of(results, experiment.name, "cascade");
        let share = |strategy| percents(&of(results, experiment.name, strategy), Outcome::percent);
        let impossible = |o: &Outcome| 100.0 * o.infeasible as f64 / o.total.max(1) as f64;
        let _ = writeln!(
            text,
            "| {} | {} | {} | **{}** | {} | {} | {} | {} | {} | {} | {} |",
            experiment.title,
            raw.map(|step| 100.0 * step.covered)
                .or(experiment.paper.coverage)
                .map_or("–".into(), |percent| format!("{percent:.2}")),
            raw.map_or("–".into(), |step| step.tests.to_string()),
            share("cascade"),
            means(&ours, 2, impossible),
            percents(&ours, Outcome::of_feasible),
            means(&ours, 0, |o| o.generated as f64),
            means(&ours, 1, |o| o.seconds),
            share("paper"),
            share("published"),
            share("random"),
        );
    }
    text
}

/// Pairs of neurons, counted as the published tool counts them.
fn decisions(results: &Results) -> String {
    let mut text = String::from(
        "\n## SSC, counted by decisions\n\n\
         The published tool asks for one pair of every decision neuron, the condition that is nearest to a change of its sign, and \
         closes the decision with it. The table above counts every pair; here a decision counts once one of its pairs is \
         covered, by two inputs that were run; the least of all runs.\n\n\
         | experiment | published run | decisions with a pair | of | percent |\n|---|---:|---:|---:|---:|\n",
    );
    let mut rows = 0;
    for experiment in shown(results) {
        let ours = of(results, experiment.name, "cascade");
        // The least of all runs.
        let Some([covered, all]) = ours.iter().filter_map(|o| o.decisions).min() else {
            continue;
        };
        rows += 1;
        let _ = writeln!(
            text,
            "| {} | {} | {covered} | {all} | **{:.2}** |",
            experiment.title,
            experiment
                .paper
                .coverage
                .map_or("–".into(), |percent| format!("{percent:.2}")),
            rounded_down(100.0 * covered as f64 / all.max(1) as f64)
        );
    }
    if rows == 0 { String::new() } else { text }
}

/// Adversarial tests after they were moved towards their seeds.
fn shrunk(results: &Results) -> String {
    let mut text = String::from(
        "\n## The nearest adversarial inputs\n\n\
         Tests are made to cover, and lie as far out as they may. How near another answer is, is asked for apart: from the \
         first 100 images that the network gets right, adversarial inputs are searched for and then moved towards their images \
         (`run --criterion safety --minimise`), as many as time allows. The paper's least distances are 1/255 (0.0039) and 1 pixel.\n\n\
         | search | images | with an adversarial input | nearest looked for | least distance | median | largest |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut rows = 0;
    for experiment in all_shown(results).filter(|experiment| experiment.shrunk) {
        for run in of(results, experiment.name, "cascade") {
            let Some(near) = &run.nearest else { continue };
            rows += 1;
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                experiment.title,
                run.total,
                near.seeds,
                near.count,
                distance(near.min),
                distance(near.median.filter(|_| near.count == near.seeds)),
                distance(near.max.filter(|_| near.count == near.seeds))
            );
        }
    }
    if rows == 0 { String::new() } else { text }
}

/// A distance: elements' share of the domain, or pixels.
fn distance(value: Option<f64>) -> String {
    match value {
        Some(value) if value >= 1.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.4}"),
        None => "–".into(),
    }
}

/// How fast two runs cover what is not covered at first: the rate, where one of them does not arrive.
fn rates(ours: &Outcome, theirs: &Outcome) -> Option<String> {
    let (share, _) = CLOCK[CLOCK.len() - 1];
    let first = ours.curve.first()?.covered;
    let arrived = ours.reached(share)?;
    let last = theirs.curve.last()?;
    let rate = |covered: f64, seconds: f64| (covered - first) * ours.total as f64 / seconds;
    let fast = rate(arrived.covered, arrived.seconds);
    let slow = rate(last.covered, theirs.seconds);
    Some(format!(
        "\nOn its way to {:.2} % the cascade covers {fast:.0} neurons a second that the seed does not; strategy paper covers \
         {slow:.2} a second in its {:.0} s, which is {:.0} times slower, and it gets slower as fewer are left.\n",
        100.0 * share,
        theirs.seconds,
        fast / slow
    ))
}

/// How long it takes to reach a share of the neurons.
fn clock(results: &Results) -> String {
    const NAME: &str = "nc-linf-mnist";
    let strategies = ["cascade", "paper", "published"];
    let runs: Vec<Vec<&Outcome>> = strategies.map(|s| of(results, NAME, s)).into();
    if runs[0].is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n## Time to a share of the neurons (NC, L-infinity, MNIST, the paper's seed)\n\n\
         The paper's hours are of its published log, on another machine with a commercial solver.\n\n\
         | share | paper's log | cascade | strategy paper | strategy published | paper / cascade |\n|---:|---:|---:|---:|---:|---:|\n",
    );
    for (share, hours) in CLOCK {
        let at = |runs: &[&Outcome]| Some(runs.first()?.reached(share)?.seconds);
        let last = |runs: &[&Outcome]| runs.first().map(|run| run.seconds);
        let words = |runs: &[&Outcome]| match (at(runs), last(runs)) {
            (Some(seconds), _) => format!("{seconds:.1} s"),
            (None, Some(seconds)) => format!("not in {seconds:.0} s"),
            (None, None) => "–".into(),
        };
        let ratio = match (at(&runs[0]), at(&runs[1]), last(&runs[1])) {
            (Some(ours), Some(theirs), _) => format!("{:.0}", theirs / ours),
            (Some(ours), None, Some(cut)) => format!("over {:.0}", cut / ours),
            _ => "–".into(),
        };
        let _ = writeln!(
            text,
            "| {:.2} % | {hours} h | {} | {} | {} | {ratio} |",
            100.0 * share,
            words(&runs[0]),
            words(&runs[1]),
            words(&runs[2]),
        );
    }
    let both = runs[0].first().zip(runs[1].first());
    text.extend(both.and_then(|(ours, theirs)| rates(ours, theirs)));
    text
}

/// What a test brings beyond its target, by each strategy.
fn by_the_way(results: &Results) -> String {
    let mut text = String::from(
        "\n## What a test brings (NC, L-infinity, MNIST, the paper's seed)\n\n\
         The published program leaves most pixels undetermined, and its solver moved all of them, so that a test activates other \
         neurons by the way. The cascade's climbers move every pixel too, for several neurons at once.\n\n\
         | strategy | coverage | tests | new neurons a test | passes a new neuron | tests to 99 % | passes to 99 % | tests to the end | passes to the end |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut rows = 0;
    for (strategy, _, _) in STRATEGIES {
        let runs = of(results, "nc-linf-mnist", strategy);
        let Some(run) = runs.first() else { continue };
        let Some((first, last)) = run.curve.first().zip(run.curve.last()) else {
            continue;
        };
        let new = (run.percent() / 100.0 - first.covered) * run.total as f64;
        let at = run.reached(0.99);
        let number = |value: Option<usize>| value.map_or("–".into(), |v| v.to_string());
        rows += 1;
        let _ = writeln!(
            text,
            "| {strategy} | {:.2} % | {} | {:.1} | {:.2} | {} | {} | {} | {} |",
            rounded_down(run.percent()),
            run.generated,
            new / run.generated.max(1) as f64,
            last.passes as f64 / new.max(1.0),
            number(at.map(|m| m.tests)),
            number(at.map(|m| m.passes)),
            run.generated,
            last.passes,
        );
    }
    if rows == 0 { String::new() } else { text }
}

/// The paper's Table 2.
fn deepxplore(results: &Results) -> String {
    let mut text = String::from(
        "\n## Neuron coverage beside DeepXplore\n\n\
         | data | ours, L-infinity | ours, L0 | paper, L-infinity | paper, L0 | DeepXplore light | occlusion | blackout |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for (data, [linf, l0, light, occlusion, blackout]) in DEEPXPLORE {
        let short = if data == "MNIST" { "mnist" } else { "cifar" };
        let ours = |norm: &str| {
            let name = format!("nc-{norm}-{short}");
            percents(&of(results, &name, "cascade"), Outcome::percent)
        };
        let _ = writeln!(
            text,
            "| {data} | {} | {} | {linf:.2} | {l0:.2} | {light:.2} | {occlusion:.2} | {blackout:.2} |",
            ours("linf"),
            ours("l0"),
        );
    }
    text
}

/// The paper's table of adversarial inputs, and its figure of distances.
fn adversarial(results: &Results) -> String {
    let mut text = String::from(
        "\n## Adversarial tests\n\n\
         | experiment | paper: share | least distance | cascade: share | least distance | median | other answer than the parent | distance of tests to their seeds, median |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for experiment in shown(results) {
        let ours = of(results, experiment.name, "cascade");
        let least = ours
            .iter()
            .filter_map(|o| o.least)
            .filter(|least| *least > 0.0);
        let least = least.reduce(f64::min);
        let first = ours.first();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} % | {} | {} | {} | {} |",
            experiment.title,
            experiment
                .paper
                .adversarial
                .map_or("–".into(), |share| format!("{share:.2} %")),
            distance(experiment.paper.least),
            means(&ours, 2, Outcome::adversarial_percent),
            distance(least),
            distance(first.and_then(|o| o.median)),
            means(&ours, 0, |o| o.other_answer as f64),
            distance(first.and_then(|o| o.distances.median)),
        );
    }
    text
}

/// Steps of the published runs that are shown, by experiment: few tests, many, and where adversarial ones come fast.
const PUBLISHED_STEPS: [(&str, [usize; 6]); 2] = [
    ("nc-linf-mnist", [118, 472, 590, 944, 1062, 1416]),
    ("nc-linf-cifar", [72, 216, 432, 864, 1728, 4320]),
];

/// The published curves, step by step.
fn published(results: &Results) -> String {
    let mut text = String::from(
        "\n## The published curves\n\n\
         NC by the published tool's rules and in its raw runs; adversarial as it counts them.\n\n\
         | experiment | tests | raw: coverage | adversarial | ours by its rules | other answer |\n|---|---:|---:|---:|---:|---:|\n",
    );
    let mut ends = String::new();
    for (name, steps) in PUBLISHED_STEPS {
        let experiment = shown(results).find(|experiment| experiment.name == name);
        let Some(experiment) = experiment else {
            continue;
        };
        let raw = experiment
            .published
            .and_then(|run| results.published.get(run));
        let run = of(results, name, "published").into_iter().next();
        let (Some(raw), Some(run)) = (raw, run) else {
            continue;
        };
        for theirs in raw.iter().filter(|row| steps.contains(&row.number)) {
            let moments = run.curve.iter();
            let ours = moments.rev().find(|moment| moment.tests <= theirs.tests);
            let reached = ours.filter(|_| run.generated + 1 >= theirs.tests);
            let _ = writeln!(
                text,
                "| {} | {} | {:.3} | {} | {} | {} |",
                experiment.title,
                theirs.tests,
                theirs.covered,
                theirs.adversarial,
                reached.map_or("not reached".into(), |m| format!("{:.3}", m.covered)),
                reached.map_or("–".into(), |m| m.other_answer.to_string()),
            );
        }
        let _ = writeln!(
            ends,
            "\n{} ended with {} tests at {:.2} %, {} of them with another answer than their parent, {} of those within 0.3.",
            experiment.title,
            run.generated,
            run.percent(),
            run.other_answer,
            run.other_answer_near
        );
    }
    if ends.is_empty() {
        return String::from("\n## The published curves\n\n`--strategy published` was not run.\n");
    }
    text + &ends
}

/// Coverage over tests: every strategy and the published raw run.
fn curve(results: &Results, experiment: &Experiment) -> Plot {
    let mut lines = Vec::new();
    for (strategy, colour, dashed) in STRATEGIES {
        let runs = of(results, experiment.name, strategy);
        let Some(run) = runs.first() else { continue };
        let points = run.curve.iter();
        lines.push(Line {
            label: strategy.into(),
            points: points
                .map(|m| (m.tests.max(1) as f64, 100.0 * m.covered))
                .collect(),
            colour,
            dashed,
        });
    }
    let raw = experiment
        .published
        .and_then(|run| results.published.get(run));
    if let Some(raw) = raw {
        let points = raw.iter();
        lines.push(Line {
            label: "raw run".into(),
            points: points
                .map(|s| (s.tests.max(1) as f64, 100.0 * s.covered))
                .collect(),
            colour: RAW,
            dashed: true,
        });
    }
    Plot {
        title: experiment.title.into(),
        x: "tests (logarithmic)",
        y: "requirements covered, percent",
        logarithmic: true,
        range: (0.0, 100.0),
        lines,
    }
}

/// The paper's figure on Lipschitz constants.
fn steepness(results: &Results, plots: &Path) -> Result<String, BenchError> {
    if results.steepness.is_empty() {
        return Ok(String::new());
    }
    let mut text = String::from(
        "\n## Lipschitz constants\n\n\
         The paper, image 1 of MNIST: 3.23 by 1,000,000 random pairs, 10.38 by its search.\n\n\
         | data | search | executions an image | images | median constant | largest | seconds |\n|---|---|---:|---:|---:|---:|---:|\n",
    );
    for s in &results.steepness {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.2} | {:.2} | {:.0} |",
            s.data,
            s.search,
            s.passes,
            s.found.len(),
            s.median(),
            s.largest(),
            s.seconds
        );
    }
    text.push('\n');
    for data in ["MNIST", "CIFAR-10"] {
        let lines = results.steepness.iter().filter(|s| s.data == data);
        let colours = ["#999999", "#D55E00", "#0072B2"];
        let plot = Plot {
            title: format!("Lipschitz constants near images, {data}"),
            x: "constant",
            y: "share of images with a steeper pair",
            logarithmic: false,
            range: (0.0, 1.0),
            lines: lines
                .zip(colours)
                .map(|(s, colour)| Line {
                    label: s.search.trim_start_matches("the paper's ").into(),
                    points: s.curve(),
                    colour,
                    dashed: false,
                })
                .collect(),
        };
        let name = format!("lipschitz-{}.svg", data.to_lowercase());
        write_file(&plots.join(&name), &plot.svg())?;
        let _ = writeln!(text, "![{}]({PLOTS}/{name})\n", plot.title);
    }
    Ok(text)
}
