//! The kinds of data files and folders there are, one per file.

mod cifar;
mod csv;
mod idx;
mod image_folder;
mod npy;
mod npz;

use crate::format::Format;

/// Every format, in the order they are asked; a folder of images comes last because it takes any folder.
pub static ALL: &[&dyn Format] = &[
    &npz::Npz,
    &npy::Npy,
    &idx::Idx,
    &cifar::Cifar,
    &csv::Csv,
    &image_folder::ImageFolder,
];
