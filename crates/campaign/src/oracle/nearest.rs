//! The reference nearest to each of many tests: exactly what comparing all pairs would give.
//!
//! References stream past in blocks, each compared with all tests. A cheap screen drops almost all pairs
//! after a few elements; the distance itself decides about the others. Tests that begin at the same reference are
//! screened together first: no way round is shorter, so that what is far from that reference is far from all of them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use deepconcolic_geometry::{InputSpace, LANES, Lanes, Norm, Screen, Sight};
use rayon::prelude::*;

use crate::Inputs;

/// References whose spread tells which elements to look at first.
const SAMPLE: usize = 256;
/// Bytes of the tests that are compared in one pass over the references.
const TEST_BYTES: usize = 32 << 20;
/// Blocks of references that are worth a task of their own.
const LEAST_BLOCKS: usize = 64;
/// More than distances are off by rounding, for their sum.
const SLACK: f64 = 1e-9;

/// The nearest reference of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Its number; the smallest, if several are as near.
    pub reference: usize,
    /// How far it is.
    pub distance: f64,
}

impl Nearest {
    fn of(reference: usize, distance: f64) -> Self {
        // What has no distance is nowhere near.
        let distance = if distance.is_nan() {
            f64::INFINITY
        } else {
            distance
        };
        Self {
            reference,
            distance,
        }
    }

    fn or_nearer(self, other: Self) -> Self {
        let of = |nearest: &Self| (nearest.distance, nearest.reference);
        if of(&other) < of(&self) { other } else { self }
    }
}

/// The reference nearest to each test, the tests given one after another. A hint is a reference that
/// is probably near, such as the test's root, one for each test; it changes nothing but the time
/// taken. So does the number of threads.
///
/// Every call reads all references: ask about many tests at once.
///
/// # Panics
/// If there is no reference, or the tests are not as many as the hints.
pub fn nearest(
    references: &dyn Inputs,
    tests: &[f32],
    norm: Norm,
    units: &InputSpace,
    hints: &[Option<usize>],
) -> Vec<Nearest> {
    assert!(!references.is_empty(), "there is no reference to be near");
    if hints.is_empty() {
        return Vec::new();
    }
    let elements = tests.len() / hints.len();
    assert_eq!(
        tests.len(),
        elements * hints.len(),
        "one hint for each test of {elements} elements"
    );
    if elements == 0 {
        return vec![Nearest::of(0, 0.0); hints.len()];
    }
    let search = Search {
        references,
        norm,
        units,
        elements,
        screen: Screen::new(norm, units, elements),
    };
    let moments = search.moments();
    let at_once = (TEST_BYTES / Sight::bytes(elements)).max(1);
    tests
        .chunks(at_once * elements)
        .zip(hints.chunks(at_once))
        .flat_map(|(tests, hints)| {
            let tests: Vec<Test> = tests
                .par_chunks(elements)
                .zip(hints)
                .map(|(input, &hint)| Test {
                    input,
                    start: search.start(input, hint),
                    sight: OnceLock::new(),
                })
                .collect();
            search.run(&tests, &moments)
        })
        .collect()
}

/// One question: everything but the tests.
struct Search<'a> {
    references: &'a dyn Inputs,
    norm: Norm,
    units: &'a InputSpace,
    elements: usize,
    screen: Screen,
}

/// Mean and variance of each element over some references.
struct Moments {
    mean: Vec<f32>,
    variance: Vec<f32>,
}

/// A test, and where its search begins.
struct Test<'a> {
    input: &'a [f32],
    start: Nearest,
    /// Made when it is looked from: most tests are never compared with any but their start.
    sight: OnceLock<Sight>,
}

/// Tests that begin at the same reference.
struct Group {
    /// Their places among all tests.
    places: Vec<usize>,
    /// From that reference, as far as what is nearest to any of them can be; none for one test.
    sight: Option<Sight>,
}

