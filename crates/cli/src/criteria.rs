//! Arguments that choose and tune criteria.

use clap::{Args, ValueEnum};
use deepconcolic::{CriterionSettings, LipschitzName, Radius, ScopeName, notation};
use deepconcolic_criteria::{ALL, Parameters};
use deepconcolic_geometry::Norm;

use crate::exit::Failure;

/// The heading of options about the search region.
pub const SEARCH: &str = "Where to search";

/// Knobs of criteria.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What to test")]
pub struct CriterionArguments {
    /// nc: a neuron counts when v exceeds T, instead of u >= 0
    #[arg(
        long,
        value_name = "T",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    threshold: Option<f64>,
    /// nc: `DeepXplore`'s form: a layer's outputs scaled to 0..1, one requirement a channel
    #[arg(long, hide_short_help = true)]
    scaled: bool,
    /// nc: count the logits as neurons too, as the paper's figures do
    #[arg(long, hide_short_help = true)]
    with_logits: bool,
    /// kmnc: sections of a neuron's range
    #[arg(long, value_name = "K", default_value_t = Parameters::SECTIONS, hide_short_help = true)]
    sections: usize,
    /// tknc: how many neurons of a layer are its top
    #[arg(long, value_name = "K", default_value_t = Parameters::TOP, hide_short_help = true)]
    top: usize,
    /// vsc, svc, vvc: a value changes when it grows by this factor (default: 2; 5 for the condition
    /// of vvc)
    #[arg(
        long,
        value_name = "S",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    sigma: Option<f64>,
    /// Pair criteria: whose signs must not change: all of the layer's, or the decision's field's
    #[arg(long, value_enum, default_value_t = ScopeArgument::Layer, hide_short_help = true)]
    ssc_scope: ScopeArgument,
    /// lipschitz: the constant c, or `max` to search the largest (default: 10; in run: max)
    #[arg(
        long,
        value_name = "C",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    constant: Option<String>,
    /// lipschitz: compare all logits, or that of the seed's label
    #[arg(long, value_enum, default_value_t = OutputArgument::All, hide_short_help = true)]
    lipschitz_output: OutputArgument,
    #[arg(long, value_name = "NORM", value_parser = norm, default_value_t = Norm::default(), help = ratio_norm_help(), hide_short_help = true)]
    ratio_norm: Norm,
    #[arg(long, value_name = "NORM", value_parser = norm, default_value_t = Norm::default(), help = norm_help(), help_heading = SEARCH)]
    norm: Norm,
    /// How far from its seed a test may lie, in units of the domain's width (0.03, 8/255), or `none`
    #[arg(long, value_name = "R", allow_hyphen_values = true, help_heading = SEARCH)]
    radius: Option<String>,
    /// Require only these layers, by name or number (for pairs: of the decisions)
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    layers: Vec<String>,
    /// Require only these neurons: LAYER:I,J,... (may be given again for another layer)
    #[arg(long, value_name = "LAYER:I,J", hide_short_help = true)]
    neurons: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScopeArgument {
    Layer,
    Field,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OutputArgument {
    Label,
    All,
}

fn norm(name: &str) -> Result<Norm, String> {
    Norm::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Norm::ALL.iter().map(|n| n.name()).collect();
        format!("not a norm; there are {}", names.join(", "))
    })
}

fn norm_help() -> String {
    let names = Norm::names(|_| true);
    format!("The norm of distances to seeds: {names}")
}

fn ratio_norm_help() -> String {
    let names = Norm::names(|norm| norm.convex().is_ok());
    format!("lipschitz: the norm of both differences: {names}")
}

/// What the help says about criteria and norms.
pub fn help() -> String {
    let criteria = ALL.iter().map(|c| (c.name(), c.definition()));
    let norms = Norm::ALL.iter().map(|norm| (norm.name(), norm.help()));
    format!(
        "{}\n{}",
        section("Criteria", criteria),
        section("Norms", norms)
    )
}

/// The entries of a table, as the help lists them: names, and what they mean.
pub fn section<'a>(title: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let line = |(name, meaning): (&str, &str)| format!("  {name:11} {meaning}\n");
    let lines: String = entries.map(line).collect();
    format!("{title}:\n{lines}")
}

impl CriterionArguments {
    /// As plain data, with the constant of a Lipschitz criterion; none for the largest.
    pub fn settings(&self, constant: Option<f64>) -> CriterionSettings {
        CriterionSettings {
            threshold: self.threshold,
            scaled: self.scaled,
            with_logits: self.with_logits,
            sections: self.sections,
            top: self.top,
            sigma: self.sigma,
            ssc_scope: match self.ssc_scope {
                ScopeArgument::Layer => ScopeName::Layer,
                ScopeArgument::Field => ScopeName::Field,
            },
            constant,
            lipschitz_output: match self.lipschitz_output {
                OutputArgument::Label => LipschitzName::Label,
                OutputArgument::All => LipschitzName::All,
            },
            ratio_norm: self.ratio_norm,
            norm: self.norm,
            layers: self.layers.clone(),
            neurons: self.neurons.clone(),
        }
    }

    /// The constant as the user gave it, none for the largest; or what it is without.
    pub fn constant(&self, without: Option<f64>) -> Result<Option<f64>, Failure> {
        match self.constant.as_deref() {
            None => Ok(without),
            Some(text) => Ok(notation::constant(text)?),
        }
    }

    /// The radius as the user gave it.
    pub fn radius(&self) -> Result<Radius, Failure> {
        match self.radius.as_deref() {
            None => Ok(Radius::Usual),
            Some(text) => Ok(text.parse()?),
        }
    }

    /// The radius of regions, where none is the whole domain.
    pub fn region_radius(&self) -> Result<Option<f64>, Failure> {
        Ok(match self.radius()? {
            Radius::Within(radius) => Some(radius),
            Radius::Usual | Radius::Anywhere => None,
        })
    }
}
