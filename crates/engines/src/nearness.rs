//! Which seeds to start from for a pair of neurons: those at which both are nearest to zero.

use deepconcolic_network::{Network, Pass, Point};

use crate::budget::Effort;

/// Inputs run at a time.
const BATCH: usize = 64;

/// |u| of some neurons of two layers at every seed, each neuron in units of its own mean.
pub(crate) struct Nearness {
    conditions: Table,
    decisions: Table,
    seeds: usize,
}

/// One row of numbers per neuron, one number per seed.
struct Table {
    /// In ascending order.
    neurons: Vec<usize>,
    sizes: Vec<f32>,
}

impl Nearness {
    /// Runs the seeds and looks at these neurons of hidden layers `before` and `layer`.
    pub fn measure(
        network: &Network,
        seeds: &[&[f32]],
        (before, conditions): (usize, Vec<usize>),
        (layer, decisions): (usize, Vec<usize>),
        effort: &mut Effort,
    ) -> Self {
        let points = [Point::Pre(before), Point::Pre(layer)];
        let mut tables = [conditions, decisions].map(|neurons| Table {
            sizes: vec![0.0; neurons.len() * seeds.len()],
            neurons,
        });
        let pass = Pass::keep(points);
        for (batch, inputs) in seeds.chunks(BATCH).enumerate() {
            effort.forward += inputs.len();
            let trace = network.forward(&inputs.concat(), &pass);
            for (table, point) in tables.iter_mut().zip(points) {
                for sample in 0..inputs.len() {
                    let u = trace.sample(point, sample);
                    for (row, &neuron) in table.neurons.iter().enumerate() {
                        let at = row * seeds.len() + batch * BATCH + sample;
                        table.sizes[at] = u[neuron].abs();
                    }
                }
            }
        }
        for table in &mut tables {
            for row in table.sizes.chunks_exact_mut(seeds.len().max(1)) {
                let mean = row.iter().sum::<f32>() / row.len() as f32;
                for size in row {
                    *size /= mean.max(f32::MIN_POSITIVE);
                }
            }
        }
        let [conditions, decisions] = tables;
        Self {
            conditions,
            decisions,
            seeds: seeds.len(),
        }
    }

    /// The nearest seeds for a pair, by the further of its two neurons.
    pub fn seeds_for(&self, condition: usize, decision: usize, maximum: usize) -> Vec<usize> {
        let (Some(one), Some(other)) = (
            self.conditions.row(condition, self.seeds),
            self.decisions.row(decision, self.seeds),
        ) else {
            return Vec::new();
        };
        let further = |&seed: &usize| one[seed].max(other[seed]);
        let order = |a: &usize, b: &usize| further(a).total_cmp(&further(b)).then(a.cmp(b));
        let mut seeds: Vec<usize> = (0..self.seeds).collect();
        if maximum < seeds.len() {
            seeds.select_nth_unstable_by(maximum, order);
            seeds.truncate(maximum);
        }
        seeds.sort_unstable_by(order);
        seeds
    }

    /// Seeds by how near all these neurons are to zero together, the nearest first.
    pub fn central(&self, conditions: &[usize], decisions: &[usize]) -> Vec<usize> {
        let mut sums = vec![0f64; self.seeds];
        let rows = conditions
            .iter()
            .filter_map(|&n| self.conditions.row(n, self.seeds))
            .chain(
                decisions
                    .iter()
                    .filter_map(|&n| self.decisions.row(n, self.seeds)),
            );
        for row in rows {
            for (sum, &size) in sums.iter_mut().zip(row) {
                // Far is far: one neuron out of reach should not outweigh many within.
                *sum += f64::from(size.min(1.0));
            }
        }
        let mut order: Vec<usize> = (0..self.seeds).collect();
        order.sort_by(|&a, &b| sums[a].total_cmp(&sums[b]));
        order
    }
}

impl Table {
    fn row(&self, neuron: usize, seeds: usize) -> Option<&[f32]> {
        let row = self.neurons.binary_search(&neuron).ok()?;
        Some(&self.sizes[row * seeds..(row + 1) * seeds])
    }
}
