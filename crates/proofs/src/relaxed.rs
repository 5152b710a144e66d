//! A part of the region as a linear program: units whose phases are open are unknowns of their own, held
//! between the lines below and above their curves. It has a row for each phase that is fixed and each
//! condition, and asks for the point that meets those by as much as possible. Where even that is less than
//! nothing, the rows' multipliers are the numbers of a leaf; and where every phase is fixed, the program is
//! the network itself.
//!
//! Fixing a phase adds rows to a program that is solved already, so that branch and bound costs a few
//! pivots a part.

use deepconcolic_check::Split;
use deepconcolic_simplex::{Ending, Tableau};

use crate::ascent::{Ascent, CLEAR, Free, Part, Reached, Steps};
use crate::lanes::LANES;
use crate::objective::Condition;
use crate::phases::{Confirm, Effort, End, leaf};
use crate::tree::Growing;

/// Most numbers of a tableau.
const LARGEST: usize = 1 << 19;
/// The least and the largest margin asked for, in units of what a row can change by.
const MARGINS: [f64; 2] = [-1e4, 0.25];
/// Steps that make up for what a certificate's slopes are rounded by.
const POLISH: Steps = Steps {
    maximum: 6,
    rate: 0.02,
};

/// A sum of the unknowns: those of the inputs, then those of open units.
#[derive(Clone)]
struct Row {
    coefficients: Vec<f64>,
    constant: f64,
}

impl Row {
    /// How far it can move from the centre of a box.
    fn reach(&self, ends: &[[f64; 2]]) -> f64 {
        let terms = self.coefficients.iter().zip(ends);
        let sum: f64 = terms.map(|(a, [l, u])| 0.5 * a.abs() * (u - l)).sum();
        if sum > 0.0 { sum } else { 1.0 }
    }

    /// It times a factor, and some of an unknown.
    fn with(&self, factor: f64, constant: f64, (unknown, weight): (usize, f64)) -> Self {
        let scaled = self.coefficients.iter().map(|a| factor * a);
        let mut row = Self {
            coefficients: scaled.collect(),
            constant: factor * self.constant + constant,
        };
        row.coefficients[unknown] += weight;
        row
    }
}

/// What a row of the program stands for.
#[derive(Clone, Copy)]
enum Meaning {
    Condition(usize),
    /// So many phases of the part before it.
    Phase(usize),
    /// A unit lies above the line of its left (false) or right part, where the curve is convex; else below
    /// it.
    Touching(usize, bool),
    /// Any other line of a unit.
    RelaxationLine,
}

/// A program, solved or not.
#[derive(Clone)]
struct Program {
    tableau: Tableau,
    meanings: Vec<Meaning>,
    /// What each row is measured by.
    scales: Vec<f64>,
}

impl Program {
    /// Adds a row that a margin is asked of.
    fn demand(&mut self, row: &Row, ends: &[[f64; 2]], meaning: Meaning) {
        self.add(row, ends, -1.0, meaning);
    }

    /// Adds a row that must hold.
    fn hold(&mut self, row: &Row, ends: &[[f64; 2]], meaning: Meaning) {
        self.add(row, ends, 0.0, meaning);
    }

    fn add(&mut self, row: &Row, ends: &[[f64; 2]], margin: f64, meaning: Meaning) {
        let scale = row.reach(ends);
        let mut coefficients: Vec<f64> = row.coefficients.iter().map(|a| a / scale).collect();
        coefficients.push(margin);
        self.tableau.add(&coefficients, -row.constant / scale);
        self.meanings.push(meaning);
        self.scales.push(scale);
    }
}

/// A part of the region under a program.
struct Node {
    part: Part,
    program: Program,
    at: usize,
}

/// What a program says.
pub(crate) enum Solved {
    /// Nothing is there; the numbers that show it.
    Refuted(Reached),
    /// Values of the input variables, and of the open units.
    Point(Vec<f64>, Vec<f64>),
    /// Lost in rounding.
    Unknown,
}

