//! A small file cannot make the decoder take much memory, whatever numbers it claims.
//!
//! A program of its own: it counts memory with an allocator that all tests of a program would share.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use deepconcolic_formats::onnx::Model;
use proptest::collection::vec;
use proptest::prelude::*;

/// Bytes of memory for each byte of file. The worst case is a list of empty items: two
/// bytes of file for a 32-byte handle, in a vector that doubles while it grows.
const MAX_PER_BYTE: usize = 64;
/// Error messages and other things that do not depend on the file.
const ALWAYS_ALLOWED: usize = 64 << 10;

/// Counts the memory of each thread apart, since tests run side by side.
struct Counting;

thread_local! {
    static IN_USE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
    let in_use = IN_USE.get() + change;
    IN_USE.set(in_use);
    PEAK.set(PEAK.get().max(in_use));
}

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches
// only thread-local cells, which are constant-initialised and never allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Decodes, and gives the most memory that was in use meanwhile.
fn peak_of_decoding(bytes: Vec<u8>) -> usize {
    let before = IN_USE.get();
    PEAK.set(before);
    drop(Model::decode(bytes.into(), None));
    (PEAK.get() - before).cast_unsigned()
}

fn check(bytes: Vec<u8>) {
    let allowed = bytes.len() * MAX_PER_BYTE + ALWAYS_ALLOWED;
    let size = bytes.len();
    let peak = peak_of_decoding(bytes);
    assert!(
        peak <= allowed,
        "{size} bytes of file took {peak} of memory"
    );
}

/// A length-delimited protobuf field.
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(content);
    bytes
}

const GRAPH: u8 = 7;
const NODE: u8 = 1;

#[test]
fn memory_is_really_counted() {
    let raw_data = vec![0; 1 << 20];
    let float_of_shape = [0x08, 0x80, 0x80, 0x10, 0x10, 1];
    let tensor = [&float_of_shape[..], &field(8, b"w"), &field(9, &raw_data)].concat();
    let peak = peak_of_decoding(field(GRAPH, &field(5, &tensor)));
    assert!(peak >= 1 << 20, "{peak}");
}

#[test]
fn lists_of_empty_items_stay_small() {
    let items = 1 << 20;
    for tag in [1, 5, 11, 12, 15] {
        check(field(GRAPH, &[tag << 3 | 2, 0].repeat(items)));
    }
    let functions = [0xca, 0x01, 0x00].repeat(items);
    check([functions, field(GRAPH, &[])].concat());
    let operator_sets = [0x42, 0x00].repeat(items);
    check([operator_sets, field(GRAPH, &[])].concat());
    for inside_node in [1, 2, 5] {
        let node = [inside_node << 3 | 2, 0].repeat(items);
        check(field(GRAPH, &field(NODE, &node)));
    }
    for inside_attribute in [7, 8, 9] {
        let attribute = [field(1, b"a"), [inside_attribute << 3 | 2, 0].repeat(items)].concat();
        check(field(GRAPH, &field(NODE, &field(5, &attribute))));
    }
    let external_data = [13 << 3 | 2, 0].repeat(items);
    check(field(GRAPH, &field(5, &external_data)));
    let packed_ints = field(8, &vec![0; items]);
    check(field(GRAPH, &field(NODE, &field(5, &packed_ints))));
}

#[test]
fn claimed_shapes_take_nothing() {
    // float w[2^38], and no data
    let tensor = [
        &[0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x08, 0x10, 1][..],
        &field(8, b"w"),
    ];
    check(field(GRAPH, &field(5, &tensor.concat())));
}

proptest! {
    // The default place for failing cases is found from lib.rs, which is not near.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_take_little(bytes in vec(any::<u8>(), 0..2000)) {
        check(bytes.clone());
        check(field(GRAPH, &bytes));
        check(field(GRAPH, &field(5, &bytes)));
        check(field(GRAPH, &field(NODE, &bytes)));
    }
}
