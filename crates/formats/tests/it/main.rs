//! Tests of the crate from outside: models as exporters write them, and models to refuse.

mod graft;
mod models;
mod onnx_zoo;
mod operators;
