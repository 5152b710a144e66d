//! A whole model file: opening it, and what it says about itself.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use prost::Message;

use super::error::OnnxError;
use super::external::ExternalFiles;
use super::foreign;
use super::graph::Graph;
use super::node::Node;
use super::opset::{self, OPSET_NEWEST};
use super::proto::{self, FunctionProto, ModelProto};
use crate::until::LoadUntil;

/// Protobuf's own limit on one message; larger models keep weights beside the file.
const LARGEST_FILE: u64 = 2 << 30;
/// Bytes that are read between two looks at the clock.
const STRETCH: u64 = 1 << 24;

/// A decoded and checked ONNX model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Version of the file format. Not checked: what it changes is checked itself.
    pub ir_version: i64,
    /// The exporter, such as `pytorch`; empty when unsaid.
    pub producer: String,
    /// Versions of the operators by domain, sorted; the standard domain is empty.
    pub opsets: Vec<(String, i64)>,
    /// Domain and name of each function the model defines for itself.
    pub functions: Vec<(String, String)>,
    /// The functions themselves, decoded when they are called.
    bodies: Vec<Bytes>,
    /// The network.
    pub graph: Graph,
    /// SHA-256, in hex, of the model's bytes followed by those of its weight files, if any, in the
    /// order in which the model first refers to them.
    pub sha256: String,
}

impl Model {
    /// Reads a model, and its weights when they are in files beside it.
    pub fn open(path: &Path) -> Result<Self, OnnxError> {
        Self::open_until(path, &LoadUntil::default())
    }

    /// The same, unless that must end before.
    pub fn open_until(path: &Path, until: &LoadUntil) -> Result<Self, OnnxError> {
        let in_file = |fault| OnnxError::InFile {
            path: path.to_owned(),
            fault: Box::new(fault),
        };
        let bytes = read(path, until).map_err(in_file)?;
        // Not the folder a link to the model points into: weights lie where the user
        // sees the model.
        let model = Self::decode(bytes, path.parent()).map_err(in_file)?;
        OnnxError::unless_over(until).map_err(in_file)?;
        Ok(model)
    }

    /// Decodes a model; `folder` is where its weights may be, if in other files.
    pub fn decode(bytes: Bytes, folder: Option<&Path>) -> Result<Self, OnnxError> {
        let head = foreign::head(&bytes);
        let mut files = ExternalFiles::of_model(&bytes, folder);
        let proto = ModelProto::decode(bytes)
            .map_err(|error| foreign::refuse(&head, proto::reason(&error)))?;
        let graph = proto
            .graph
            .ok_or_else(|| foreign::refuse(&head, "it holds no graph".to_owned()))?;
        let opsets = opset::imports(proto.opset_import)?;
        let bodies = proto.functions.clone();
        let functions = proto
            .functions
            .into_iter()
            .enumerate()
            .map(|(index, part)| function_name(part, index))
            .collect::<Result<_, _>>()?;
        let graph = Graph::from_proto(graph, &mut files)?;
        opset::check_standard_is_imported(&opsets, &graph.nodes)?;
        Ok(Self {
            ir_version: proto.ir_version.unwrap_or_default(),
            producer: proto.producer_name.unwrap_or_default(),
            opsets,
            functions,
            bodies,
            graph,
            sha256: files.sha256(),
        })
    }

    /// The version of a domain's operators, if the model imports it.
    pub fn opset(&self, domain: &str) -> Option<i64> {
        let import = self.opsets.iter().find(|(name, _)| name == domain);
        import.map(|(_, version)| *version)
    }

    /// The version of the standard operators. A model that imports none uses none, so
    /// then it does not matter and the newest is given.
    pub fn standard_opset(&self) -> i64 {
        self.opset("").unwrap_or(OPSET_NEWEST)
    }

    /// Whether a node calls a function that the model defines for itself.
    pub fn calls_function(&self, node: &Node) -> bool {
        self.function_number(node).is_some()
    }

