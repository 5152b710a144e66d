//! S-expressions with their places in the text, read without recursion.

use crate::diagnostic::{Checked, Fault, Span};

/// Deepest nesting of brackets; what is read is walked and dropped recursively.
const DEEPEST: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node<'s> {
    Atom(&'s str, Span),
    List(Vec<Node<'s>>, Span),
}

impl<'s> Node<'s> {
    pub fn span(&self) -> Span {
        match self {
            Self::Atom(_, span) | Self::List(_, span) => *span,
        }
    }

    /// The first word of a list and what follows it.
    pub fn call(&self) -> Option<(&'s str, &[Node<'s>])> {
        match self {
            Self::List(items, _) => match items.split_first() {
                Some((Self::Atom(head, _), rest)) => Some((head, rest)),
                _ => None,
            },
            Self::Atom(..) => None,
        }
    }
}

/// Reads all expressions of a text; `;` starts a comment.
pub(super) fn parse(text: &str) -> Checked<Vec<Node<'_>>> {
    let mut open: Vec<(usize, Vec<Node<'_>>)> = Vec::new();
    let mut top = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        let start = at;
        match byte {
            b';' => at = end_of(text, at, |byte| byte == b'\n'),
            b'(' if open.len() == DEEPEST => {
                let message = format!("brackets nested more than {DEEPEST} deep");
                return Err(Fault::new(Span::new(at, at + 1), message));
            }
            b'(' => {
                at += 1;
                open.push((start, Vec::new()));
            }
            b')' => {
                at += 1;
                let Some((start, items)) = open.pop() else {
                    return Err(Fault::new(
                        Span::new(start, at),
                        "this bracket closes nothing",
                    ));
                };
                let list = Node::List(items, Span::new(start, at));
                siblings(&mut open, &mut top).push(list);
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => {
                at = end_of(text, at, ends_atom);
                let atom = Node::Atom(&text[start..at], Span::new(start, at));
                siblings(&mut open, &mut top).push(atom);
            }
        }
    }
    match open.last() {
        None => Ok(top),
        Some(&(start, _)) => Err(Fault::new(
            Span::new(start, start + 1),
            "this bracket is never closed",
        )),
    }
}

fn siblings<'a, 's>(
    open: &'a mut [(usize, Vec<Node<'s>>)],
    top: &'a mut Vec<Node<'s>>,
) -> &'a mut Vec<Node<'s>> {
    match open.last_mut() {
        Some((_, items)) => items,
        None => top,
    }
}

fn ends_atom(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b';')
}

/// The first place from `at` on where such a byte stands; all are ASCII, so a character boundary.
fn end_of(text: &str, at: usize, ends: impl Fn(u8) -> bool) -> usize {
    let rest = &text.as_bytes()[at..];
    let length = rest.iter().position(|&byte| ends(byte));
    at + length.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> (usize, usize, String) {
        let found = parse(text).unwrap_err().locate(text);
        (found.line, found.column, found.message)
    }

    #[test]
    fn brackets_must_balance() {
        let unclosed = "this bracket is never closed".to_owned();
        assert_eq!(place("(a)\n (assert\n (b)"), (2, 2, unclosed));
        let extra = "this bracket closes nothing".to_owned();
        assert_eq!(place("(a))"), (1, 4, extra));
    }

    #[test]
    fn a_million_brackets_are_refused_not_walked() {
        let (_, column, message) = place(&"(".repeat(1_000_000));
        assert_eq!(column, DEEPEST + 1);
        assert!(message.contains("nested"));
    }
}