/// What a task has found so far, and the block of references it is at.
struct Task {
    found: Vec<Nearest>,
    sights: Vec<Option<Sight>>,
    numbers: Vec<usize>,
    rows: Vec<f32>,
    columns: Vec<Lanes>,
}

impl Search<'_> {
    fn moments(&self) -> Moments {
        let count = self.references.len().min(SAMPLE);
        let (mut sums, mut squares) = (vec![0.0; self.elements], vec![0.0; self.elements]);
        let mut row = vec![0.0; self.elements];
        for number in 0..count {
            let spread = number * self.references.len() / count;
            self.references.gather(&[spread], &mut row);
            for ((sum, square), &x) in sums.iter_mut().zip(&mut squares).zip(&row) {
                *sum += f64::from(x);
                *square += f64::from(x) * f64::from(x);
            }
        }
        let count = count as f64;
        let variance =
            |(sum, square): (&f64, &f64)| (square / count - (sum / count).powi(2)) as f32;
        Moments {
            mean: sums.iter().map(|sum| (sum / count) as f32).collect(),
            variance: sums.iter().zip(&squares).map(variance).collect(),
        }
    }

    fn sight(&self, input: &[f32], moments: &Moments) -> Sight {
        self.screen.sight(input, &moments.mean, &moments.variance)
    }

    /// The tests by where they begin.
    fn groups(&self, tests: &[Test], moments: &Moments) -> Vec<Group> {
        let mut starts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut groups = Vec::new();
        for (place, test) in tests.iter().enumerate() {
            if test.input.iter().all(|x| x.is_finite()) {
                let start = starts.entry(test.start.reference);
                start.or_default().push(place);
            } else {
                // There may be a shorter way round through what is no number.
                let (places, sight) = (vec![place], None);
                groups.push(Group { places, sight });
            }
        }
        let starts: Vec<(usize, Vec<usize>)> = starts.into_iter().collect();
        groups.par_extend(starts.into_par_iter().map(|(reference, places)| {
            let sight = (places.len() > 1).then(|| {
                let far = places.iter().map(|&place| tests[place].start.distance);
                // As far again as the test that is farthest off.
                let reach = 2.0 * far.fold(0.0, f64::max) * (1.0 + SLACK);
                let mut row = vec![0.0; self.elements];
                self.references.gather(&[reference], &mut row);
                let mut sight = self.sight(&row, moments);
                self.screen.aim(&mut sight, reach, true);
                sight
            });
            Group { places, sight }
        }));
        groups
    }

    fn start(&self, input: &[f32], hint: Option<usize>) -> Nearest {
        let known = |&number: &usize| number < self.references.len();
        let number = hint.filter(known).unwrap_or(0);
        let mut row = vec![0.0; self.elements];
        self.references.gather(&[number], &mut row);
        self.compare(input, number, &row)
    }

    fn compare(&self, input: &[f32], number: usize, row: &[f32]) -> Nearest {
        Nearest::of(number, self.norm.distance(input, row, self.units))
    }

    fn run(&self, tests: &[Test], moments: &Moments) -> Vec<Nearest> {
        let groups = self.groups(tests, moments);
        let starts = || tests.iter().map(|test| test.start).collect::<Vec<_>>();
        let task = || Task {
            found: starts(),
            sights: vec![None; tests.len()],
            numbers: vec![0; LANES],
            rows: vec![0.0; LANES * self.elements],
            columns: vec![[0.0; LANES]; self.elements],
        };
        (0..self.references.len().div_ceil(LANES))
            .into_par_iter()
            .with_min_len(LEAST_BLOCKS)
            .fold(task, |mut task, block| {
                self.read(block * LANES, &mut task);
                for group in &groups {
                    let sight = group.sight.as_ref();
                    if sight.is_none_or(|s| self.screen.left(&task.columns, s).is_some()) {
                        for &place in &group.places {
                            self.improve(&tests[place], place, &mut task, moments);
                        }
                    }
                }
                task
            })
            .map(|task| task.found)
            .reduce(starts, |a, b| {
                let pairs = a.into_iter().zip(b);
                pairs.map(|(a, b)| a.or_nearer(b)).collect()
            })
    }

    /// Reads the block that begins at a reference, and lays it out for the bounds.
    fn read(&self, first: usize, task: &mut Task) {
        for (lane, number) in task.numbers.iter_mut().enumerate() {
            // The last block is filled up with the last reference, which then loses to itself.
            *number = (first + lane).min(self.references.len() - 1);
        }
        self.references.gather(&task.numbers, &mut task.rows);
        for (element, column) in task.columns.iter_mut().enumerate() {
            for (lane, value) in column.iter_mut().enumerate() {
                *value = task.rows[lane * self.elements + element];
            }
        }
    }

    /// Looks for a nearer reference in the block.
    fn improve(&self, test: &Test, place: usize, task: &mut Task, moments: &Moments) {
        let best = &mut task.found[place];
        let sight = task.sights[place].get_or_insert_with(|| {
            let made = || self.sight(test.input, moments);
            test.sight.get_or_init(made).clone()
        });
        // Of references that are as near the first wins: ties matter only until it is past.
        let ties = task.numbers[0] < best.reference;
        self.screen.aim(sight, best.distance, ties);
        let Some(left) = self.screen.left(&task.columns, sight) else {
            return;
        };
        let rows = task.rows.chunks_exact(self.elements);
        for ((&number, row), left) in task.numbers.iter().zip(rows).zip(left) {
            if left {
                *best = best.or_nearer(self.compare(test.input, number, row));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_geometry::Pixels;
    use deepconcolic_testing::Random;

    use super::*;

    struct Rows(Vec<Vec<f32>>);

    impl Inputs for Rows {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn gather(&self, indices: &[usize], into: &mut [f32]) {
            let each = self.0[0].len();
            for (&index, row) in indices.iter().zip(into.chunks_exact_mut(each)) {
                row.copy_from_slice(&self.0[index]);
            }
        }
    }

    fn by_brute_force(rows: &Rows, tests: &[f32], norm: Norm, units: &InputSpace) -> Vec<Nearest> {
        let nearest = |test: &[f32]| {
            let mut best = Nearest::of(0, f64::INFINITY);
            for (number, row) in rows.0.iter().enumerate() {
                let distance = norm.distance(test, row, units);
                if distance < best.distance {
                    best = Nearest::of(number, distance);
                }
            }
            best
        };
        tests.chunks(rows.0[0].len()).map(nearest).collect()
    }

    fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(work)
    }

    /// References with many ties: few values an element, and copies.
    fn references(random: &mut Random, elements: usize, levels: usize) -> Rows {
        let count = 1 + random.below(900);
        let mut rows: Vec<Vec<f32>> = Vec::new();
        for _ in 0..count {
            let copied = !rows.is_empty() && random.below(4) == 0;
            let row = if copied {
                rows[random.below(rows.len())].clone()
            } else {
                let value = |_| random.below(levels) as f32 / levels as f32 - 0.25;
                (0..elements).map(value).collect()
            };
            rows.push(row);
        }
        Rows(rows)
    }

    /// References themselves, noise about them, few of their elements changed, and noise alone.
    fn tests(random: &mut Random, rows: &Rows) -> Vec<f32> {
        let mut tests = Vec::new();
        for kind in 0..12 {
            let mut test = rows.0[random.below(rows.0.len())].clone();
            for x in &mut test {
                let noise = random.between(-0.3, 0.3) as f32;
                match kind % 4 {
                    1 => *x += noise,
                    2 if random.below(6) == 0 => *x += noise,
                    3 => *x = noise,
                    _ => {}
                }
            }
            tests.extend(test);
        }
        tests
    }

    #[test]
    fn the_answer_is_that_of_brute_force() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let pixels = [
                Pixels::Single,
                Pixels::ChannelsFirst(3),
                Pixels::ChannelsLast(3),
            ][random.below(3)];
            let elements = [1, 3, 33, 96, 150, 301][random.below(6)];
            let levels = [2, 5, 256][random.below(3)];
            let mut rows = references(&mut random, elements, levels);
            let mut tests = tests(&mut random, &rows);
            let mut widths: Vec<f64> = match random.below(3) {
                0 => Vec::new(),
                1 => vec![1.0; elements],
                _ => random.list(elements, 1e-3, 300.0),
            };
            // A constant element, of width zero or nearly, and some tests that leave it.
            if random.below(2) == 0 && !widths.is_empty() {
                let constant = random.below(elements);
                widths[constant] = [0.0, 1e-42][random.below(2)];
                for row in rows.0.iter_mut().skip(random.below(3)) {
                    row[constant] = 0.5;
                }
                for test in tests.chunks_mut(elements).skip(2) {
                    test[constant] = 0.5;
                }
            }
            let units = InputSpace { widths, pixels };
            let mut hint = |_| (random.below(2) == 0).then(|| random.below(1000));
            let hints: Vec<Option<usize>> = (0..tests.len() / elements).map(&mut hint).collect();
            for norm in Norm::ALL {
                let expected = by_brute_force(&rows, &tests, norm, &units);
                for threads in [1, 3] {
                    let found =
                        with_threads(threads, || nearest(&rows, &tests, norm, &units, &hints));
                    assert_eq!(found, expected, "seed {seed}, {norm}, {threads} threads");
                }
            }
        }
    }

    #[test]
    fn tests_about_the_same_references_are_told_apart() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let elements = [1, 33, 96][random.below(3)];
            let levels = [3, 256][random.below(2)];
            let rows = references(&mut random, elements, levels);
            let roots = [0; 3].map(|_| random.below(rows.0.len()));
            let reach = [0.0, 0.02, 0.4][random.below(3)];
            let mut tests = Vec::new();
            let mut hints = Vec::new();
            for _ in 0..30 {
                let root = roots[random.below(3)];
                hints.push(Some(root));
                let mut moved = |&x: &f32| x + random.between(-reach, reach) as f32;
                tests.extend(rows.0[root].iter().map(&mut moved));
                // One that is no number, among others.
                if random.below(20) == 0 {
                    tests.pop();
                    tests.push(f32::NAN);
                }
            }
            let units = InputSpace::default();
            for norm in Norm::ALL {
                let found = nearest(&rows, &tests, norm, &units, &hints);
                let expected = by_brute_force(&rows, &tests, norm, &units);
                assert_eq!(found, expected, "seed {seed}, {norm}, reach {reach}");
            }
        }
    }

    #[test]
    fn numbers_at_the_ends_of_single_precision_are_no_trap() {
        let ends = [0.0, 1e-45, -1e-40, 3e38, -3e38, 1e-20, 1e20, f32::NAN];
        let mut random = Random::new(5);
        let mut row = |_| (0..5).map(|_| ends[random.below(8)]).collect();
        let rows = Rows((0..200).map(&mut row).collect());
        let tests: Vec<f32> = rows.0.iter().take(30).flatten().copied().collect();
        for widths in [
            vec![],
            vec![1e-44, 6e38, 1e38, 0.0, 1.0],
            vec![1e38; 5],
            vec![1e-30; 5],
        ] {
            let units = InputSpace {
                widths,
                ..InputSpace::default()
            };
            for norm in Norm::ALL {
                let expected = by_brute_force(&rows, &tests, norm, &units);
                for hints in [[None; 30], [Some(7); 30]] {
                    let found = nearest(&rows, &tests, norm, &units, &hints);
                    assert_eq!(found, expected, "{norm}, {:?}", units.widths);
                }
            }
        }
    }

    #[test]
    fn no_tests_and_no_elements_are_fine() {
        let rows = Rows(vec![vec![], vec![]]);
        let units = InputSpace::default();
        assert_eq!(nearest(&rows, &[], Norm::L2, &units, &[]), []);
        let all = nearest(&rows, &[], Norm::L2, &units, &[None]);
        assert_eq!(all, [Nearest::of(0, 0.0)]);
    }
}
