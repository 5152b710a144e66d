//! A network with its first correctly classified images, and the scale of its layers.

use deepconcolic_campaign::Inputs;
use deepconcolic_criteria::Decision;
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_network::{Network, Pass, Point};

use crate::coverage::Subject;
use crate::error::BenchError;
use crate::shelf::Shelf;

/// Images that means are taken over.
const MEASURED: usize = 100;

/// A network and seeds.
pub struct Seeds {
    pub subject: Subject,
    pub inputs: Vec<Vec<f32>>,
    /// Mean |u| of layers 1, 2, ...
    pub means: Vec<f64>,
}

impl Seeds {
    /// The first so many images that the network classifies correctly.
    pub fn load(shelf: &Shelf, name: &str, count: usize) -> Result<Self, BenchError> {
        let subject = Subject::load(shelf, name)?;
        let images = subject.images(0..subject.len());
        let decision = Decision::shown(&subject.network);
        let each = subject.network.input_elements();
        let values = images.values();
        let logits = subject.network.logits(&values);
        let right = |(index, scores): (usize, &[f32])| {
            let truth = images.truth(index)?;
            let right = decision.agrees(&decision.predict(scores), &truth);
            right.then_some(index)
        };
        let classes = subject.network.elements(Point::Logits);
        let inputs: Vec<Vec<f32>> = logits
            .chunks_exact(classes)
            .enumerate()
            .filter_map(right)
            .take(count)
            .map(|index| values[index * each..(index + 1) * each].to_vec())
            .collect();
        let means = means(&subject.network, &inputs[..MEASURED.min(inputs.len())]);
        Ok(Self {
            subject,
            inputs,
            means,
        })
    }

    /// One image of the data.
    pub fn image(&self, index: usize) -> Vec<f32> {
        self.subject.images(index..index + 1).values()
    }

    /// The unit box, within a radius of seeds.
    pub fn space(&self, radius: f64) -> Result<SearchSpace, BenchError> {
        let domain = Domain::uniform(self.subject.network.input_elements(), 0.0, 1.0);
        let domain = domain.map_err(|reason| BenchError::Criterion {
            name: "domain".into(),
            reason,
        })?;
        let extent = Extent::Balls(radius);
        Ok(SearchSpace::of(domain, Pixels::Single, Norm::LINF, extent))
    }
}

/// Mean |u| by layer, the input first and the logits last.
fn means(network: &Network, inputs: &[Vec<f32>]) -> Vec<f64> {
    let mut points = vec![Point::Input];
    points.extend((0..network.layers().len()).map(Point::Pre));
    points.push(Point::Logits);
    let trace = network.forward(&inputs.concat(), &Pass::keep(points.iter().copied()));
    let mean = |point: &Point| {
        let values = trace.get(*point);
        values.iter().map(|u| f64::from(u.abs())).sum::<f64>() / values.len().max(1) as f64
    };
    points.iter().map(mean).collect()
}
