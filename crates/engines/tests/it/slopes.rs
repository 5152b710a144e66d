//! Engines for ratios against slow references: gradients sampled densely, and the paper's compass search written
//! down one execution at a time.

use deepconcolic_criteria::{Ball, Objective, Ratio, Region};
use deepconcolic_engines::{Budget, Goal, Margin, Origin, Report, named};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_network::ops::Dense;
use deepconcolic_network::{Network, NetworkBuilder, Pass, Point, Row, Shape};
use deepconcolic_testing::Random;

use crate::mlp::Mlp;

const NORMS: [Norm; 3] = [Norm::LINF, Norm::L1, Norm::L2];

fn ratio(network: &Network, region: Region, outputs: usize, norm: Norm) -> Ratio {
    Ratio {
        region,
        outputs: (0..outputs).collect(),
        layer: network.layers().len() + 2,
        norm,
        constant: None,
    }
}

fn search(
    engine: &str,
    network: &Network,
    space: &SearchSpace,
    root: &[f32],
    ratio: &Ratio,
) -> Report {
    let objective = Objective::Ratio(ratio.clone());
    let goal = Goal {
        network,
        objectives: &[std::slice::from_ref(&objective)],
        origins: &[Origin::seed(&root)],
        space,
        means: &[],
        margin: Margin::default(),
        rng_seed: 7,
    };
    named(engine).unwrap().search(&goal, &Budget::default())
}

/// The two tests of the one witness.
fn pair(report: &Report) -> [Vec<f32>; 2] {
    let (found, witness) = report.witness().expect("a pair");
    let inputs = found.inputs(witness);
    [inputs[0].to_vec(), inputs[1].to_vec()]
}

fn outputs(network: &Network, x: &[f64]) -> Vec<f64> {
    network
        .forward(x, &Pass::keep([Point::Logits]))
        .get(Point::Logits)
        .to_vec()
}

fn length(norm: Norm, values: &[f64]) -> f64 {
    match norm.name() {
        "linf" => values.iter().fold(0.0, |m, v| m.max(v.abs())),
        "l1" => values.iter().map(|v| v.abs()).sum(),
        _ => values.iter().map(|v| v * v).sum::<f64>().sqrt(),
    }
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&v| f64::from(v)).collect()
}

/// The ratio of two inputs, in double precision.
fn slope(network: &Network, ratio: &Ratio, [a, b]: &[Vec<f32>; 2]) -> f64 {
    let (a, b) = (wide(a), wide(b));
    let (ya, yb) = (outputs(network, &a), outputs(network, &b));
    let change: Vec<f64> = ratio.outputs.iter().map(|&o| ya[o] - yb[o]).collect();
    let moved: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    length(ratio.norm, &change) / length(ratio.norm, &moved)
}

/// The most that the outputs can change for a unit of input at a point, to first order: the operator norm of the
/// Jacobian from the ratio's norm to itself.
fn steepness(network: &Network, ratio: &Ratio, points: &[f64]) -> f64 {
    let n = network.input_elements();
    let pass = Pass::keep([Point::Logits]).differentiating([Point::Logits]);
    let trace = network.forward(points, &pass);
    let mut best: f64 = 0.0;
    for sample in 0..trace.samples() {
        let rows: Vec<Row<f64>> = ratio
            .outputs
            .iter()
            .map(|&o| Row::of(sample, Point::Logits, o))
            .collect();
        let jacobian = network.vjp(trace.tape().unwrap(), &rows);
        let rows: Vec<&[f64]> = jacobian.chunks_exact(n).collect();
        best = best.max(match ratio.norm.name() {
            "linf" => rows
                .iter()
                .map(|row| length(Norm::L1, row))
                .fold(0.0, f64::max),
            "l1" => (0..n)
                .map(|e| rows.iter().map(|row| row[e].abs()).sum())
                .fold(0.0, f64::max),
            _ => spectral(&rows),
        });
    }
    best
}