/// Conditions over a part of the region, as rows.
pub(crate) struct Relaxed {
    ends: Vec<[f64; 2]>,
    inputs: usize,
    /// The open units.
    open: Vec<usize>,
    /// The inputs of the open units.
    units: Vec<Row>,
    root: Program,
}

impl Relaxed {
    /// None if it were too large, or time was up.
    pub fn new(ascent: &mut Ascent<'_>, conditions: &[Condition], part: &Part) -> Option<Self> {
        let fixed: Vec<usize> = part.phases.iter().map(|p| p.0 as usize).collect();
        let open: Vec<usize> = (0..ascent.free.len())
            .filter(|f| !fixed.contains(f))
            .collect();
        let inputs = ascent.program.inputs.len();
        let columns = inputs + open.len() + 1;
        // Each open unit has three lines, and two more when it is fixed.
        let rows = conditions.len() + fixed.len() + 5 * open.len();
        if columns.saturating_mul(rows) > LARGEST {
            return None;
        }
        let value = |number: &usize| Condition {
            terms: vec![(ascent.free[*number].input, 1.0)],
            constant: 0.0,
        };
        let sums: Vec<Condition> = open.iter().chain(&fixed).map(value).collect();
        let mut units = pull(ascent, &sums, part, &open)?;
        let of_fixed = units.split_off(open.len());
        let of_conditions = pull(ascent, conditions, part, &open)?;
        let mut ends: Vec<[f64; 2]> = ascent.ends.iter().map(|[l, u]| [l[0], u[0]]).collect();
        // Wider than the lines, so that no proof depends on them.
        ends.extend(open.iter().map(|&number| {
            let [low, high] = ascent.free[number].range;
            let room = 1.0 + high - low;
            [low - room, high + room]
        }));
        let (lower, upper) = ends.iter().chain([&MARGINS]).map(|&[l, u]| (l, u)).unzip();
        let mut cost = vec![0.0; columns];
        cost[columns - 1] = -1.0;
        let mut root = Program {
            tableau: Tableau::new(lower, upper, cost),
            meanings: Vec::new(),
            scales: Vec::new(),
        };
        for (number, row) in of_conditions.iter().enumerate() {
            root.demand(row, &ends, Meaning::Condition(number));
        }
        for (number, (row, &(unit, above))) in of_fixed.iter().zip(&part.phases).enumerate() {
            let row = side(&ascent.free[unit as usize], row, above);
            root.demand(&row, &ends, Meaning::Phase(number));
        }
        let mut relaxed = Self {
            ends,
            inputs,
            open,
            units,
            root,
        };
        for at in 0..relaxed.open.len() {
            for (row, meaning) in relaxed.lines(&ascent.free[relaxed.open[at]], at) {
                relaxed.root.hold(&row, &relaxed.ends, meaning);
            }
        }
        Some(relaxed)
    }

    /// The lines of an open unit: on the inner side of its curve those of its two parts, on the outer
    /// side the chord.
    fn lines(&self, free: &Free, at: usize) -> [(Row, Meaning); 3] {
        let inner = if free.left < free.right { 1.0 } else { -1.0 };
        let own = self.inputs + at;
        let line = |slope: f64, cut: f64, sign: f64| {
            self.units[at].with(-sign * slope, -sign * cut, (own, sign))
        };
        let touching = |right: bool| {
            let slope = if right { free.right } else { free.left };
            let row = line(slope, free.cuts[usize::from(right)], inner);
            (row, Meaning::Touching(at, right))
        };
        let chord = line(free.chord.0, free.chord.1, -inner);
        [
            touching(false),
            touching(true),
            (chord, Meaning::RelaxationLine),
        ]
    }

