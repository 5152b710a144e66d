//! The comparisons of the language.

/// How two numbers compare. The paper has all but `!=`, which stands for "less or greater".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `>=`
    Ge,
    /// `>`
    Gt,
}

impl Relation {
    /// Whether `left` stands in this relation to `right`; never, when either is not a number.
    pub fn holds<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Lt => left < right,
            Self::Le => left <= right,
            Self::Eq => left == right,
            // Not `left != right`, which is true of NaN.
            Self::Ne => matches!(left.partial_cmp(right), Some(order) if order.is_ne()),
            Self::Ge => left >= right,
            Self::Gt => left > right,
        }
    }

    /// The relation that holds exactly when this one does not.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Ge => Self::Lt,
            Self::Gt => Self::Le,
        }
    }

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Ge => ">=",
            Self::Gt => ">",
        }
    }

    /// The relation written so; `==` is read as `=` by the lexer.
    pub(crate) fn from_symbol(symbol: &str) -> Option<Self> {
        [Self::Lt, Self::Le, Self::Eq, Self::Ne, Self::Ge, Self::Gt]
            .into_iter()
            .find(|relation| relation.symbol() == symbol)
    }
}
