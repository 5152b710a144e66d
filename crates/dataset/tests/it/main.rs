//! Tests of the crate from outside: files as others write them, garbage, and the project's own data.

mod garbage;
mod numpy_files;
mod shared_data;