    fn function_number(&self, node: &Node) -> Option<usize> {
        self.functions
            .iter()
            .position(|(domain, name)| *domain == node.domain && *name == node.op_type)
    }

    /// The function that a node calls, as it is stored.
    pub(super) fn function(&self, node: &Node) -> Option<Bytes> {
        self.bodies.get(self.function_number(node)?).cloned()
    }
}

fn function_name(part: Bytes, index: usize) -> Result<(String, String), OnnxError> {
    let place = || format!("function {index}");
    let proto: FunctionProto = proto::decode_part(part, place)?;
    let name = proto.name.unwrap_or_default();
    if name.is_empty() {
        return Err(OnnxError::NoName { place: place() });
    }
    let domain = opset::normal_domain(proto.domain.unwrap_or_default());
    Ok((domain, name))
}

/// The bytes of a regular file of reasonable size.
pub(super) fn read(path: &Path, until: &LoadUntil) -> Result<Bytes, OnnxError> {
    let cannot_read = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => OnnxError::Missing,
        _ => OnnxError::CannotRead { error },
    };
    // Before opening: to open a pipe would wait for its other end.
    let metadata = fs::metadata(path).map_err(cannot_read)?;
    if !metadata.is_file() {
        return Err(OnnxError::NotAFile);
    }
    let size = metadata.len();
    if size > LARGEST_FILE {
        return Err(OnnxError::TooLarge { size });
    }
    let mut bytes = Vec::new();
    let mut file = File::open(path).map_err(cannot_read)?;
    bytes.reserve_exact(size as usize);
    // The file may grow while it is read.
    while (bytes.len() as u64) < LARGEST_FILE {
        OnnxError::unless_over(until)?;
        let stretch = file.by_ref().take(STRETCH).read_to_end(&mut bytes);
        if stretch.map_err(cannot_read)? == 0 {
            break;
        }
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use prost::Message;
    use tempfile::TempDir;

    use super::super::fixtures::{self, external, graph, model, node, opset, value_info};
    use super::super::proto::{AttributeProto, FunctionProto, attribute_type};
    use super::{Model, OnnxError};
    use crate::onnx::Attribute;

    fn decode(proto: &super::ModelProto) -> Result<Model, OnnxError> {
        Model::decode(proto.encode_to_vec().into(), None)
    }

    #[test]
    fn a_model_says_what_it_is() {
        let mut proto = fixtures::mlp();
        proto.opset_import.push(opset("ai.onnx.ml", 3));
        let model = decode(&proto).unwrap();
        assert_eq!((model.ir_version, model.producer.as_str()), (8, "fixtures"));
        assert_eq!(model.standard_opset(), 13);
        assert_eq!(model.opset("ai.onnx.ml"), Some(3));
        assert_eq!(model.opset("com.acme"), None);
    }

    #[test]
    fn calls_of_the_model_s_own_functions_are_told() {
        let mut proto = fixtures::mlp();
        let function = FunctionProto {
            name: Some("Gemm".into()),
            domain: Some("ai.onnx".into()),
            ..FunctionProto::default()
        };
        proto.functions.push(function.encode_to_vec().into());
        let model = decode(&proto).unwrap();
        let calls: Vec<_> = model
            .graph
            .nodes
            .iter()
            .map(|node| model.calls_function(node))
            .collect();
        assert_eq!(calls, [true, false, true]);
    }

    #[test]
    fn a_model_without_graph_or_operator_set_is_refused() {
        let mut proto = fixtures::mlp();
        proto.opset_import.clear();
        assert!(matches!(decode(&proto), Err(OnnxError::OpsetMissing)));
        proto.graph = None;
        let message = decode(&proto).unwrap_err().to_string();
        assert!(message.contains("it holds no graph"), "{message}");
    }

    /// A length-delimited field.
    fn field(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag << 3 | 2];
        prost::encoding::encode_varint(content.len() as u64, &mut bytes);
        bytes.extend_from_slice(content);
        bytes
    }

    #[test]
    fn thousands_of_nested_subgraphs_take_no_stack() {
        let mut body = vec![];
        for _ in 0..5_000 {
            // GraphProto.node, NodeProto.attribute, AttributeProto.g
            body = field(1, &field(5, &field(6, &body)));
        }
        let attribute = AttributeProto {
            name: Some("then_branch".into()),
            g: Some(body.into()),
            r#type: Some(attribute_type::GRAPH),
            ..AttributeProto::default()
        };
        let mut branch = node("If", &["x"], &["y"]);
        branch.attribute.push(attribute.encode_to_vec().into());
        let io = [value_info("x", 9, &[])];
        let proto = model(graph(&[branch], &[], &io, &[value_info("y", 1, &[])]));
        let model = decode(&proto).unwrap();
        let branch = model.graph.nodes[0].attributes.get("then_branch");
        assert!(matches!(branch, Some(Attribute::Graph(_))));
    }

    #[test]
    fn thousands_of_nested_types_and_groups_take_no_stack() {
        let mut sequence = vec![];
        for _ in 0..20_000 {
            // TypeProto.sequence_type, Sequence.elem_type
            sequence = field(4, &field(1, &sequence));
        }
        let value = [field(1, b"z"), field(2, &sequence)].concat();
        let mut proto = fixtures::mlp();
        let graph = proto.graph.as_mut().unwrap();
        graph.input.push(value.into());
        assert_eq!(decode(&proto).unwrap().graph.inputs[1].shape, None);

        // Groups are an old feature of protobuf that decoders must still skip over.
        let mut bytes = fixtures::mlp().encode_to_vec();
        bytes.extend(vec![(15 << 3) | 3; 100_000]);
        bytes.extend(vec![(15 << 3) | 4; 100_000]);
        let fault = Model::decode(bytes.into(), None).unwrap_err();
        assert!(matches!(fault, OnnxError::NotOnnx { .. }), "{fault}");
    }

    #[test]
    fn weights_are_found_beside_the_model() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("net.onnx");
        let w = external("w", &[2], &[("location", "net.data"), ("offset", "4")]);
        let proto = model(graph(
            &[node("Add", &["x", "w"], &["y"])],
            &[w],
            &[value_info("x", 1, &["2"])],
            &[value_info("y", 1, &["2"])],
        ));
        fs::write(&path, proto.encode_to_vec()).unwrap();
        let message = Model::open(&path).unwrap_err().to_string();
        assert!(message.starts_with(path.to_str().unwrap()), "{message}");
        assert!(message.contains("initializer `w`") && message.contains("`net.data`"));

        let numbers: Vec<u8> = [0_f32, 1.0, 2.0]
            .into_iter()
            .flat_map(f32::to_le_bytes)
            .collect();
        fs::write(folder.path().join("net.data"), numbers).unwrap();
        let model = Model::open(&path).unwrap();
        assert_eq!(*model.graph.initializers["w"].to_f32().unwrap(), [1.0, 2.0]);
        assert!(decode(&proto).is_err());
    }

    #[test]
    fn paths_that_are_no_model_are_refused() {
        let folder = TempDir::new().unwrap();
        let fault = |path: &std::path::Path| match Model::open(path).unwrap_err() {
            OnnxError::InFile { fault, .. } => *fault,
            other => other,
        };
        assert!(matches!(fault(folder.path()), OnnxError::NotAFile));
        let missing = folder.path().join("missing.onnx");
        assert!(matches!(fault(&missing), OnnxError::Missing));
        let huge = folder.path().join("huge.onnx");
        fs::File::create(&huge)
            .unwrap()
            .set_len((2 << 30) + 1)
            .unwrap();
        assert!(matches!(fault(&huge), OnnxError::TooLarge { .. }));
        let empty = folder.path().join("empty.onnx");
        fs::write(&empty, "").unwrap();
        assert!(matches!(fault(&empty), OnnxError::NotOnnx { .. }));
    }
}
