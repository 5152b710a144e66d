//! Cuts a requirement file into words, numbers, names in quotes and signs.
//!
//! Line ends are plain space and `#` or `//` starts a comment. Tokens borrow from the text, so
//! that a file of a hundred thousand statements costs no copies here.

use crate::diagnostic::{Checked, Fault, Span};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind<'s> {
    Word(&'s str),
    /// Digits, perhaps with a fraction or an exponent, as written.
    Number(&'s str),
    /// What stood between quotes, escapes not yet undone.
    Text(&'s str),
    Sign(&'static str),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token<'s> {
    pub kind: Kind<'s>,
    pub span: Span,
}

/// What other languages write, and what this one does.
const FOREIGN: [(&str, &str); 13] = [
    ("&&", "and"),
    ("&", "and"),
    ("||", "or"),
    ("!", "not"),
    ("∧", "and"),
    ("∨", "or"),
    ("¬", "not"),
    ("∃", "exists"),
    ("∀", "forall"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("⇒", "=>"),
];

#[derive(Debug)]
pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    pub fn new(source: &'s str) -> Self {
        Self { source, at: 0 }
    }

    pub fn next(&mut self) -> Checked<Token<'s>> {
        self.skip_space();
        let start = self.at;
        let kind = match self.source.as_bytes().get(start) {
            None => Kind::End,
            Some(b'"') => self.text()?,
            Some(first) if first.is_ascii_digit() => self.number(),
            Some(first) if first.is_ascii_alphabetic() || *first == b'_' => {
                let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
                Kind::Word(self.take_while(word))
            }
            Some(_) => self.sign()?,
        };
        let span = Span::new(start, self.at);
        Ok(Token { kind, span })
    }

    fn skip_space(&mut self) {
        loop {
            self.take_while(|c| c.is_ascii_whitespace());
            let rest = &self.source[self.at..];
            if !rest.starts_with('#') && !rest.starts_with("//") {
                return;
            }
            self.take_while(|c| c != b'\n');
        }
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'s str {
        let start = self.at;
        let rest = &self.source.as_bytes()[start..];
        self.at += rest
            .iter()
            .position(|&byte| !wanted(byte))
            .unwrap_or(rest.len());
        &self.source[start..self.at]
    }

    /// `0..10` is a range, so a point belongs to a number only before a digit.
    fn number(&mut self) -> Kind<'s> {
        let start = self.at;
        self.take_while(|c| c.is_ascii_digit());
        let digit = |at: usize| {
            self.source
                .as_bytes()
                .get(at)
                .is_some_and(u8::is_ascii_digit)
        };
        if self.source[self.at..].starts_with('.') && digit(self.at + 1) {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        let rest = &self.source.as_bytes()[self.at..];
        let exponent = match rest {
            [b'e' | b'E', b'+' | b'-', digit, ..] if digit.is_ascii_digit() => 2,
            [b'e' | b'E', digit, ..] if digit.is_ascii_digit() => 1,
            _ => return Kind::Number(&self.source[start..self.at]),
        };
        self.at += exponent;
        self.take_while(|c| c.is_ascii_digit());
        Kind::Number(&self.source[start..self.at])
    }

    fn text(&mut self) -> Checked<Kind<'s>> {
        let start = self.at;
        self.at += 1;
        loop {
            self.take_while(|c| !matches!(c, b'"' | b'\\' | b'\n'));
            match self.source.as_bytes()[self.at..] {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(Kind::Text(&self.source[start + 1..self.at - 1]));
                }
                [b'\\', b'"' | b'\\' | b'n' | b'r' | b't', ..] => self.at += 2,
                [b'\\', ..] => {
                    let fault = Fault::new(Span::new(self.at, self.at + 1), "unknown escape");
                    return Err(fault.hint(r#"write \\ for a backslash and \" for a quote"#));
                }
                _ => {
                    let fault = Fault::new(Span::new(start, self.at), "this quote is not closed");
                    return Err(fault.hint("a name ends with `\"` on the same line"));
                }
            }
        }
    }

    fn sign(&mut self) -> Checked<Kind<'s>> {
        let rest = &self.source[self.at..];
        if let Some((sign, length)) = known_sign(rest.as_bytes()) {
            self.at += length;
            return Ok(Kind::Sign(sign));
        }
        let foreign = FOREIGN.iter().find(|(sign, _)| rest.starts_with(sign));
        let length = match foreign {
            Some((sign, _)) => sign.len(),
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        let span = Span::new(self.at, self.at + length);
        let text = rest[..length].escape_debug();
        let fault = Fault::new(span, format!("`{text}` is no sign of this language"));
        Err(match foreign {
            Some((_, ours)) => fault.hint(format!("write `{ours}`")),
            None => fault,
        })
    }
}

/// The sign a text starts with, the longest there is, and how long it is as written.
fn known_sign(text: &[u8]) -> Option<(&'static str, usize)> {
    let sign = match text {
        [b'.', b'.', b'=', ..] => "..=",
        [b'.', b'.', ..] => "..",
        [b'<', b'=', ..] => "<=",
        [b'>', b'=', ..] => ">=",
        [b'!', b'=', ..] => "!=",
        [b'=', b'>', ..] => "=>",
        [b'=', b'=', ..] => return Some(("=", 2)),
        // `|` opens and closes a cardinality and never stands twice.
        [b'|', b'|', ..] | [] => return None,
        [first, ..] => match first {
            b'<' => "<",
            b'>' => ">",
            b'=' => "=",
            b'+' => "+",
            b'-' => "-",
            b'*' => "*",
            b'/' => "/",
            b'(' => "(",
            b')' => ")",
            b'[' => "[",
            b']' => "]",
            b'{' => "{",
            b'}' => "}",
            b'|' => "|",
            b',' => ",",
            b':' => ":",
            b';' => ";",
            _ => return None,
        },
    };
    Some((sign, sign.len()))
}

/// Undoes the escapes of a name in quotes.
pub(super) fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Kind<'_>> {
        let mut lexer = Lexer::new(source);
        std::iter::from_fn(|| match lexer.next().unwrap().kind {
            Kind::End => None,
            kind => Some(kind),
        })
        .collect()
    }

    #[test]
    fn a_range_is_not_a_fraction() {
        use Kind::{Number, Sign};
        let range = [Number("0"), Sign(".."), Number("10")];
        assert_eq!(kinds("0..10"), range);
        assert_eq!(kinds("0.5"), [Number("0.5")]);
        assert_eq!(kinds("1e-5 2E3"), [Number("1e-5"), Number("2E3")]);
    }

    #[test]
    fn comments_end_with_the_line() {
        use Kind::Word;
        assert_eq!(kinds("a # b\nc // d\r\n# e"), [Word("a"), Word("c")]);
    }

    #[test]
    fn quotes_keep_any_layer_name() {
        assert_eq!(kinds("\"conv2/Relu:0\""), [Kind::Text("conv2/Relu:0")]);
        assert_eq!(unescaped(r#"a\"b\\c\n"#), "a\"b\\c\n");
    }

    #[test]
    fn foreign_signs_are_translated() {
        for (theirs, ours) in FOREIGN {
            let fault = Lexer::new(theirs).next().unwrap_err();
            let hint = fault.locate(theirs).hint;
            assert_eq!(hint, Some(format!("write `{ours}`")));
        }
    }
}
