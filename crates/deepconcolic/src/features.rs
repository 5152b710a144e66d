//! Features that tests never change, and features that take whole numbers only: which they are, what that asks of a
//! run, and what is said of it.

use deepconcolic_campaign::Seeds;
use deepconcolic_dataset::Samples;
use deepconcolic_geometry::{Domain, SearchSpace, WholeNumbers};
use deepconcolic_network::Network;
use serde::{Deserialize, Serialize};

use crate::criterion::nearest;
use crate::error::Error;
use crate::job::Job;
use crate::settings::DataNames;

/// Features of a run that are not free, by their numbers among the values of an input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeatureSettings {
    /// Never changed: tests have the value of their seed.
    pub fixed: Vec<usize>,
    /// Whole numbers of the data's own unit.
    pub integer: Vec<usize>,
    /// What stored values are divided by before the model takes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divisor: Option<f32>,
}

impl FeatureSettings {
    /// Whether every feature is free.
    pub(crate) fn is_empty(&self) -> bool {
        self.fixed.is_empty() && self.integer.is_empty()
    }

    /// Those that a job asks for, of data and a model.
    pub(crate) fn of(job: &Job, data: &Samples, network: &Network) -> Result<Self, Error> {
        let names = data.dataset().feature_names().unwrap_or_default();
        let find = |option: &str, asked: &[String]| find_all(option, asked, names, data.features());
        let fixed = find("--fixed", &job.fixed)?;
        let integer = find("--integer", &job.integer)?;
        if fixed.len() == data.features() {
            return request("--fixed names every feature, which leaves nothing to search");
        }
        // What is computed inside the model, or joined from several arrays, has no unit of its own in the data.
        if !integer.is_empty() && (!data.parts().is_empty() || network.before().is_some()) {
            return request("--integer is for models with one input, tested from its beginning");
        }
        let divisor = data.preparation().divisor();
        Ok(Self {
            divisor: divisor.filter(|_| !integer.is_empty()),
            fixed,
            integer,
        })
    }

    /// Refuses fixed features where tests belong to no seed.
    pub(crate) fn fit_region(&self, job: &Job, radius: Option<f64>) -> Result<(), Error> {
        if self.fixed.is_empty() || radius.is_some() {
            return Ok(());
        }
        if job.region.is_some() {
            return request(
                "--fixed does not go with --region, whose boxes belong to no seed; give the feature one value in each \
                 box instead",
            );
        }
        request(
            "--fixed needs a radius: without one, tests belong to no seed whose value could be kept; --norm linf \
             --radius 1 reaches all of the domain",
        )
    }

    /// Refuses whole numbers that single precision does not have, and seeds that are none.
    pub(crate) fn fit_data(
        &self,
        seeds: &Seeds,
        domain: &Domain,
        names: &DataNames,
    ) -> Result<(), Error> {
        let divisor = self.divisor.unwrap_or(1.0);
        for &feature in &self.integer {
            let ends = [domain.lower()[feature], domain.upper()[feature]];
            if ends
                .iter()
                .any(|end| end.abs() * divisor > WholeNumbers::LARGEST)
            {
                return Err(Error::Request(format!(
                    "--integer {}: its values reach {} and {}; beyond {} single precision has no neighbouring whole \
                     numbers",
                    names.feature(feature),
                    ends[0] * divisor,
                    ends[1] * divisor,
                    WholeNumbers::LARGEST
                )));
            }
            self.are_whole(feature, seeds, names)?;
        }
        Ok(())
    }

    fn are_whole(&self, feature: usize, seeds: &Seeds, names: &DataNames) -> Result<(), Error> {
        let divisor = self.divisor.unwrap_or(1.0);
        for (number, seed) in seeds.iter().enumerate() {
            let stored = (f64::from(seed[feature]) * f64::from(divisor)).round();
            if (stored as f32 / divisor).to_bits() != (seed[feature] + 0.0).to_bits() {
                return Err(Error::Request(format!(
                    "--integer {}: sample {} has {}, which is no whole number; leave the feature out, or give data in \
                     the unit that is counted",
                    names.feature(feature),
                    seeds.index(number),
                    seed[feature] * divisor
                )));
            }
        }
        Ok(())
    }

    /// Keeps tests to them.
    pub(crate) fn restrict(&self, space: &mut SearchSpace) {
        space.fix(&self.fixed);
        if !self.integer.is_empty() {
            let elements = space.domain.lower().len();
            let divisor = self.divisor.unwrap_or(1.0);
            space.whole = Some(WholeNumbers::new(elements, &self.integer, divisor));
        }
    }

    /// Which they are, in words; empty if every feature is free.
    pub fn words(&self, names: &DataNames) -> String {
        let list = |features: &[usize]| {
            let named = features.iter().map(|&feature| names.feature(feature));
            named.collect::<Vec<_>>().join(", ")
        };
        let mut parts = Vec::new();
        if !self.fixed.is_empty() {
            parts.push(format!("fixed at the seed's value: {}", list(&self.fixed)));
        }
        if !self.integer.is_empty() {
            parts.push(format!("whole numbers: {}", list(&self.integer)));
        }
        parts.join("; ")
    }

    /// What proofs say of them, for an assessor: a sentence with a space before it, or nothing.
    pub fn proof_note(&self) -> &'static str {
        if self.integer.is_empty() {
            return "";
        }
        " Features that take whole numbers are proven over every value between them as well, which holds of the whole \
         numbers all the more."
    }
}

fn request<T>(message: &str) -> Result<T, Error> {
    Err(Error::Request(message.to_owned()))
}

/// Features by name or number, ascending and each once.
fn find_all(
    option: &str,
    asked: &[String],
    names: &[String],
    features: usize,
) -> Result<Vec<usize>, Error> {
    let mut found = Vec::new();
    for name in asked {
        found.push(find(option, name.trim(), names, features)?);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// A name is a name before it is a number: tables may have columns that are called so.
fn find(option: &str, name: &str, names: &[String], features: usize) -> Result<usize, Error> {
    if let Some(feature) = names.iter().position(|known| known == name) {
        return Ok(feature);
    }
    if let Some(feature) = name
        .parse()
        .ok()
        .filter(|&number: &usize| number < features)
    {
        return Ok(feature);
    }
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let meant = match nearest(name, &known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; their names are {}", known.join(", ")),
    };
    Err(Error::Request(format!(
        "{option} {name}: there is no such feature; inputs have {features}, numbered from 0{meant}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_found_by_name_before_it_is_found_by_number() {
        let names = ["age", "sex", "0"].map(String::from);
        let asked = ["sex", " age", "0", "1"].map(String::from);
        assert_eq!(find_all("--fixed", &asked, &names, 3).unwrap(), [0, 1, 2]);
        assert_eq!(find("--fixed", "0", &names, 3).unwrap(), 2);
        assert_eq!(find("--fixed", "0", &[], 3).unwrap(), 0);
    }

    #[test]
    fn an_unknown_feature_is_refused_with_what_there_is() {
        let names = ["age", "sex"].map(String::from);
        let refused = find("--integer", "agge", &names, 2)
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("--integer agge") && refused.contains("`age`"),
            "{refused}"
        );
        let refused = find("--integer", "7", &[], 2).unwrap_err().to_string();
        assert!(
            refused.contains("inputs have 2, numbered from 0"),
            "{refused}"
        );
    }
}
