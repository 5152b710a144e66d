//! Where a text is wrong, and how that is shown: line, column, source line, caret, hint.
//!
//! Parsers work with a light `Fault` (a byte range and words) and turn it into a [`Diagnostic`]
//! once, at the border, so that lines are counted only when there is something to report.

use std::fmt;

/// Longest part of a source line that is shown; lists of a thousand pixels are one line.
const WINDOW: usize = 100;

/// A range of bytes in a source text.
///
/// All spans are equal: where a node was written is no part of what it says, so that a syntax
/// tree printed and parsed again compares equal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub start: usize,
    pub end: usize,
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// A mistake in a text, not yet located by line and column.
#[derive(Debug, Clone)]
pub(crate) struct Fault(Box<Details>);

#[derive(Debug, Clone)]
struct Details {
    span: Span,
    message: String,
    hint: Option<String>,
}

/// What a parsing or checking step returns.
pub(crate) type Checked<T> = Result<T, Fault>;

impl Fault {
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        let hint = None;
        Self(Box::new(Details {
            span,
            message,
            hint,
        }))
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Counts lines and columns in the text the span points into.
    pub fn locate(&self, source: &str) -> Diagnostic {
        let Details {
            span,
            message,
            hint,
        } = &*self.0;
        let start = floor_char_boundary(source, span.start);
        let end = floor_char_boundary(source, span.end).max(start);
        let before = &source[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[start..]
            .find('\n')
            .map_or(source.len(), |newline| start + newline);
        let width = source[start..end.min(line_end).max(start)].chars().count();
        Diagnostic {
            file: None,
            line: before.matches('\n').count() + 1,
            column: source[line_start..start].chars().count() + 1,
            width: width.max(1),
            message: message.clone(),
            hint: hint.clone(),
            source_line: source[line_start..line_end]
                .trim_end_matches('\r')
                .to_owned(),
        }
    }
}

fn floor_char_boundary(source: &str, at: usize) -> usize {
    (0..=at.min(source.len()))
        .rev()
        .find(|&at| source.is_char_boundary(at))
        .unwrap_or(0)
}

/// A mistake in a text, pointed at.
///
/// ```
/// use deepconcolic_language::RequirementFile;
///
/// let error = RequirementFile::parse("exists x: u[x][2,0] >").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 1, column 22: expected a number, found the end of the text
///   |
/// 1 | exists x: u[x][2,0] >
///   |                      ^"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, when the caller named it.
    pub file: Option<String>,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// How many characters are wrong, at least 1.
    pub width: usize,
    /// What is wrong.
    pub message: String,
    /// The way out, where there is one to tell.
    pub hint: Option<String>,
    /// The text of the line.
    pub source_line: String,
}

impl std::error::Error for Diagnostic {}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = (self.line, self.column);
        match &self.file {
            Some(file) => writeln!(f, "{file}:{line}:{column}: {}", self.message)?,
            None => writeln!(f, "line {line}, column {column}: {}", self.message)?,
        }
        let (shown, caret_at) = self.window();
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let room = (shown.chars().count() + 1).saturating_sub(caret_at).max(1);
        let carets = "^".repeat(self.width.min(room));
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {shown}")?;
        write!(f, "{margin} | {}{carets}", " ".repeat(caret_at - 1))?;
        if let Some(hint) = &self.hint {
            write!(f, "\n{margin} = hint: {hint}")?;
        }
        Ok(())
    }
}

impl Diagnostic {
    /// The part of the line that is shown, and the caret's column in it. Control characters
    /// become spaces, so that a hostile file cannot steer the terminal.
    fn window(&self) -> (String, usize) {
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        let length = self.source_line.chars().count();
        if length <= WINDOW {
            return (
                self.source_line.chars().map(printable).collect(),
                self.column,
            );
        }
        let skip = self.column.saturating_sub(WINDOW / 2).min(length - WINDOW);
        let part = self.source_line.chars().skip(skip).take(WINDOW);
        let lead = if skip > 0 { "..." } else { "" };
        let tail = if skip + WINDOW < length { "..." } else { "" };
        let shown = lead.chars().chain(part.map(printable)).chain(tail.chars());
        (shown.collect(), self.column - skip + lead.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_not_bytes() {
        let source = "first\nüü error";
        let at = source.find("error").unwrap();
        let diagnostic = Fault::new(Span::new(at, at + 5), "bad").locate(source);
        assert_eq!((diagnostic.line, diagnostic.column), (2, 4));
        assert_eq!(diagnostic.width, 5);
    }

    #[test]
    fn a_long_line_is_cut_round_the_caret() {
        let source = format!("{}here{}", "a".repeat(500), "b".repeat(500));
        let diagnostic = Fault::new(Span::new(500, 504), "bad").locate(&source);
        let shown = diagnostic.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[3].find('^').unwrap();
        assert_eq!(&lines[2][caret..caret + 4], "here");
        assert!(lines[2].len() < 120);
    }

    #[test]
    fn a_span_past_the_end_points_at_the_end() {
        let diagnostic = Fault::new(Span::new(90, 99), "bad").locate("ab\n");
        assert_eq!((diagnostic.line, diagnostic.column), (2, 1));
    }
}
