//! Arguments that choose and tune criteria.

use clap::{Args, ValueEnum};
use deepconcolic_network::Network;
use deepconcolic_spec::Norm;
use deepconcolic_spec::criteria::{self, Criterion, LipschitzOutput, Parameters, Scope, Selection};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// Knobs of criteria.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub struct CriterionArguments {
    /// nc: a neuron counts when v exceeds T, instead of u >= 0
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    threshold: Option<f64>,
    /// nc: `DeepXplore`'s form: a layer's outputs scaled to 0..1, one requirement a channel
    #[arg(long)]
    scaled: bool,
    /// nc: count the logits as neurons too, as the paper's figures do
    #[arg(long)]
    with_logits: bool,
    /// kmnc: sections of a neuron's range
    #[arg(long, value_name = "K", default_value_t = Parameters::SECTIONS)]
    sections: usize,
    /// tknc: how many neurons of a layer are its top
    #[arg(long, value_name = "K", default_value_t = Parameters::TOP)]
    top: usize,
    /// vsc, svc, vvc: a value changes when it grows by this factor (default: 2; 5 for the condition
    /// of vvc)
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    sigma: Option<f64>,
    /// Pair criteria: whose signs must not change: all of the layer's, or the decision's field's
    #[arg(long, value_enum, default_value_t = ScopeArgument::Layer)]
    ssc_scope: ScopeArgument,
    /// lipschitz: the constant c
    #[arg(
        long,
        value_name = "C",
        default_value_t = 10.0,
        allow_hyphen_values = true
    )]
    constant: f64,
    /// lipschitz: compare all logits, or that of the seed's label
    #[arg(long, value_enum, default_value_t = OutputArgument::All)]
    lipschitz_output: OutputArgument,
    /// lipschitz: the norm of both differences: linf, l1 or l2
    #[arg(long, value_name = "NORM", value_parser = norm, default_value = "linf")]
    #[serde(with = "by_name")]
    ratio_norm: Norm,
    /// The norm of distances to seeds: linf, l1, l2, l0 (pixels) or l0-elements
    #[arg(long, value_name = "NORM", value_parser = norm, default_value = "linf")]
    #[serde(with = "by_name")]
    pub norm: Norm,
    /// The radius of the region round each seed, in units of the domain's width, or `none`
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    pub radius: Option<String>,
    /// Require only these layers, by name or number (for pairs: of the decisions)
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    layers: Vec<String>,
    /// Require only these neurons: LAYER:I,J,... (may be given again for another layer)
    #[arg(long, value_name = "LAYER:I,J")]
    neurons: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum, Serialize, Deserialize)]
enum ScopeArgument {
    Layer,
    Field,
}

#[derive(Clone, Copy, Debug, ValueEnum, Serialize, Deserialize)]
enum OutputArgument {
    Label,
    All,
}

/// A norm in a file is its name.
mod by_name {
    use deepconcolic_spec::Norm;
    use serde::{Deserialize, Deserializer, Serializer, de};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature is serde's"
    )]
    pub fn serialize<S: Serializer>(norm: &Norm, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(norm.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Norm, D::Error> {
        let name = String::deserialize(deserializer)?;
        super::norm(&name).map_err(de::Error::custom)
    }
}

fn norm(name: &str) -> Result<Norm, String> {
    Norm::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Norm::ALL.iter().map(|n| n.name()).collect();
        format!("not a norm; there are {}", names.join(", "))
    })
}

/// A radius as the user gives it.
pub fn radius(text: &str) -> Result<Option<f64>, Failure> {
    match text.parse::<f64>() {
        _ if text == "none" => Ok(None),
        Ok(radius) if radius.is_finite() && radius >= 0.0 => Ok(Some(radius)),
        _ => Err(Failure::Usage(format!(
            "--radius must be a number of at least 0, or none, not `{text}`"
        ))),
    }
}

/// The criterion of a name given by the user.
pub fn find(name: &str) -> Result<&'static dyn Criterion, Failure> {
    criteria::find(name).ok_or_else(|| {
        let names: Vec<&str> = criteria::ALL.iter().map(|c| c.name()).collect();
        Failure::Usage(format!(
            "there is no criterion `{name}`; there are {}",
            names.join(", ")
        ))
    })
}

/// What the help says about criteria.
pub fn help() -> String {
    let line = |criterion: &&dyn Criterion| {
        format!("  {:10} {}\n", criterion.name(), criterion.definition())
    };
    let lines: String = criteria::ALL.iter().map(line).collect();
    format!("Criteria:\n{lines}")
}

impl CriterionArguments {
    /// The parameters they say, checked.
    pub fn parameters(&self) -> Result<Parameters, Failure> {
        let usage = |message: &str| Err(Failure::Usage(message.into()));
        if self.sigma.is_some_and(|s| !s.is_finite() || s <= 0.0) {
            return usage("--sigma must be a positive number");
        }
        if !self.constant.is_finite() || self.constant < 0.0 {
            return usage("--constant must be a number of at least 0");
        }
        if self.threshold.is_some_and(f64::is_nan) {
            return usage("--threshold must be a number");
        }
        let radius = self.radius.as_deref().map_or(Ok(None), radius)?;
        Ok(Parameters {
            threshold: self.threshold,
            scaled: self.scaled,
            with_logits: self.with_logits,
            sections: self.sections,
            top: self.top,
            sigma: self.sigma,
            scope: match self.ssc_scope {
                ScopeArgument::Layer => Scope::Layer,
                ScopeArgument::Field => Scope::Field,
            },
            constant: self.constant,
            lipschitz_output: match self.lipschitz_output {
                OutputArgument::Label => LipschitzOutput::Label,
                OutputArgument::All => LipschitzOutput::All,
            },
            ratio_norm: self.ratio_norm,
            norm: self.norm,
            radius,
        })
    }

    /// Whether neurons are chosen by their numbers.
    pub fn names_neurons(&self) -> bool {
        !self.neurons.is_empty()
    }

    /// The neurons they select.
    pub fn selection(&self, network: &Network) -> Result<Selection, Failure> {
        let layers: Vec<&str> = self.layers.iter().map(String::as_str).collect();
        let neurons: Vec<&str> = self.neurons.iter().map(String::as_str).collect();
        Selection::parse(network, &layers, &neurons).map_err(Failure::Usage)
    }
}
