//! The dual simplex method for few rows and many columns, every column in a box of its own.
//!
//! The tableau is dense: with a hundred rows and a thousand columns a pivot is one sweep over numbers
//! that fit a cache, and there is nothing sparse to exploit, since rows are gradients. The start, every
//! row's slack basic and every column at the end of its box that is cheaper, is optimal but for broken
//! rows, and rows that join later only break again what was optimal: so the dual method serves both.
//!
//! A column that reaches the other end of its box before the broken row is mended is flipped to that
//! end, and the next one in line goes on. One step passes hundreds of columns that way.

/// Numbers smaller than this are taken for rounding.
const PIVOT: f64 = 1e-9;
/// How far a row or an end of a box may be missed.
const TOLERANCE: f64 = 1e-11;
/// Columns whose ratios differ by less are equal; the larger pivot is the safer one.
const TIE: f64 = 1e-12;

/// How a solve ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The cheapest point that meets all rows.
    Optimal,
    /// No point of the box meets all rows; the rows times these multipliers show it.
    Infeasible(Vec<f64>),
    /// Too many steps, or pivots lost in rounding.
    Stalled,
}

/// Where a variable is.
#[derive(Debug, Clone, Copy)]
enum Position {
    Column(usize),
    Row(usize),
}

/// A linear program, as far as it is solved: minimise `cost . x` with `x` in a box and rows `a . x >= b`.
///
/// Variables are the columns given, then one slack a row.
///
/// ```
/// use deepconcolic_simplex::{Ending, Tableau};
///
/// // The cheapest point of a square on the far side of a line, and then of two lines that leave nothing.
/// let mut tableau = Tableau::new(vec![0.0, 0.0], vec![1.0, 1.0], vec![1.0, 3.0]);
/// tableau.add(&[1.0, 1.0], 1.5);
/// assert_eq!(tableau.solve(), Ending::Optimal);
/// assert_eq!(tableau.point(), [1.0, 0.5]);
/// assert_eq!(tableau.multipliers(), [3.0]);
/// tableau.add(&[-1.0, -1.0], -1.0);
/// assert!(matches!(tableau.solve(), Ending::Infeasible(_)));
/// ```
#[derive(Debug, Clone)]
pub struct Tableau {
    lower: Vec<f64>,
    upper: Vec<f64>,
    value: Vec<f64>,
    place: Vec<Position>,
    columns: usize,
    /// The variable of each column, and what moving it costs.
    outside: Vec<usize>,
    reduced: Vec<f64>,
    /// The variable of each row.
    basic: Vec<usize>,
    /// `d basic / d outside`, row by row.
    slopes: Vec<Vec<f64>>,
}

