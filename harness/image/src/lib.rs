//! Writes the target's container image as one tar file, without a container engine, and reads it back.
//!
//! The tar is two things at once: an OCI image layout (`oci-layout`, `index.json`, `blobs/sha256/…`), which containerd
//! and kind read, and a docker archive (`manifest.json` naming the same blobs), which docker and podman load. It is a pure
//! function of its inputs: the same program and the same [`Facts`] give the same bytes, on any machine and in any folder.
//!
//! ```text
//! program bytes ─ Program ─┐
//!                          ├─ agnhost::tree ─ Tree ─ Layer::pack ─ Layer ─┐
//! static files ────────────┘                                              ├─ Image::build ─ Archive ─ to_tar ─ bytes
//! version, commit ─ Facts ─── agnhost::settings ─ Settings ───────────────┘                      └─ from_tar ─┘
//! ```
//!
//! - [`agnhost`] knows what the image of `agnhost-rs` holds, and [`harness`] that of `probity`; everything else would build
//!   any image.
//! - [`Archive::from_tar`] trusts nothing: it recomputes every digest and size, unpacks every layer, and refuses an archive
//!   whose two tables of contents disagree.
//! - [`Joined`] is one archive for several architectures.
//!
//! Nothing here touches a file, a clock, the environment or a network; the program `oci-archive` does that at its edge.

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