    /// Fixes a phase.
    fn fix(
        &self,
        program: &mut Program,
        ascent: &Ascent<'_>,
        at: usize,
        above: bool,
        phase: usize,
    ) {
        let free = &ascent.free[self.open[at]];
        let row = side(free, &self.units[at], above);
        program.demand(&row, &self.ends, Meaning::Phase(phase));
        let inner = if free.left < free.right { 1.0 } else { -1.0 };
        let slope = if above { free.right } else { free.left };
        let cut = free.cuts[usize::from(above)];
        let own = (self.inputs + at, -inner);
        let row = self.units[at].with(inner * slope, inner * cut, own);
        program.hold(&row, &self.ends, Meaning::RelaxationLine);
    }

    /// Solves a program over a part.
    fn solve(
        &self,
        program: &mut Program,
        ascent: &mut Ascent<'_>,
        conditions: &[Condition],
        part: &Part,
    ) -> Solved {
        let until = ascent.until;
        let factors = match program.tableau.solve_until(&|| until.is_over()) {
            Ending::Optimal => program.tableau.multipliers(),
            // The lines alone leave no room.
            Ending::Infeasible(factors) => {
                let reached = self.refuted(program, &factors, ascent, conditions, part);
                return reached.map_or(Solved::Unknown, Solved::Refuted);
            }
            Ending::Stalled => return Solved::Unknown,
        };
        let point = program.tableau.point();
        if point[point.len() - 1] < 0.0
            && let Some(reached) = self.refuted(program, &factors, ascent, conditions, part)
        {
            return Solved::Refuted(reached);
        }
        let (inputs, rest) = point.split_at(self.inputs);
        Solved::Point(inputs.to_vec(), rest[..self.open.len()].to_vec())
    }

    /// A part with the numbers that multipliers of rows give, if they refute it.
    fn refuted(
        &self,
        program: &Program,
        factors: &[f64],
        ascent: &mut Ascent<'_>,
        conditions: &[Condition],
        part: &Part,
    ) -> Option<Reached> {
        let factors = factors.iter().zip(&program.scales).map(|(m, s)| m / s);
        let mut part = part.clone();
        let mut touching = vec![[0.0; 2]; self.open.len()];
        let (mut of_conditions, mut of_phases) =
            (vec![0.0; conditions.len()], vec![0.0; part.phases.len()]);
        for (meaning, factor) in program.meanings.iter().zip(factors) {
            match *meaning {
                Meaning::Condition(number) => of_conditions[number] = factor,
                Meaning::Phase(number) => of_phases[number] = factor,
                Meaning::Touching(at, right) => touching[at][usize::from(right)] = factor,
                Meaning::RelaxationLine => {}
            }
        }
        for (&number, [left, right]) in self.open.iter().zip(touching) {
            let phase = part.phases.iter().position(|p| p.0 as usize == number);
            if let Some(phase) = phase {
                // On the line of one part, to be on the inner side of the other is to be on the part's
                // side of the kink.
                let free = &ascent.free[number];
                let other = if part.phases[phase].1 { left } else { right };
                of_phases[phase] += other * (free.right - free.left).abs();
            } else if left + right > 0.0 {
                part.shares[number] = (right / (left + right)) as f32;
            }
        }
        // Bounds grow with the numbers; what counts as clear does not.
        let all = of_conditions.iter().chain(&of_phases);
        let largest = all.copied().fold(0.0, f64::max);
        if largest <= 0.0 {
            return None;
        }
        let scaled = |factor: &f64| (factor / largest) as f32;
        part.factors = of_conditions.iter().map(scaled).collect();
        part.multipliers = of_phases.iter().map(scaled).collect();
        let reached = ascent.climb(&[conditions], &[part], POLISH).pop()?;
        (reached.bound > CLEAR).then_some(reached)
    }
}

/// The row that puts a unit on one side of its kink.
fn side(free: &Free, unit: &Row, above: bool) -> Row {
    let sign = if above { 1.0 } else { -1.0 };
    Row {
        coefficients: unit.coefficients.iter().map(|a| sign * a).collect(),
        constant: sign * (unit.constant - free.kink),
    }
}

