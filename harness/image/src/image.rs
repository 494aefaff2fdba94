//! One image: a compressed layer, the configuration, and the manifest that refers to both.
//!
//! This module does not depend on the purpose of an image; `agnhost.rs` does.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use jiff::Timestamp;
use oci_spec::image::{
    Arch, ConfigBuilder, HistoryBuilder, ImageConfiguration, ImageConfigurationBuilder, ImageManifestBuilder,
    MediaType, Os, RootFsBuilder, SCHEMA_VERSION,
};

use crate::blob::{canonical_json, sha256};
use crate::{Blob, Error, ImageName, Tree};

/// The maximum size of an unpacked layer. No layer of this crate is larger.
const LARGEST_LAYER: u64 = 256 * 1024 * 1024;

/// How containers of an image are started and stopped, and how the image describes itself.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The processor architecture; the operating system is always Linux.
    pub architecture: Arch,
    /// The time of the sources from which the image was built, in seconds since 1970. Never the time of the build.
    pub created: i64,
    /// User and group, as numbers, because Kubernetes cannot prove that a name is not root.
    pub user: String,
    /// The program, in exec form.
    pub entrypoint: Vec<String>,
    /// Default arguments.
    pub cmd: Vec<String>,
    /// Where the program starts.
    pub working_dir: String,
    /// Ports with protocol, such as `8080/tcp`. They are information for users and tools, and open or close nothing.
    pub exposed_ports: Vec<String>,
    /// The full name of the stop signal, such as SIGUSR1. Without it, a runtime uses SIGTERM.
    pub stop_signal: Option<String>,
    /// Labels of the configuration.
    pub labels: BTreeMap<String, String>,
    /// How the layer was created, for `docker history`.
    pub created_by: String,
}

/// A packed tree of files. Several images may share a layer, because packing is the expensive part of building an
/// image.
#[derive(Clone, Debug)]
pub struct Layer {
    blob: Blob,
    /// The digest of the tar before it was compressed.
    diff_id: String,
}

impl Layer {
    /// Packs a tree.
    pub fn pack(files: &Tree) -> Result<Self, Error> {
        let tar = files.to_tar()?;
        let diff_id = format!("sha256:{}", sha256(&tar));
        Ok(Self { blob: Blob::new(gzip(&tar)?), diff_id })
    }
}

/// An image with its names. Equal images have equal bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub(crate) names: Vec<ImageName>,
    pub(crate) manifest: Blob,
    pub(crate) config: Blob,
    pub(crate) layers: Vec<Blob>,
}

impl Image {
    /// Builds an image with one layer.
    pub fn build(names: Vec<ImageName>, layer: &Layer, settings: &Settings) -> Result<Self, Error> {
        if names.is_empty() {
            return Err(Error::content("an image needs a name, so that it can be requested"));
        }
        let config = Blob::new(canonical_json(&configuration(settings, layer)?)?);
        let manifest = ImageManifestBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageManifest)
            .config(config.plain_descriptor(MediaType::ImageConfig)?)
            .layers(vec![layer.blob.plain_descriptor(MediaType::ImageLayerGzip)?])
            .build()?;
        Ok(Self {
            names,
            manifest: Blob::new(canonical_json(&manifest)?),
            config,
            layers: vec![layer.blob.clone()],
        })
    }

    /// The names under which importers will find the image.
    #[must_use]
    pub fn names(&self) -> &[ImageName] {
        &self.names
    }

    /// The manifest. Its digest is the image's digest.
    #[must_use]
    pub fn manifest(&self) -> &Blob {
        &self.manifest
    }

    /// The configuration as JSON. Docker and the kubelet use its digest as the image ID.
    #[must_use]
    pub fn config(&self) -> &Blob {
        &self.config
    }

    /// The compressed layers, lowest first.
    #[must_use]
    pub fn layers(&self) -> &[Blob] {
        &self.layers
    }

    /// Everything that a registry needs before it accepts the manifest, followed by the manifest.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.layers.iter().chain([&self.config, &self.manifest])
    }

    /// The configuration, parsed.
    pub fn configuration(&self) -> Result<ImageConfiguration, Error> {
        Ok(serde_json::from_slice(self.config.bytes())?)
    }

    /// The files of the image. Rejects images with several layers, which this crate never writes, and everything that
    /// [`Tree`] rejects.
    pub fn files(&self) -> Result<Tree, Error> {
        match self.layers.as_slice() {
            [layer] => Tree::from_tar(&gunzip(layer)?, &layer.path()),
            layers => {
                Err(Error::at(self.manifest.path(), format!("{} layers, but one was expected", layers.len())))
            }
        }
    }
}

fn configuration(settings: &Settings, layer: &Layer) -> Result<ImageConfiguration, Error> {
    let created = Timestamp::from_second(settings.created)
        .map_err(|_| Error::Created { seconds: settings.created })?
        .to_string();
    let mut config = ConfigBuilder::default()
        .user(settings.user.clone())
        .entrypoint(settings.entrypoint.clone())
        .cmd(settings.cmd.clone())
        .working_dir(settings.working_dir.clone())
        .exposed_ports(settings.exposed_ports.clone())
        .labels(settings.labels.clone().into_iter().collect::<std::collections::HashMap<_, _>>());
    if let Some(signal) = &settings.stop_signal {
        config = config.stop_signal(signal.clone());
    }
    let history =
        HistoryBuilder::default().created(created.clone()).created_by(settings.created_by.clone()).build()?;
    Ok(ImageConfigurationBuilder::default()
        .created(created)
        .architecture(settings.architecture.clone())
        .os(Os::Linux)
        .config(config.build()?)
        .rootfs(RootFsBuilder::default().typ("layers").diff_ids(vec![layer.diff_id.clone()]).build()?)
        .history(vec![history])
        .build()?)
}

/// Compresses bytes, without a time, a name or an operating system in the header.
fn gzip(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Unpacks a layer, and stops if it is a zip bomb.
pub(crate) fn gunzip(layer: &Blob) -> Result<Vec<u8>, Error> {
    let mut tar = Vec::new();
    GzDecoder::new(layer.bytes()).take(LARGEST_LAYER + 1).read_to_end(&mut tar)?;
    if tar.len() as u64 > LARGEST_LAYER {
        return Err(Error::at(layer.path(), format!("unpacks to more than {LARGEST_LAYER} bytes")));
    }
    Ok(tar)
}
