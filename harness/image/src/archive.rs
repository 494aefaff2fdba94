//! Several images as one tar file that is both an OCI layout and a docker archive. `read.rs` reads it back.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use oci_spec::image::{
    Descriptor, ImageIndexBuilder, MediaType, OciLayoutBuilder, Platform, PlatformBuilder, SCHEMA_VERSION,
};
use serde::{Deserialize, Serialize};

use crate::blob::canonical_json;
use crate::{Entry, Error, Image, ImageName, Tree};

/// The annotation in which containerd looks for the full name.
pub(crate) const NAME_ANNOTATION: &str = "io.containerd.image.name";
/// The annotation of the OCI layout. It has only the tag, as builders write it and as `skopeo … oci-archive:FILE:TAG`
/// expects it.
pub(crate) const REF_ANNOTATION: &str = "org.opencontainers.image.ref.name";
pub(crate) const LAYOUT_FILE: &str = "oci-layout";
pub(crate) const INDEX_FILE: &str = "index.json";
pub(crate) const DOCKER_FILE: &str = "manifest.json";
pub(crate) const LAYOUT_VERSION: &str = "1.0.0";

/// One image in a docker archive's table of contents.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DockerEntry {
    pub(crate) config: String,
    pub(crate) repo_tags: Vec<String>,
    pub(crate) layers: Vec<String>,
}

impl DockerEntry {
    /// The entry for an image.
    pub(crate) fn of(image: &Image) -> Self {
        Self {
            config: image.config().path(),
            repo_tags: image.names().iter().map(ImageName::to_string).collect(),
            layers: image.layers().iter().map(crate::Blob::path).collect(),
        }
    }
}

/// Images that are stored together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    images: Vec<Image>,
}

impl Archive {
    /// Creates an archive of images. Rejects an empty archive, and two images with the same name, because an importer
    /// would keep only the last one without an error.
    pub fn new(images: Vec<Image>) -> Result<Self, Error> {
        if images.is_empty() {
            return Err(Error::content("an archive needs at least one image"));
        }
        let mut names = BTreeSet::new();
        for name in images.iter().flat_map(Image::names) {
            if !names.insert(name) {
                return Err(Error::content(format!("two images of the archive are called {name}")));
            }
        }
        Ok(Self { images })
    }

    /// The images, in the order in which they were given.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// The image with this name.
    #[must_use]
    pub fn find(&self, name: &ImageName) -> Option<&Image> {
        self.images.iter().find(|image| image.names().contains(name))
    }

    /// The archive as a tar file. Blobs that several images share are stored only once.
    pub fn to_tar(&self) -> Result<Vec<u8>, Error> {
        let blobs: BTreeMap<String, &[u8]> =
            self.images.iter().flat_map(Image::blobs).map(|blob| (blob.path(), blob.bytes())).collect();
        let mut tree = Tree::new();
        tree.insert("blobs", Entry::directory(0o755))?;
        tree.insert("blobs/sha256", Entry::directory(0o755))?;
        for (path, bytes) in blobs {
            tree.insert(&path, Entry::file(0o644, bytes))?;
        }
        let layout = OciLayoutBuilder::default().image_layout_version(LAYOUT_VERSION).build()?;
        tree.insert(LAYOUT_FILE, Entry::file(0o644, &canonical_json(&layout)?))?;
        tree.insert(INDEX_FILE, Entry::file(0o644, &self.index()?))?;
        let docker: Vec<DockerEntry> = self.images.iter().map(DockerEntry::of).collect();
        tree.insert(DOCKER_FILE, Entry::file(0o644, &canonical_json(&docker)?))?;
        tree.to_tar()
    }

    /// One descriptor for each name of each image.
    fn index(&self) -> Result<Vec<u8>, Error> {
        let mut manifests = Vec::new();
        for image in &self.images {
            for name in image.names() {
                manifests.push(descriptor(image, name)?);
            }
        }
        let index = ImageIndexBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageIndex)
            .manifests(manifests)
            .build()?;
        canonical_json(&index)
    }
}

fn descriptor(image: &Image, name: &ImageName) -> Result<Descriptor, Error> {
    let mut annotations = named(name);
    let created = image.configuration()?.created().clone().unwrap_or_default();
    annotations.insert("org.opencontainers.image.created".to_owned(), created);
    Ok(image
        .manifest()
        .descriptor(MediaType::ImageManifest)?
        .platform(platform(image)?)
        .annotations(annotations)
        .build()?)
}

/// The annotations in which importers find a name.
pub(crate) fn named(name: &ImageName) -> HashMap<String, String> {
    [(NAME_ANNOTATION.to_owned(), name.to_string()), (REF_ANNOTATION.to_owned(), name.tag().to_owned())]
        .into()
}

/// The platform of an image, from its configuration.
pub(crate) fn platform(image: &Image) -> Result<Platform, Error> {
    let configuration = image.configuration()?;
    let (architecture, os) = (configuration.architecture().clone(), configuration.os().clone());
    Ok(PlatformBuilder::default().architecture(architecture).os(os).build()?)
}
