//! Which versions of the operators a file may use.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::error::OnnxError;
use super::node::Node;
use super::proto::OperatorSetIdProto;

/// Operator set 7 brought numpy-style broadcasting; before it, Add and Gemm mean
/// something else.
pub const OPSET_OLDEST: i64 = 7;

/// Read from the specification's change log: for the operators that appear in
/// feed-forward networks, sets 22 to 25 add element types (bfloat16, packed floats and
/// integers) and optional attributes for those types (`round_mode` of Cast,
/// `output_dtype` of `DequantizeLinear`, `precision` of `QuantizeLinear`), and spell
/// out that a `ceil_mode` pooling window starting in the right padding is dropped,
/// which onnxruntime does for older sets too. Sets 26 to 28 add operators and element types, a
/// `mode` of `SpaceToDepth` and a `stash_type` of Range for 16-bit floats. Later sets are refused.
pub const OPSET_NEWEST: i64 = 28;

/// The standard domain has two names; the empty one is used throughout.
pub(super) fn normal_domain(domain: String) -> String {
    match domain.as_str() {
        "ai.onnx" => String::new(),
        _ => domain,
    }
}

/// The imports of a model: one version for each domain, the standard one supported.
pub(super) fn imports(protos: Vec<OperatorSetIdProto>) -> Result<Vec<(String, i64)>, OnnxError> {
    let mut versions = BTreeMap::new();
    for proto in protos {
        let domain = normal_domain(proto.domain.unwrap_or_default());
        let version = proto.version.unwrap_or_default();
        match versions.entry(domain) {
            Entry::Vacant(entry) => {
                entry.insert(version);
            }
            Entry::Occupied(entry) if *entry.get() == version => {}
            Entry::Occupied(entry) => {
                return Err(OnnxError::OpsetConflict {
                    domain: entry.key().clone(),
                    first: *entry.get(),
                    second: version,
                });
            }
        }
    }
    if let Some(&version) = versions.get("") {
        check_standard(version)?;
    }
    Ok(versions.into_iter().collect())
}

fn check_standard(version: i64) -> Result<(), OnnxError> {
    if version < OPSET_OLDEST {
        return Err(OnnxError::OpsetTooOld { version });
    }
    if version > OPSET_NEWEST {
        return Err(OnnxError::OpsetTooNew { version });
    }
    Ok(())
}

/// A model without standard operators (some tree ensembles) need not import any; then
/// its own operators are what must be talked about, not the missing version.
pub(super) fn check_standard_is_imported(
    opsets: &[(String, i64)],
    nodes: &[Node],
) -> Result<(), OnnxError> {
    let imported = opsets.iter().any(|(domain, _)| domain.is_empty());
    let used = nodes.iter().any(|node| node.domain.is_empty());
    if used && !imported {
        return Err(OnnxError::OpsetMissing);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::opset;
    use super::{Node, OPSET_NEWEST, OPSET_OLDEST, OnnxError, check_standard_is_imported, imports};

    #[test]
    fn every_version_from_oldest_to_newest_is_accepted() {
        for version in OPSET_OLDEST..=OPSET_NEWEST {
            assert!(imports(vec![opset("", version)]).is_ok());
        }
    }

    #[test]
    fn others_are_refused_with_the_way_out() {
        let message = |version| imports(vec![opset("", version)]).unwrap_err().to_string();
        for version in [i64::MIN, 0, 6] {
            assert!(message(version).ends_with("re-export with opset >= 7"));
        }
        for version in [OPSET_NEWEST + 1, 9999, i64::MAX] {
            assert!(message(version).ends_with("re-export with opset <= 28"));
        }
    }

    #[test]
    fn other_domains_may_have_any_version() {
        let opsets = imports(vec![opset("ai.onnx.ml", 1), opset("ai.onnx", 13)]).unwrap();
        assert_eq!(opsets, [(String::new(), 13), ("ai.onnx.ml".into(), 1)]);
    }

    #[test]
    fn a_domain_has_one_version() {
        assert!(imports(vec![opset("", 13), opset("ai.onnx", 13)]).is_ok());
        let fault = imports(vec![opset("", 13), opset("ai.onnx", 14)]);
        assert!(matches!(fault, Err(OnnxError::OpsetConflict { .. })));
    }

    #[test]
    fn the_standard_version_may_be_missing_only_when_unused() {
        let custom = Node {
            domain: "com.acme".into(),
            ..Node::default()
        };
        assert!(check_standard_is_imported(&[], &[custom]).is_ok());
        let fault = check_standard_is_imported(&[], &[Node::default()]);
        assert!(matches!(fault, Err(OnnxError::OpsetMissing)));
    }
}
