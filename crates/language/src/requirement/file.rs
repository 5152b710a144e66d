//! A requirement file: parsed, then resolved against a network.

use std::fmt;
use std::sync::Arc;

use super::syntax::Statement;
use super::{Requirement, RequirementFamily, check, family, parser};
use crate::diagnostic::{Fault, Span};
use crate::error::Error;
use crate::signature::Signature;

/// The text and what it says.
#[derive(Debug)]
pub(super) struct Source {
    pub text: String,
    pub statements: Vec<Statement>,
}

/// A requirement file whose syntax is right.
///
/// ```
/// use deepconcolic_language::{RequirementFile, Signature};
///
/// let text = "
///     // every neuron of layer 2 is active for some input
///     for i in neurons(2): exists x: ap[x][2,i]
///     forall x: v[x][output,0] - v[x][output,1] <= 10
/// ";
/// let signature = Signature::feed_forward([("in", 4), ("relu", 3), ("out", 2)]);
/// let set = RequirementFile::parse(text)?.resolve(&signature)?;
/// assert_eq!(set.len(), 4);
/// assert_eq!(set.get(1)?.to_string(), "exists x: ap[x][2,1]");
/// assert_eq!(
///     set.get(3)?.to_string(),
///     "forall x: v[x][3,0] - v[x][3,1] - 10 <= 0"
/// );
/// # Ok::<(), deepconcolic_language::Error>(())
/// ```
///
/// It prints as text that parses to the same, comments aside.
#[derive(Debug, Clone)]
pub struct RequirementFile {
    source: Arc<Source>,
}

/// Two files are equal when they say the same, wherever on the page.
impl PartialEq for RequirementFile {
    fn eq(&self, other: &Self) -> bool {
        self.source.statements == other.source.statements
    }
}

impl RequirementFile {
    /// Reads a requirement file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let statements = parser::parse(text).map_err(|fault| fault.locate(text))?;
        let text = text.to_owned();
        let source = Arc::new(Source { text, statements });
        Ok(Self { source })
    }

    /// Reads the bytes of a requirement file, which must be UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::parse(decode(bytes)?)
    }

    /// How many statements there are; a family is one.
    pub fn statements(&self) -> usize {
        self.source.statements.len()
    }

    /// Checks the file against a network and counts its requirements.
    pub fn resolve(&self, signature: &Signature) -> Result<RequirementSet, Error> {
        let mut ends = Vec::with_capacity(self.source.statements.len());
        let mut total = 0_usize;
        for statement in &self.source.statements {
            let end = resolved_size(statement, signature).and_then(|size| {
                let overflow = || Fault::new(statement.span, "too many requirements to count");
                total.checked_add(size).ok_or_else(overflow)
            });
            total = end.map_err(|fault| fault.locate(&self.source.text))?;
            ends.push(total);
        }
        Ok(RequirementSet {
            source: Arc::clone(&self.source),
            signature: signature.clone(),
            ends,
        })
    }
}

/// One statement a line.
impl fmt::Display for RequirementFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut statements = self.source.statements.iter();
        statements.try_for_each(|statement| writeln!(f, "{statement}"))
    }
}

/// The size of a statement that is sound. Its first and last members are made to find what does
/// not depend on an index, such as a product of two neuron values.
fn resolved_size(statement: &Statement, signature: &Signature) -> Result<usize, Fault> {
    if statement.binders.is_empty() {
        family::member(statement, signature, 0)?;
        return Ok(1);
    }
    check::check(statement, signature)?;
    let size = family::size(statement, signature)?;
    if let Some(last) = size.checked_sub(1) {
        family::member(statement, signature, 0)?;
        family::member(statement, signature, last)?;
    }
    Ok(size)
}

/// UTF-8 text, or the place of the first byte that is none. A byte order mark is skipped.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, Error> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let message = format!("byte 0x{:02x} is not UTF-8 text", bytes[at]);
        let fault = Fault::new(Span::new(at, at + 1), message);
        let shown = String::from_utf8_lossy(bytes);
        fault.hint("is this a text file?").locate(&shown).into()
    })
}

/// The requirements of a file for one network, made when asked for.
#[derive(Debug, Clone)]
pub struct RequirementSet {
    pub(super) source: Arc<Source>,
    pub(super) signature: Signature,
    /// Per statement, how many requirements it and those before it stand for.
    ends: Vec<usize>,
}

impl RequirementSet {
    /// How many requirements there are.
    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The requirement with this index, in the order of the file.
    pub fn get(&self, index: usize) -> Result<Requirement, Error> {
        let statement = self.ends.partition_point(|&end| end <= index);
        if statement == self.ends.len() {
            let len = self.len();
            return Err(Error::NoSuchRequirement { index, len });
        }
        let before = self.ends[statement] - self.len_of(statement);
        self.family(statement).get(index - before)
    }

    /// Every requirement in turn.
    pub fn iter(&self) -> impl Iterator<Item = Result<Requirement, Error>> + '_ {
        self.families()
            .flat_map(|family| (0..family.len()).map(move |index| family.get(index)))
    }

    /// The statements, each a family.
    pub fn families(&self) -> impl ExactSizeIterator<Item = RequirementFamily<'_>> + '_ {
        (0..self.ends.len()).map(|statement| self.family(statement))
    }

    fn family(&self, statement: usize) -> RequirementFamily<'_> {
        let set = self;
        RequirementFamily { set, statement }
    }

    pub(super) fn len_of(&self, statement: usize) -> usize {
        let before = statement
            .checked_sub(1)
            .map_or(0, |before| self.ends[before]);
        self.ends[statement] - before
    }
}
