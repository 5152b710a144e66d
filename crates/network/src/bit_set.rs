//! Sets of small numbers, one bit each: covered requirements, parts of a region, neurons.

/// A set of numbers below a fixed length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BitSet {
    words: Vec<u64>,
    len: usize,
}

impl BitSet {
    /// The empty set of numbers below `len`.
    pub fn new(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(64)],
            len,
        }
    }

    /// How many numbers there are to choose from.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no numbers to choose from.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a number is in the set.
    pub fn contains(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Adds a number.
    pub fn insert(&mut self, index: usize) {
        debug_assert!(index < self.len);
        self.words[index / 64] |= 1 << (index % 64);
    }

    /// How many numbers are in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// How many numbers are in this set and not in another.
    pub fn count_without(&self, other: &Self) -> usize {
        let words = self.words.iter().zip(&other.words);
        words.map(|(a, b)| (a & !b).count_ones() as usize).sum()
    }

    /// Whether some number is in both sets.
    pub fn meets(&self, other: &Self) -> bool {
        let mut words = self.words.iter().zip(&other.words);
        words.any(|(a, b)| a & b != 0)
    }

    /// The numbers that are in this set and not in another.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let words = self.words.iter().zip(&other.words);
        Self {
            words: words.map(|(a, b)| a & !b).collect(),
            len: self.len,
        }
    }

    /// Whether a number of a range is in the set.
    pub fn has_any(&self, from: usize, to: usize) -> bool {
        if from >= to {
            return false;
        }
        let (first, last) = (from / 64, (to - 1) / 64);
        let head = u64::MAX << (from % 64);
        let tail = u64::MAX >> (63 - (to - 1) % 64);
        if first == last {
            return self.words[first] & head & tail != 0;
        }
        self.words[first] & head != 0
            || self.words[first + 1..last].iter().any(|&word| word != 0)
            || self.words[last] & tail != 0
    }

    /// How many numbers of a range are in the set.
    pub fn count_between(&self, from: usize, to: usize) -> usize {
        if from >= to {
            return 0;
        }
        let (first, last) = (from / 64, (to - 1) / 64);
        let whole: usize = self.words[first..=last]
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum();
        let before = self.words[first] & !(u64::MAX << (from % 64));
        let after = self.words[last] & !(u64::MAX >> (63 - (to - 1) % 64));
        whole - (before.count_ones() + after.count_ones()) as usize
    }

    /// The numbers with these ranks in ascending order, the least of all first; ranks must ascend. One pass over
    /// the words, however many numbers there are.
    pub fn of_ranks(&self, ranks: &[usize]) -> Vec<usize> {
        let mut found = Vec::with_capacity(ranks.len());
        let mut words = self.words.iter().enumerate();
        let mut next = words.next();
        let mut before = 0;
        for &rank in ranks {
            while let Some((at, &word)) = next {
                let count = word.count_ones() as usize;
                if before + count > rank {
                    let bit = ones(&[word]).nth(rank - before);
                    found.extend(bit.map(|bit| at * 64 + bit));
                    break;
                }
                before += count;
                next = words.next();
            }
        }
        found
    }

    /// The numbers in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        ones(&self.words)
    }

    /// Takes a number out.
    pub fn remove(&mut self, index: usize) {
        self.words[index / 64] &= !(1 << (index % 64));
    }

    /// The numbers that are not in this set.
    #[must_use]
    pub fn complement(&self) -> Self {
        let mut words: Vec<u64> = self.words.iter().map(|w| !w).collect();
        if let (Some(last), rest) = (words.last_mut(), self.len % 64)
            && rest > 0
        {
            *last &= (1 << rest) - 1;
        }
        let len = self.len;
        Self { words, len }
    }

    /// The words; bits past the end are 0.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words, for those who fill many bits at once; bits past the end must stay 0.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

/// Positions of the bits that are set.
pub fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(at * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_is_there() {
        let mut set = BitSet::new(130);
        let members = [0, 1, 63, 64, 100, 129];
        for m in members {
            set.insert(m);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), members);
        assert_eq!(set.count(), members.len());
        let mut other = BitSet::new(130);
        other.insert(64);
        assert_eq!(set.count_without(&other), members.len() - 1);
        assert_eq!(set.without(&other).count(), members.len() - 1);
        assert!(set.contains(129) && !set.contains(128));
        let rest = set.complement();
        assert_eq!(rest.count(), 130 - members.len());
        assert!(members.iter().all(|&m| !rest.contains(m)));
        for (from, to) in [
            (0, 1),
            (2, 63),
            (2, 64),
            (65, 100),
            (65, 101),
            (101, 129),
            (2, 130),
            (9, 9),
        ] {
            let any = members.iter().any(|&m| from <= m && m < to);
            assert_eq!(set.has_any(from, to), any, "{from} {to}");
            let between = members.iter().filter(|&&m| from <= m && m < to).count();
            assert_eq!(set.count_between(from, to), between, "{from} {to}");
        }
        assert_eq!(set.of_ranks(&[0, 2, 2, 3, 5, 6]), [0, 63, 63, 64, 129]);
        set.remove(63);
        assert!(!set.contains(63) && set.count() == members.len() - 1);
    }
}
