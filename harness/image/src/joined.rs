//! Archives for several architectures, joined into one: an OCI layout in which each name refers to an index of images.
//!
//! A release has one archive for each architecture, each written on a machine of that architecture. A joined archive can
//! be pushed to a registry, where each node finds the image for its architecture under the same name.
//!
//! The table of contents of a docker archive does not support architectures, so a joined archive has no such table.

use std::collections::{BTreeMap, BTreeSet};

use oci_spec::image::{
    Arch, Descriptor, ImageIndex, ImageIndexBuilder, MediaType, OciLayoutBuilder, SCHEMA_VERSION,
};

use crate::archive::{INDEX_FILE, LAYOUT_FILE, LAYOUT_VERSION, named, platform};
use crate::blob::canonical_json;
use crate::read::{Reader, name_of, parse};
use crate::{Archive, Blob, Entry, Error, Image, ImageName, Tree};

/// One archive for each architecture, all with the same image names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    archives: BTreeMap<String, Archive>,
}

impl Joined {
    /// Joins archives, in the order of their architectures. Rejects fewer than two archives, two archives for the same
    /// architecture, and an archive for several architectures. Also rejects archives whose names differ, because a name
    /// would then lack an architecture without an error.
    pub fn new(archives: Vec<Archive>) -> Result<Self, Error> {
        let mut joined = BTreeMap::new();
        for archive in archives {
            let architecture = architecture(&archive)?.to_string();
            if joined.insert(architecture.clone(), archive).is_some() {
                return Err(Error::content(format!("two of the archives are for {architecture}")));
            }
        }
        let mut names = joined.iter().map(|(architecture, archive)| (architecture, names(archive)));
        let first = names.next().ok_or_else(|| Error::content("there is no archive to join"))?;
        if let Some(other) = names.find(|(_, names)| *names != first.1) {
            let said = |(architecture, names): &(&String, BTreeSet<&ImageName>)| {
                let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                format!("{architecture} has {}", names.join(", "))
            };
            return Err(Error::content(format!("the names differ: {}; {}", said(&first), said(&other))));
        }
        if joined.len() < 2 {
            return Err(Error::content("one archive is not enough: give one for each architecture"));
        }
        Ok(Self { archives: joined })
    }

    /// The archives with their architectures, sorted.
    pub fn archives(&self) -> impl Iterator<Item = (&str, &Archive)> {
        self.archives.iter().map(|(architecture, archive)| (architecture.as_str(), archive))
    }

    /// The names that each architecture has.
    #[must_use]
    pub fn names(&self) -> BTreeSet<&ImageName> {
        self.archives.values().flat_map(names).collect()
    }

    /// The joined archive as a tar file. Blobs that several images share are stored only once.
    pub fn to_tar(&self) -> Result<Vec<u8>, Error> {
        let images = self.archives.values().flat_map(Archive::images).flat_map(Image::blobs);
        let mut blobs: BTreeMap<String, Blob> = images.map(|blob| (blob.path(), blob.clone())).collect();
        let mut descriptors = Vec::new();
        for name in self.names() {
            let index = self.index_of(name)?;
            let descriptor = index.descriptor(MediaType::ImageIndex)?;
            descriptors.push(descriptor.annotations(named(name)).build()?);
            blobs.insert(index.path(), index);
        }
        let mut tree = Tree::new();
        tree.insert("blobs", Entry::directory(0o755))?;
        tree.insert("blobs/sha256", Entry::directory(0o755))?;
        for (path, blob) in &blobs {
            tree.insert(path, Entry::file(0o644, blob.bytes()))?;
        }
        let layout = OciLayoutBuilder::default().image_layout_version(LAYOUT_VERSION).build()?;
        tree.insert(LAYOUT_FILE, Entry::file(0o644, &canonical_json(&layout)?))?;
        tree.insert(INDEX_FILE, Entry::file(0o644, index(descriptors)?.bytes()))?;
        tree.to_tar()
    }

    /// The index that a registry stores under a name: the image of each architecture.
    fn index_of(&self, name: &ImageName) -> Result<Blob, Error> {
        let mut descriptors = Vec::new();
        for image in self.archives.values().filter_map(|archive| archive.find(name)) {
            let descriptor = image.manifest().descriptor(MediaType::ImageManifest)?;
            descriptors.push(descriptor.platform(platform(image)?).build()?);
        }
        index(descriptors)
    }

    /// Reads what [`Joined::to_tar`] wrote, and checks all of it, as [`Archive::from_tar`] does.
    pub fn from_tar(tar: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::open(tar)?;
        let top: ImageIndex = reader.document(INDEX_FILE)?;
        let mut images: BTreeMap<String, Vec<Image>> = BTreeMap::new();
        for descriptor in top.manifests() {
            for (architecture, image) in images_of(&mut reader, descriptor)? {
                images.entry(architecture).or_default().push(image);
            }
        }
        reader.refuse_strays()?;
        Self::new(images.into_values().map(Archive::new).collect::<Result<_, _>>()?)
    }
}

/// Whether a tar file is a joined archive, which means that its first name refers to an index.
pub fn is_joined(tar: &[u8]) -> Result<bool, Error> {
    let top: ImageIndex = Reader::open(tar)?.document(INDEX_FILE)?;
    Ok(top.manifests().first().is_some_and(|first| *first.media_type() == MediaType::ImageIndex))
}

/// The images behind one name, with their architectures.
fn images_of(reader: &mut Reader, descriptor: &Descriptor) -> Result<Vec<(String, Image)>, Error> {
    let name = name_of(descriptor)?;
    let blob = reader.blob(descriptor, &MediaType::ImageIndex)?;
    let index: ImageIndex = parse(&blob.path(), blob.bytes())?;
    let mut images = Vec::new();
    for each in index.manifests() {
        let image = reader.platform_image(name.clone(), each)?;
        images.push((image.configuration()?.architecture().to_string(), image));
    }
    Ok(images)
}

fn index(descriptors: Vec<Descriptor>) -> Result<Blob, Error> {
    let index = ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageIndex)
        .manifests(descriptors)
        .build()?;
    Ok(Blob::new(canonical_json(&index)?))
}

fn names(archive: &Archive) -> BTreeSet<&ImageName> {
    archive.images().iter().flat_map(Image::names).collect()
}

fn architecture(archive: &Archive) -> Result<Arch, Error> {
    let mut found: Vec<Arch> = Vec::new();
    for image in archive.images() {
        found.push(image.configuration()?.architecture().clone());
    }
    found.dedup();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        several => {
            Err(Error::content(format!("an archive has images for several architectures: {several:?}")))
        }
    }
}
