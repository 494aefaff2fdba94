//! Opens an archive without trusting it: digests and sizes are recomputed, layers are unpacked, and the two tables of
//! contents are compared.
//!
//! This module accepts only archives in the form in which this crate writes them. Other tools may also read archives
//! that are rejected here, for example with foreign layers, nested indexes, other digest algorithms, or files that
//! nothing refers to.

use std::collections::BTreeSet;

use oci_spec::image::{Descriptor, ImageIndex, ImageManifest, MediaType, OciLayout};
use serde::de::DeserializeOwned;

use crate::archive::{
    DOCKER_FILE, DockerEntry, INDEX_FILE, LAYOUT_FILE, LAYOUT_VERSION, NAME_ANNOTATION, REF_ANNOTATION,
};
use crate::blob::sha256;
use crate::image::gunzip;
use crate::{Archive, Blob, EntryKind, Error, Image, ImageName, Tree};

impl Archive {
    /// Reads what [`Archive::to_tar`] wrote, and checks all of it.
    pub fn from_tar(tar: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::open(tar)?;
        let images = reader.images()?;
        reader.compare_tables(&images)?;
        reader.refuse_strays()?;
        Self::new(images)
    }
}

/// An OCI layout that is being read, here and in `joined.rs`.
pub(crate) struct Reader {
    tree: Tree,
    /// The files to which something in the archive refers.
    used: BTreeSet<String>,
}

impl Reader {
    /// Opens a tar that is an OCI layout.
    pub(crate) fn open(tar: &[u8]) -> Result<Self, Error> {
        let mut reader = Self { tree: Tree::from_tar(tar, "the tar itself")?, used: BTreeSet::new() };
        let layout: OciLayout = reader.document(LAYOUT_FILE)?;
        let version = layout.image_layout_version();
        if version == LAYOUT_VERSION {
            return Ok(reader);
        }
        Err(Error::at(LAYOUT_FILE, format!("version {version:?}, but {LAYOUT_VERSION} was expected")))
    }

    fn file(&mut self, path: &str) -> Result<Vec<u8>, Error> {
        let content = self.tree.file(path).ok_or_else(|| Error::at(path, "is missing"))?.to_vec();
        self.used.insert(path.to_owned());
        Ok(content)
    }

    pub(crate) fn document<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Error> {
        parse(path, &self.file(path)?)
    }

    /// The blob of a descriptor, if it matches the descriptor.
    pub(crate) fn blob(&mut self, descriptor: &Descriptor, expected: &MediaType) -> Result<Blob, Error> {
        let digest = descriptor.digest().to_string();
        let hex =
            descriptor.as_digest_sha256().ok_or_else(|| Error::at(&digest, "is not a SHA-256 digest"))?;
        let path = format!("blobs/sha256/{hex}");
        if descriptor.media_type() != expected {
            let found = descriptor.media_type();
            return Err(Error::at(path, format!("is called {found}, but {expected} was expected")));
        }
        let blob = Blob::new(self.file(&path)?);
        if blob.hex() != hex {
            return Err(Error::at(path, format!("its content has the digest {}", blob.digest())));
        }
        if blob.bytes().len() as u64 != descriptor.size() {
            let (real, said) = (blob.bytes().len(), descriptor.size());
            return Err(Error::at(path, format!("has {real} bytes, but its descriptor says {said}")));
        }
        Ok(blob)
    }

    /// All images of the index. Several descriptors of one manifest are one image with several names.
    fn images(&mut self) -> Result<Vec<Image>, Error> {
        let index: ImageIndex = self.document(INDEX_FILE)?;
        let mut images: Vec<Image> = Vec::new();
        for descriptor in index.manifests() {
            let name = name_of(descriptor)?;
            let manifest = self.blob(descriptor, &MediaType::ImageManifest)?;
            if let Some(known) = images.iter_mut().find(|image| image.manifest == manifest) {
                known.names.push(name);
                continue;
            }
            let image = self.image(name, manifest)?;
            check_platform(descriptor, &image)?;
            images.push(image);
        }
        Ok(images)
    }

