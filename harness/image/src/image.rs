//! One image: a compressed layer, the configuration and the manifest that ties them together.
//!
//! Knows nothing about what the image is for; `agnhost.rs` does.

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

/// A layer that unpacks to more than this is not ours.
const LARGEST_LAYER: u64 = 256 * 1024 * 1024;

/// How containers of an image are started and stopped, and how the image describes itself.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The processor architecture; the operating system is always Linux.
    pub architecture: Arch,
    /// Seconds since 1970 of the state from which the image was made. Never the time of the build.
    pub created: i64,
    /// User and group, as numbers: Kubernetes can't prove that a name is not root.
    pub user: String,
    /// The program, in exec form.
    pub entrypoint: Vec<String>,
    /// Default arguments.
    pub cmd: Vec<String>,
    /// Where the program starts.
    pub working_dir: String,
    /// Ports with protocol, like `8080/tcp`. For people and tools; nothing is opened or closed by them.
    pub exposed_ports: Vec<String>,
    /// The full name of the signal that asks the program to stop, such as SIGUSR1. Without it a runtime takes SIGTERM.
    pub stop_signal: Option<String>,
    /// Labels of the configuration.
    pub labels: BTreeMap<String, String>,
    /// How the layer came about, for `docker history`.
    pub created_by: String,
}

/// A tree of files, packed. Images may share one; packing is the expensive part of building an image.
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
    /// Builds an image of one layer.
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

    /// The names under which importers will find it.
    #[must_use]
    pub fn names(&self) -> &[ImageName] {
        &self.names
    }

    /// The manifest. Its digest is the image's digest.
    #[must_use]
    pub fn manifest(&self) -> &Blob {
        &self.manifest
    }

    /// The configuration as JSON. Its digest is what docker and the kubelet call the image's id.
    #[must_use]
    pub fn config(&self) -> &Blob {
        &self.config
    }

    /// The compressed layers, lowest first.
    #[must_use]
    pub fn layers(&self) -> &[Blob] {
        &self.layers
    }

    /// Everything that a registry needs before it accepts the manifest, and the manifest last.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.layers.iter().chain([&self.config, &self.manifest])
    }

    /// The configuration, parsed.
    pub fn configuration(&self) -> Result<ImageConfiguration, Error> {
        Ok(serde_json::from_slice(self.config.bytes())?)
    }

    /// The files of the image. Refuses layers that lie upon one another, as ours never do, and whatever [`Tree`] refuses.
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

/// Compresses without a time, a name or a system in the header.
fn gzip(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Unpacks a layer, and stops when it is a bomb.
pub(crate) fn gunzip(layer: &Blob) -> Result<Vec<u8>, Error> {
    let mut tar = Vec::new();
    GzDecoder::new(layer.bytes()).take(LARGEST_LAYER + 1).read_to_end(&mut tar)?;
    if tar.len() as u64 > LARGEST_LAYER {
        return Err(Error::at(layer.path(), format!("unpacks to more than {LARGEST_LAYER} bytes")));
    }
    Ok(tar)
}
