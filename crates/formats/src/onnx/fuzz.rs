//! Properties of hostile input: whatever the bytes, decoding ends without a panic.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use prost::Message;

use super::fixtures::mlp;
use super::model::Model;

/// Decodes and, when that works, touches everything a caller may ask for.
fn exercise(bytes: Vec<u8>) {
    match Model::decode(Bytes::from(bytes), None) {
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        Ok(model) => {
            for array in model.graph.initializers.values() {
                let elements = array.len();
                if let Ok(values) = array.to_f64() {
                    assert_eq!(values.len(), elements);
                }
                let _ = (array.to_f32(), array.to_i64(), array.scalar());
            }
            for node in &model.graph.nodes {
                assert!(!node.label().is_empty());
                for name in node.attributes.names() {
                    let _ = (node.int(name), node.tensor(name), node.strings(name));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..600)) {
        exercise(bytes);
    }

    #[test]
    fn a_truncated_model_never_panics(end in any::<Index>()) {
        let mut bytes = mlp().encode_to_vec();
        bytes.truncate(end.index(bytes.len()));
        exercise(bytes);
    }

    #[test]
    fn a_mutated_model_never_panics(changes in vec((any::<Index>(), any::<u8>()), 1..8)) {
        let mut bytes = mlp().encode_to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        exercise(bytes);
    }

    #[test]
    fn a_model_with_bytes_moved_never_panics(
        from in any::<Index>(),
        to in any::<Index>(),
        length in 1_usize..40,
    ) {
        let mut bytes = mlp().encode_to_vec();
        let from = from.index(bytes.len());
        let piece: Vec<u8> = bytes.drain(from..bytes.len().min(from + length)).collect();
        let to = to.index(bytes.len());
        bytes.splice(to..to, piece);
        exercise(bytes);
    }
}

#[test]
fn the_unharmed_model_decodes() {
    exercise(mlp().encode_to_vec());
    assert!(Model::decode(mlp().encode_to_vec().into(), None).is_ok());
}