    /// The image of a descriptor that names its platform.
    pub(crate) fn platform_image(
        &mut self,
        name: ImageName,
        descriptor: &Descriptor,
    ) -> Result<Image, Error> {
        let manifest = self.blob(descriptor, &MediaType::ImageManifest)?;
        let image = self.image(name, manifest)?;
        check_platform(descriptor, &image)?;
        Ok(image)
    }

    fn image(&mut self, name: ImageName, manifest: Blob) -> Result<Image, Error> {
        let place = manifest.path();
        let parsed: ImageManifest = parse(&place, manifest.bytes())?;
        let config = self.blob(parsed.config(), &MediaType::ImageConfig)?;
        let mut layers = Vec::new();
        for descriptor in parsed.layers() {
            layers.push(self.blob(descriptor, &MediaType::ImageLayerGzip)?);
        }
        let image = Image { names: vec![name], manifest, config, layers };
        check_layers(&image)?;
        Ok(image)
    }

    /// Checks that the docker table has the same images, in the same order, with the same blobs.
    fn compare_tables(&mut self, images: &[Image]) -> Result<(), Error> {
        let docker: Vec<DockerEntry> = self.document(DOCKER_FILE)?;
        if docker.len() != images.len() {
            let problem = format!("lists {} images, but {INDEX_FILE} lists {}", docker.len(), images.len());
            return Err(Error::at(DOCKER_FILE, problem));
        }
        for (said, image) in docker.iter().zip(images) {
            let expected = DockerEntry::of(image);
            if *said != expected {
                let problem = format!("says {said:?}, but {INDEX_FILE} leads to {expected:?}");
                return Err(Error::at(DOCKER_FILE, problem));
            }
        }
        Ok(())
    }

    pub(crate) fn refuse_strays(&self) -> Result<(), Error> {
        for (path, entry) in self.tree.iter() {
            if entry.kind != EntryKind::Directory && !self.used.contains(path) {
                return Err(Error::at(path, "nothing in the archive refers to it"));
            }
        }
        Ok(())
    }
}

pub(crate) fn parse<T: DeserializeOwned>(path: &str, content: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(content).map_err(|error| Error::at(path, format!("can't be understood: {error}")))
}

/// The full name of a descriptor. Its tag must match the other annotation.
pub(crate) fn name_of(descriptor: &Descriptor) -> Result<ImageName, Error> {
    let place = || format!("{INDEX_FILE}, {}", descriptor.digest());
    let annotation = |key: &str| {
        let value = descriptor.annotations().as_ref().and_then(|annotations| annotations.get(key));
        value.ok_or_else(|| Error::at(place(), format!("the annotation {key} is missing")))
    };
    let name: ImageName =
        annotation(NAME_ANNOTATION)?.parse().map_err(|error: Error| Error::at(place(), error.to_string()))?;
    let tag = annotation(REF_ANNOTATION)?;
    if tag != name.tag() {
        return Err(Error::at(place(), format!("{REF_ANNOTATION} is {tag:?}, but the name is {name}")));
    }
    Ok(name)
}

fn check_platform(descriptor: &Descriptor, image: &Image) -> Result<(), Error> {
    let configuration = image.configuration()?;
    let said = descriptor.platform().as_ref().map(|platform| (platform.os(), platform.architecture()));
    let real = (configuration.os(), configuration.architecture());
    if said == Some(real) {
        return Ok(());
    }
    Err(Error::at(image.config.path(), format!("is for {real:?}, but {INDEX_FILE} says {said:?}")))
}

/// Checks that the digest of every unpacked layer is the digest in the configuration.
fn check_layers(image: &Image) -> Result<(), Error> {
    let configuration = image.configuration()?;
    let promised = configuration.rootfs().diff_ids();
    if promised.len() != image.layers.len() {
        let problem = format!("lists {} layers, but the manifest has {}", promised.len(), image.layers.len());
        return Err(Error::at(image.config.path(), problem));
    }
    for (layer, promised) in image.layers.iter().zip(promised) {
        let unpacked = format!("sha256:{}", sha256(&gunzip(layer)?));
        if unpacked != *promised {
            let problem = format!("unpacks to {unpacked}, but the configuration says {promised}");
            return Err(Error::at(layer.path(), problem));
        }
    }
    Ok(())
}
