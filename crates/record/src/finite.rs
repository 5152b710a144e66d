//! Numbers of JSON files. JSON has no infinity and no NaN, and a `null` in place of a number makes a file
//! that cannot be read again; so what is not finite is refused when it is written, by name.

use serde::ser::{Error, SerializeSeq};
use serde::{Serialize, Serializer};

fn refuse<E: Error>(value: f64) -> E {
    E::custom(format!("a figure is {value}, which no JSON file can hold"))
}

/// A number that must be finite.
pub fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else {
        Err(refuse(*value))
    }
}

/// A number that must be finite if it is there.
pub fn option<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => number(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Numbers that must all be finite.
pub fn list<S, T>(values: &[T], serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Serialize + Copy + Into<f64>,
{
    let mut list = serializer.serialize_seq(Some(values.len()))?;
    for value in values {
        let wide: f64 = (*value).into();
        if !wide.is_finite() {
            return Err(refuse(wide));
        }
        list.serialize_element(value)?;
    }
    list.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Figures {
        #[serde(serialize_with = "number")]
        one: f64,
        #[serde(serialize_with = "option")]
        maybe: Option<f64>,
        #[serde(serialize_with = "list")]
        many: Vec<f32>,
    }

    #[test]
    fn no_null_stands_for_a_number() {
        let sound = Figures {
            one: 1.0,
            maybe: None,
            many: vec![0.1],
        };
        let text = serde_json::to_string(&sound).unwrap();
        assert_eq!(text, r#"{"one":1.0,"maybe":null,"many":[0.1]}"#);
        for (one, maybe, many) in [
            (f64::NAN, None, 0.0),
            (0.0, Some(f64::INFINITY), 0.0),
            (0.0, None, f32::NEG_INFINITY),
        ] {
            let many = vec![many];
            let refused = serde_json::to_string(&Figures { one, maybe, many });
            assert!(refused.is_err());
        }
    }
}
