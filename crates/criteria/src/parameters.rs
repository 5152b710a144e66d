//! The knobs of all criteria, with their defaults.

use deepconcolic_geometry::Norm;

/// Which neurons of the condition's layer must keep their sign in a pair criterion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All other neurons of the layer, as the paper defines it.
    #[default]
    Layer,
    /// Only the other conditions of the decision itself.
    Field,
}

/// Which outputs the Lipschitz criterion compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LipschitzOutput {
    /// The logit of the first input's label, as the paper's experiment did.
    Label,
    /// All logits, their difference measured in the ratio's norm.
    #[default]
    All,
}

/// Parameters of criteria.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// nc: covered when v exceeds this, instead of u >= 0.
    pub threshold: Option<f64>,
    /// nc: `DeepXplore`'s form: outputs of a layer scaled to 0..1, channel means.
    pub scaled: bool,
    /// nc: count the logits among the neurons, as the paper's figures do.
    pub with_logits: bool,
    /// kmnc: sections per neuron.
    pub sections: usize,
    /// tknc: how many neurons of a layer count as its top.
    pub top: usize,
    /// vsc, svc, vvc: how many times larger a value must become to have changed.
    pub sigma: Option<f64>,
    /// Pair criteria: whose signs must stay.
    pub scope: Scope,
    /// lipschitz: the constant c; none to look for the largest.
    pub constant: Option<f64>,
    /// lipschitz: which outputs.
    pub lipschitz_output: LipschitzOutput,
    /// lipschitz: the norm both differences are measured in.
    pub ratio_norm: Norm,
    /// lipschitz, safety: the norm of a region's radius.
    pub norm: Norm,
    /// lipschitz, safety: the radius of a region; `None` for the whole domain.
    pub radius: Option<f64>,
    /// lipschitz: boxes that are the regions, lowest and highest values; empty for balls or the domain.
    pub boxes: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Parameters {
    /// Sections per neuron when nobody says otherwise.
    pub const SECTIONS: usize = 1000;
    /// The Lipschitz constant when nobody says otherwise.
    pub const CONSTANT: f64 = 10.0;
    /// Top neurons when nobody says otherwise.
    pub const TOP: usize = 3;
    /// The value-change factor when nobody says otherwise.
    pub const SIGMA: f64 = 2.0;
    /// The value-change factor of a vvc condition when nobody says otherwise.
    pub const SIGMA_VVC_CONDITION: f64 = 5.0;
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            threshold: None,
            scaled: false,
            with_logits: false,
            sections: Self::SECTIONS,
            top: Self::TOP,
            sigma: None,
            scope: Scope::default(),
            constant: Some(Self::CONSTANT),
            lipschitz_output: LipschitzOutput::default(),
            ratio_norm: Norm::LINF,
            norm: Norm::LINF,
            radius: None,
            boxes: Vec::new(),
        }
    }
}