/// Sums as rows; none if time was up.
fn pull(
    ascent: &mut Ascent<'_>,
    sums: &[Condition],
    part: &Part,
    open: &[usize],
) -> Option<Vec<Row>> {
    let mut rows = Vec::with_capacity(sums.len());
    for chunk in sums.chunks(LANES) {
        if ascent.until.is_over() {
            return None;
        }
        let pulled = ascent.pulled(chunk, part, open).into_iter();
        rows.extend(pulled.map(|(coefficients, constant)| Row {
            coefficients,
            constant,
        }));
    }
    Some(rows)
}

/// Settles a part in which no unit is open.
pub(crate) fn decide(ascent: &mut Ascent<'_>, conditions: &[Condition], part: &Part) -> Solved {
    let Some(relaxed) = Relaxed::new(ascent, conditions, part) else {
        return Solved::Unknown;
    };
    let mut program = relaxed.root.clone();
    relaxed.solve(&mut program, ascent, conditions, part)
}

/// Refutes conditions over a part, or finds an input that meets them, by branch and bound on phases with
/// programs that follow from each other. None if a program is too large or lost in rounding.
pub(crate) fn refute(
    ascent: &mut Ascent<'_>,
    conditions: &[Condition],
    part: Part,
    effort: &Effort<'_>,
    confirm: &Confirm<'_>,
) -> Option<End> {
    let relaxed = Relaxed::new(ascent, conditions, &part)?;
    let given = part.phases.len();
    let mut tree = Growing::new();
    let mut nodes = effort.nodes_from(0);
    let mut stack = vec![Node {
        part,
        program: relaxed.root.clone(),
        at: 0,
    }];
    while let Some(mut node) = stack.pop() {
        if nodes >= effort.nodes || effort.is_over() {
            return Some(End::Open(f64::INFINITY));
        }
        nodes += 1;
        let (inputs, values) =
            match relaxed.solve(&mut node.program, ascent, conditions, &node.part) {
                Solved::Refuted(reached) => {
                    tree.close(node.at, leaf(ascent, &reached.part));
                    continue;
                }
                Solved::Point(inputs, values) => (inputs, values),
                Solved::Unknown => return None,
            };
        if let Some(input) = confirm(&inputs) {
            return Some(End::Witness(input));
        }
        let fixed = &node.part.phases[given..];
        let (at, above) = relaxed.furthest(ascent, fixed, &inputs, &values)?;
        let number = relaxed.open[at];
        let unit = ascent.program.units[ascent.free[number].unit];
        let halves = tree.split(node.at, Split::Phase(unit));
        // The side that the point is on comes first, which is last on the stack.
        for half in [!above, above] {
            let mut part = node.part.clone();
            part.phases.push((number as u32, half));
            part.multipliers.push(0.0);
            let mut program = node.program.clone();
            relaxed.fix(&mut program, ascent, at, half, part.phases.len() - 1);
            stack.push(Node {
                part,
                program,
                at: halves[usize::from(half)],
            });
        }
    }
    Some(End::Refuted(tree.finish()))
}

impl Relaxed {
    /// The open unit whose value is furthest from its curve at a point, and whether its input is above the
    /// kink there.
    fn furthest(
        &self,
        ascent: &Ascent<'_>,
        fixed: &[(u32, bool)],
        inputs: &[f64],
        values: &[f64],
    ) -> Option<(usize, bool)> {
        let mut furthest: Option<(f64, usize, bool)> = None;
        for (at, &number) in self.open.iter().enumerate() {
            if fixed.iter().any(|&(unit, _)| unit as usize == number) {
                continue;
            }
            let free = &ascent.free[number];
            let row = &self.units[at];
            let point = inputs.iter().chain(values);
            let terms = row.coefficients.iter().zip(point).map(|(a, x)| a * x);
            let input = terms.sum::<f64>() + row.constant;
            let above = input >= free.kink;
            let slope = if above { free.right } else { free.left };
            let off = (values[at] - (slope * input + free.cuts[usize::from(above)])).abs();
            if furthest.is_none_or(|(maximum, _, _)| off > maximum) {
                furthest = Some((off, at, above));
            }
        }
        furthest.map(|(_, at, above)| (at, above))
    }
}
