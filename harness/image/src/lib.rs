//! Writes the target's container image as one tar file, without a container engine, and reads it back.
//!
//! The tar is both an OCI image layout (`oci-layout`, `index.json`, `blobs/sha256/…`), which containerd and kind read,
//! and a docker archive (`manifest.json`, which names the same blobs), which docker and podman load. The tar file is a
//! pure function of its inputs: the same program and the same [`Facts`] give the same bytes, on any machine and in any
//! folder.
//!
//! ```text
//! program bytes ─ Program ─┐
//!                          ├─ agnhost::tree ─ Tree ─ Layer::pack ─ Layer ─┐
//! static files ────────────┘                                              ├─ Image::build ─ Archive ─ to_tar ─ bytes
//! version, commit ─ Facts ─── agnhost::settings ─ Settings ───────────────┘                      └─ from_tar ─┘
//! ```
//!
//! - [`agnhost`] defines the contents of the image of `agnhost-rs`, and [`harness`] defines the contents of the image of
//!   `probity`. Everything else could build any image.
//! - [`Archive::from_tar`] trusts nothing: it recomputes every digest and size, unpacks every layer, and rejects an archive
//!   whose two tables of contents differ.
//! - [`Joined`] is one archive for several architectures.
//!
//! The library does not use files, clocks, the environment or a network. The program `oci-archive` opens the files.

pub mod agnhost;
mod archive;
mod blob;
mod elf;
mod error;
pub mod harness;
mod image;
mod joined;
mod name;
mod read;
mod tree;

pub use agnhost::{Facts, Variant};
pub use archive::Archive;
pub use blob::Blob;
pub use elf::Program;
pub use error::Error;
pub use image::{Image, Layer, Settings};
pub use joined::{Joined, is_joined};
pub use name::ImageName;
pub use oci_spec::image::{Arch, ImageConfiguration};
pub use tree::{Entry, EntryKind, Tree};
