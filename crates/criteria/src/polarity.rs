//! Whether a witness of a requirement is good news or bad: the words for how requirements ended.

/// What a witness means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polarity {
    /// A witness is wanted: a test that reaches something.
    #[default]
    Goal,
    /// None is wanted: a requirement is the refutation of something that should hold.
    Property,
}

impl Polarity {
    /// A requirement that a test meets.
    pub fn met(self) -> &'static str {
        match self {
            Self::Goal => "covered",
            Self::Property => "refuted",
        }
    }

    /// A requirement that no input of the region meets.
    pub fn impossible(self) -> &'static str {
        match self {
            Self::Goal => "infeasible",
            Self::Property => "proven",
        }
    }

    /// The rest.
    pub fn open(self) -> &'static str {
        match self {
            Self::Goal => "unresolved",
            Self::Property => "open",
        }
    }
}