impl Tableau {
    /// A box without rows. Costs must lead to an end that is finite.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>, cost: Vec<f64>) -> Self {
        let columns = cost.len();
        let ends = lower.iter().zip(&upper).zip(&cost);
        Self {
            value: ends
                .map(|((l, u), c)| if *c < 0.0 { *u } else { *l })
                .collect(),
            place: (0..columns).map(Position::Column).collect(),
            outside: (0..columns).collect(),
            reduced: cost,
            basic: Vec::new(),
            slopes: Vec::new(),
            lower,
            upper,
            columns,
        }
    }

    /// Adds the row `coefficients . x >= least`.
    pub fn add(&mut self, coefficients: &[f64], least: f64) {
        let mut slopes = vec![0.0; self.columns];
        let mut value = -least;
        for (variable, &a) in coefficients.iter().enumerate() {
            if a == 0.0 {
                continue;
            }
            value += a * self.value[variable];
            match self.place[variable] {
                Position::Column(column) => slopes[column] += a,
                Position::Row(row) => add_multiple(&mut slopes, a, &self.slopes[row]),
            }
        }
        self.place.push(Position::Row(self.basic.len()));
        self.basic.push(self.value.len());
        self.lower.push(0.0);
        self.upper.push(f64::INFINITY);
        self.value.push(value);
        self.slopes.push(slopes);
    }

    /// The values of the columns given.
    pub fn point(&self) -> &[f64] {
        &self.value[..self.columns]
    }

    /// How much the cost rises with what each row asks for.
    pub fn multipliers(&self) -> Vec<f64> {
        self.place[self.columns..]
            .iter()
            .map(|place| match place {
                Position::Column(column) => self.reduced[*column].max(0.0),
                Position::Row(_) => 0.0,
            })
            .collect()
    }

    /// Mends broken rows until none is left.
    pub fn solve(&mut self) -> Ending {
        self.solve_until(&|| false)
    }

    /// As [`Tableau::solve`], unless it is to stop: it has stalled then.
    pub fn solve_until(&mut self, stops: &dyn Fn() -> bool) -> Ending {
        // Each row takes a few steps; a run that takes far more goes in circles.
        let maximum = 100 + 20 * self.basic.len();
        for _ in 0..maximum {
            if stops() {
                return Ending::Stalled;
            }
            let Some((row, missing)) = self.max_broken() else {
                return Ending::Optimal;
            };
            let passed = self.passed(row, missing);
            let Some((&entering, flipped)) = passed.split_last() else {
                return Ending::Infeasible(self.ray(row, missing));
            };
            for &column in flipped {
                let variable = self.outside[column];
                let (lower, upper) = (self.lower[variable], self.upper[variable]);
                let from_lower = self.value[variable] <= lower;
                self.shift(column, if from_lower { upper } else { lower });
            }
            if self.slopes[row][entering].abs() < PIVOT {
                return Ending::Stalled;
            }
            self.pivot(row, entering);
        }
        Ending::Stalled
    }

    /// The basic variable furthest outside its box, measured against how fast its row can move it, and
    /// by how much it must grow (or, if negative, fall).
    fn max_broken(&self) -> Option<(usize, f64)> {
        let mut worst = None;
        let mut maximum = 0.0;
        for (row, &variable) in self.basic.iter().enumerate() {
            let value = self.value[variable];
            let missing = if value < self.lower[variable] - TOLERANCE {
                self.lower[variable] - value
            } else if value > self.upper[variable] + TOLERANCE {
                self.upper[variable] - value
            } else {
                continue;
            };
            let speed: f64 = self.slopes[row].iter().map(|a| a * a).sum();
            let score = missing * missing / (1.0 + speed);
            if score > maximum {
                maximum = score;
                worst = Some((row, missing));
            }
        }
        worst
    }

    /// The columns that mend a row, cheapest first: all but the last go over to the other end of their
    /// boxes, the last takes the row's place. None if no column helps, or all together do not.
    fn passed(&self, row: usize, missing: f64) -> Vec<usize> {
        let sign = missing.signum();
        let slopes = &self.slopes[row];
        let helps = |&column: &usize| {
            let slope = sign * slopes[column];
            let variable = self.outside[column];
            let (lower, upper) = (self.lower[variable], self.upper[variable]);
            if upper <= lower {
                return false;
            }
            if self.value[variable] <= lower {
                slope > PIVOT
            } else {
                slope < -PIVOT
            }
        };
        let ratio = |column: usize| (self.reduced[column] / slopes[column]).abs();
        let mut line: Vec<(f64, usize)> = (0..self.columns)
            .filter(helps)
            .map(|column| (ratio(column), column))
            .collect();
        line.sort_unstable_by(|a, b| {
            let larger = slopes[b.1].abs().total_cmp(&slopes[a.1].abs());
            a.0.total_cmp(&b.0).then(larger).then(a.1.cmp(&b.1))
        });
        let mut missing = missing.abs();
        for at in 0..line.len() {
            let column = line[at].1;
            let variable = self.outside[column];
            let room = self.upper[variable] - self.lower[variable];
            let gain = room * slopes[column].abs();
            if gain < missing {
                missing -= gain;
                continue;
            }
            // Of columns at the same ratio the largest pivot enters; the others stay where they are.
            let ties = line[at..]
                .iter()
                .take_while(|(r, _)| *r <= line[at].0 + TIE);
            let best = ties
                .filter(|(_, c)| {
                    let variable = self.outside[*c];
                    let room = self.upper[variable] - self.lower[variable];
                    room * slopes[*c].abs() >= missing
                })
                .map(|(_, c)| *c)
                .reduce(|best, c| {
                    if slopes[c].abs() > slopes[best].abs() {
                        c
                    } else {
                        best
                    }
                });
            let mut passed: Vec<usize> = line[..at].iter().map(|(_, c)| *c).collect();
            passed.push(best.unwrap_or(column));
            return passed;
        }
        Vec::new()
    }

    /// Moves a variable that is not basic, and the basic ones with it.
    fn shift(&mut self, column: usize, to: f64) {
        let variable = self.outside[column];
        let by = to - self.value[variable];
        self.value[variable] = to;
        for (row, slopes) in self.slopes.iter().enumerate() {
            self.value[self.basic[row]] += slopes[column] * by;
        }
    }

    /// The row's variable goes to the end of its box that it missed; the column's takes its place.
    fn pivot(&mut self, row: usize, column: usize) {
        let (leaves, enters) = (self.basic[row], self.outside[column]);
        let end = self.value[leaves].clamp(self.lower[leaves], self.upper[leaves]);
        let by = (end - self.value[leaves]) / self.slopes[row][column];
        self.shift(column, self.value[enters] + by);
        self.value[leaves] = end;

        let mut pivot_row = std::mem::take(&mut self.slopes[row]);
        let slope = pivot_row[column];
        for a in &mut pivot_row {
            *a /= -slope;
        }
        pivot_row[column] = 1.0 / slope;
        let eliminate = |line: &mut [f64]| {
            let factor = line[column];
            if factor != 0.0 {
                line[column] = 0.0;
                add_multiple(line, factor, &pivot_row);
            }
        };
        for line in self.slopes.iter_mut().filter(|line| !line.is_empty()) {
            eliminate(line);
        }
        eliminate(&mut self.reduced);
        self.slopes[row] = pivot_row;
        self.basic[row] = enters;
        self.outside[column] = leaves;
        self.place[enters] = Position::Row(row);
        self.place[leaves] = Position::Column(column);
    }

    /// The multipliers of the rows that show a broken row cannot be mended.
    fn ray(&self, row: usize, missing: f64) -> Vec<f64> {
        let sign = missing.signum();
        let slopes = &self.slopes[row];
        self.place[self.columns..]
            .iter()
            .map(|place| match *place {
                Position::Column(column) => (-sign * slopes[column]).max(0.0),
                Position::Row(of) => f64::from(u8::from(of == row)),
            })
            .collect()
    }
}

fn add_multiple(into: &mut [f64], factor: f64, of: &[f64]) {
    for (sum, a) in into.iter_mut().zip(of) {
        *sum += factor * a;
    }
}