/// The largest singular value, by power iteration.
fn spectral(rows: &[&[f64]]) -> f64 {
    let mut v: Vec<f64> = (0..rows[0].len()).map(|e| 1.0 + 0.1 * e as f64).collect();
    let mut size = 0.0;
    for _ in 0..300 {
        let u: Vec<f64> = rows
            .iter()
            .map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum())
            .collect();
        let back = |e: usize| rows.iter().zip(&u).map(|(row, u)| row[e] * u).sum::<f64>();
        let next: Vec<f64> = (0..v.len()).map(back).collect();
        let norm = length(Norm::L2, &next);
        if norm == 0.0 {
            return 0.0;
        }
        size = norm.sqrt();
        v = next.into_iter().map(|x| x / norm).collect();
    }
    // One more product with a vector of length one gives the value itself.
    let u: Vec<f64> = rows
        .iter()
        .map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum())
        .collect();
    size.max(length(Norm::L2, &u))
}

/// Points drawn evenly from a box.
fn dense(random: &mut Random, low: &[f32], high: &[f32], count: usize) -> Vec<f64> {
    let mut points = Vec::with_capacity(count * low.len());
    for _ in 0..count {
        points.extend(
            low.iter()
                .zip(high)
                .map(|(&l, &h)| random.between(l.into(), h.into())),
        );
    }
    points
}

#[test]
fn gradient_ascent_reaches_the_largest_steepness_that_dense_sampling_sees() {
    let (mut cases, mut reached, mut missed) = (0, 0, Vec::new());
    for seed in 0..24 {
        let mlp = Mlp::random(seed);
        if mlp.inputs() > 4 {
            continue;
        }
        let network = mlp.network();
        let n = mlp.inputs();
        let mut random = Random::new(seed);
        let root: Vec<f32> = random.list(n, 0.0, 1.0).iter().map(|x| *x as f32).collect();
        let domain = Domain::uniform(n, 0.0, 1.0).unwrap();
        let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Balls(0.3));
        let (low, high): (Vec<f32>, Vec<f32>) = root
            .iter()
            .map(|x| ((x - 0.3).max(0.0), (x + 0.3).min(1.0)))
            .unzip();
        for norm in NORMS {
            for count in [1, 3] {
                let ball = Ball {
                    centre: root.clone(),
                    radius: 0.3,
                    norm: Norm::LINF,
                };
                let ratio = ratio(&network, Region::Ball(ball), count, norm);
                let sampled = steepness(&network, &ratio, &dense(&mut random, &low, &high, 20_000));
                if sampled == 0.0 {
                    continue;
                }
                let report = search("gradient", &network, &space, &root, &ratio);
                let pair = pair(&report);
                let found = slope(&network, &ratio, &pair);
                // Between two points the output cannot change more than its steepest place allows; what lies
                // between them may have been missed by the sample.
                let between: Vec<f64> = (0..=2000)
                    .flat_map(|k| {
                        let part = f64::from(k) / 2000.0;
                        let ends = wide(&pair[0]).into_iter().zip(wide(&pair[1]));
                        ends.map(move |(a, b)| a + part * (b - a))
                            .collect::<Vec<_>>()
                    })
                    .collect();
                let largest = sampled.max(steepness(&network, &ratio, &between));
                assert!(
                    found <= largest * (1.0 + 1e-6) + 1e-9,
                    "{seed} {norm} {found} {largest}"
                );
                assert!(pair.iter().flatten().all(|x| x.is_finite()));
                cases += 1;
                if found >= 0.99 * sampled {
                    reached += 1;
                } else {
                    missed.push(format!("{seed} {norm} {count}: {:.3}", found / sampled));
                }
            }
        }
    }
    assert!(cases > 40, "{cases}");
    assert!(
        reached * 10 >= cases * 9,
        "{reached} of {cases}: {missed:?}"
    );
}

