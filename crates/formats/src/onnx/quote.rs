//! Names taken from a file, made safe to print in a message.

/// More than this of one name does not help the reader to find it.
const LONGEST: usize = 80;

/// A name in backquotes, on one line and of bounded length.
///
/// Names come from the file, so they may hold line breaks, terminal escapes or
/// megabytes; a message must survive all three.
pub fn quote(name: &str) -> String {
    let mut quoted = String::from("`");
    let mut characters = name.chars();
    for character in characters.by_ref().take(LONGEST) {
        if is_printable(character) {
            quoted.push(character);
        } else {
            quoted.extend(character.escape_unicode());
        }
    }
    if characters.next().is_some() {
        quoted.push('…');
    }
    quoted.push('`');
    quoted
}

/// `escape_debug` knows which characters are invisible; it also escapes quotes and
/// backslashes, which are harmless between backquotes.
fn is_printable(character: char) -> bool {
    matches!(character, '\'' | '"' | '\\') || character.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn an_ordinary_name_is_only_quoted() {
        assert_eq!(quote("/layer.1/Conv_0:w\\é"), "`/layer.1/Conv_0:w\\é`");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(quote("a\n\u{1b}[31m"), "`a\\u{a}\\u{1b}[31m`");
        assert_eq!(quote("a\u{202e}b"), "`a\\u{202e}b`");
    }

    #[test]
    fn a_long_name_is_cut() {
        let quoted = quote(&"é".repeat(1_000_000));
        assert_eq!(quoted.chars().count(), 80 + 3);
        assert!(quoted.ends_with("…`"));
    }
}
