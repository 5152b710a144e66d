//! "Did you mean": the known name nearest to an unknown one.

/// Names longer than this are not compared; the table would be as large as the square.
const LONGEST: usize = 128;

/// The candidate with the fewest edits from `name`, if few enough to be a slip of the pen.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let allowed = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance, letter case ignored.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let layers = ["conv1/Relu", "conv2/Relu", "dense"];
        assert_eq!(nearest("conv2/relu", layers), Some("conv2/Relu"));
        assert_eq!(nearest("dens", layers), Some("dense"));
        assert_eq!(nearest("softmax", layers), None);
    }
}