#[test]
fn no_face_of_the_domain_costs_steepness() {
    // One linear output: the largest ratio is the dual norm of its weights everywhere, also in a corner.
    let weights = vec![3.0, -1.0, 0.5, 2.0];
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 4]).unwrap());
    let y = builder
        .add(
            Dense::new(4, 1, weights.clone(), vec![0.25]).unwrap(),
            &[x],
            "dense",
        )
        .unwrap();
    let network = builder.finish(&[("y", y)], 0).unwrap();
    let domain = Domain::uniform(4, 0.0, 1.0).unwrap();
    for (grid, least) in [(None, 0.999), (Some(255), 0.95)] {
        for root in [
            [0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 1.0, 0.0],
            [0.5, 1.0, 0.0, 0.02],
        ] {
            for norm in NORMS {
                for around in NORMS {
                    let radius = 0.1;
                    let mut space = SearchSpace::of(
                        domain.clone(),
                        Pixels::Single,
                        around,
                        Extent::Balls(radius),
                    );
                    space.grid = grid;
                    let ball = Ball {
                        centre: root.to_vec(),
                        radius,
                        norm: around,
                    };
                    let ratio = ratio(&network, Region::Ball(ball), 1, norm);
                    let report = search("gradient", &network, &space, &root, &ratio);
                    let pair = pair(&report);
                    let found = slope(&network, &ratio, &pair);
                    let dual = match norm.name() {
                        "linf" => Norm::L1,
                        "l1" => Norm::LINF,
                        _ => norm,
                    };
                    let largest = length(dual, &weights);
                    let what =
                        format!("{root:?} {norm} in {around}, grid {grid:?}: {found} of {largest}");
                    assert!(found <= largest * (1.0 + 1e-6), "{what}");
                    assert!(found >= least * largest, "{what}");
                    for test in &pair {
                        assert_eq!(space.violation(test, &root), None, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_box_of_its_own_is_kept_to() {
    let network = Mlp::random(3).network();
    let n = network.input_elements();
    let (lower, upper) = (vec![0.2; n], vec![0.3; n]);
    let boxes = vec![(lower.clone(), upper.clone())];
    let domain = Domain::uniform(n, 0.0, 1.0).unwrap();
    let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Boxes(boxes));
    let root = vec![0.9; n];
    let ratio = ratio(&network, Region::Box { lower, upper }, 3, Norm::L2);
    for engine in ["gradient", "compass", "random"] {
        let pair = pair(&search(engine, &network, &space, &root, &ratio));
        let inside = |x: &f32| (0.2..=0.3).contains(&f64::from(*x));
        assert!(pair.iter().flatten().all(inside), "{engine} {pair:?}");
    }
}

/// The paper's search as its text has it, one execution at a time.
struct Literal<'a> {
    network: &'a Network,
    ratio: &'a Ratio,
    best: Option<([Vec<f32>; 2], f64)>,
}

impl Literal<'_> {
    fn outputs(&self, x: &[f32]) -> Vec<f64> {
        let trace = self.network.forward(x, &Pass::keep([Point::Logits]));
        let logits = trace.get(Point::Logits);
        self.ratio
            .outputs
            .iter()
            .map(|&o| f64::from(logits[o]))
            .collect()
    }

    fn apart(&self, a: &[f32], b: &[f32]) -> f64 {
        let (a, b) = (self.outputs(a), self.outputs(b));
        let change: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        length(self.ratio.norm, &change)
    }

    /// Lip(a, b), less what rounding may add; the largest is remembered.
    fn lip(&mut self, a: &[f32], b: &[f32]) -> f64 {
        let noise = 1e-5
            * length(self.ratio.norm, &self.outputs(a))
                .max(length(self.ratio.norm, &self.outputs(b)));
        let moved: Vec<f64> = wide(a).iter().zip(wide(b)).map(|(a, b)| a - b).collect();
        let ratio = (self.apart(a, b) - noise) / length(self.ratio.norm, &moved);
        if ratio.is_finite() && ratio > self.best.as_ref().map_or(0.0, |(_, known)| *known) {
            self.best = Some(([a.to_vec(), b.to_vec()], ratio));
        }
        if ratio.is_finite() { ratio } else { 0.0 }
    }

    /// Compass search from `t0` for the input whose output is furthest from that of `fixed`.
    fn compass(&mut self, fixed: &[f32], t0: &[f32]) -> Vec<f32> {
        let mut t = t0.to_vec();
        let mut step = 0.5;
        let (mut element, mut failures) = (0, 0);
        while step >= 0.0039 / 2.0 {
            let poll = |side: f64| {
                let mut p = t.clone();
                p[element] = ((f64::from(p[element]) + side * step) as f32).clamp(0.0, 1.0);
                p
            };
            let (up, down) = (poll(1.0), poll(-1.0));
            let better = if self.apart(&down, fixed) > self.apart(&up, fixed) {
                down
            } else {
                up
            };
            if self.apart(&better, fixed) > self.apart(&t, fixed) {
                t = better;
                self.lip(fixed, &t);
                step = f64::min(2.0 * step, 1.0);
                failures = 0;
            } else {
                failures += 1;
                if failures == t.len() {
                    step *= 0.5;
                    failures = 0;
                }
            }
            element = (element + 1) % t.len();
        }
        t
    }

    fn run(&mut self, t0: &[f32]) {
        let mut t1 = self.compass(t0, t0);
        let mut before = 0.0;
        loop {
            let t2 = self.compass(&t1, t0);
            let now = self.lip(&t1, &t2);
            if now <= before {
                return;
            }
            before = now;
            t1 = t2;
        }
    }
}

#[test]
fn batched_compass_search_is_the_papers() {
    let mut compared = 0;
    for seed in 0..12 {
        let mlp = Mlp::random(seed);
        let network = mlp.network();
        let n = mlp.inputs();
        let list = Random::new(seed).list(n, 0.0, 1.0);
        let root: Vec<f32> = list.iter().map(|x| *x as f32).collect();
        let domain = Domain::uniform(n, 0.0, 1.0).unwrap();
        let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Domain);
        for norm in NORMS {
            let ratio = ratio(&network, Region::Domain, 1 + seed as usize % 3, norm);
            let mut literal = Literal {
                network: &network,
                ratio: &ratio,
                best: None,
            };
            literal.run(&root);
            let report = search("compass", &network, &space, &root, &ratio);
            let Some((tests, _)) = literal.best else {
                assert!(report.witness().is_none());
                continue;
            };
            assert_eq!(pair(&report), tests, "{seed} {norm}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn a_search_ends_at_the_first_pair_beyond_the_constant() {
    let network = Mlp::random(5).network();
    let n = network.input_elements();
    let domain = Domain::uniform(n, 0.0, 1.0).unwrap();
    let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Domain);
    let root = vec![0.4; n];
    for engine in ["gradient", "compass", "random"] {
        let mut ratio = ratio(&network, Region::Domain, 3, Norm::L2);
        let all = search(engine, &network, &space, &root, &ratio);
        let largest = slope(&network, &ratio, &pair(&all));
        ratio.constant = Some(largest * 0.3);
        let some = search(engine, &network, &space, &root, &ratio);
        assert!(
            slope(&network, &ratio, &pair(&some)) > largest * 0.3,
            "{engine}"
        );
        assert!(some.effort.passes() <= all.effort.passes(), "{engine}");
        ratio.constant = Some(largest * 10.0);
        let none = search(engine, &network, &space, &root, &ratio);
        assert!(none.found.is_empty() && none.reason.is_some(), "{engine}");
        let steepest = none
            .steepest
            .expect("the steepest pair is told all the same");
        let tests: [Vec<f32>; 2] = steepest.tests.try_into().unwrap();
        assert!(
            slope(&network, &ratio, &tests) >= 0.99 * largest,
            "{engine}"
        );
    }
}
