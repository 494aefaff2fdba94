//! A tree of files as a value, and as a tar file that is always the same for the same tree.
//!
//! It rejects entries that layers of other images may contain but that are never needed here: devices, sockets, pipes,
//! hard links, extended attributes, whiteouts, and paths outside the root. Every time is the beginning of 1970, so that a
//! layer's digest depends only on its files, and nodes pull it only if a file has changed.

use std::collections::BTreeMap;
use std::io::Read;

use tar::{Builder, EntryType, Header};

use crate::Error;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file with its content.
    File(Vec<u8>),
    /// A symbolic link with its target.
    Link(String),
}

/// One file, directory or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Permission bits, with set-id and sticky bits: the lowest twelve.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u64, u64),
}

impl Entry {
    /// A directory that root owns.
    #[must_use]
    pub fn directory(mode: u32) -> Self {
        Self { kind: EntryKind::Directory, mode, owner: (0, 0) }
    }

    /// A file that root owns.
    #[must_use]
    pub fn file(mode: u32, content: &[u8]) -> Self {
        Self { kind: EntryKind::File(content.to_vec()), mode, owner: (0, 0) }
    }

    /// A symbolic link that root owns. Its mode is the mode that Linux shows for every link.
    #[must_use]
    pub fn link(target: &str) -> Self {
        Self { kind: EntryKind::Link(target.to_owned()), mode: 0o777, owner: (0, 0) }
    }
}

/// Files by path. Paths are relative to the root, without a leading or trailing slash. They are sorted, so a directory is
/// always before its contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry. Rejects a path that already exists, that leads outside the root, or whose directory is not in the
    /// tree.
    pub fn insert(&mut self, path: &str, entry: Entry) -> Result<(), Error> {
        if path.is_empty() || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(Error::content(format!("path {path:?} does not name a place below the root")));
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            let parent_kind = self.0.get(parent).map(|entry| &entry.kind);
            if parent_kind != Some(&EntryKind::Directory) {
                return Err(Error::content(format!(
                    "path {path:?}: its directory {parent:?} must be added first"
                )));
            }
        }
        if self.0.insert(path.to_owned(), entry).is_some() {
            return Err(Error::content(format!("path {path:?} is listed twice")));
        }
        Ok(())
    }

    /// All entries, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// The entry at a path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.0.get(path)
    }

    /// The content of the regular file at a path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        match &self.0.get(path)?.kind {
            EntryKind::File(content) => Some(content),
            EntryKind::Directory | EntryKind::Link(_) => None,
        }
    }

    /// The tree as a tar.
    pub fn to_tar(&self) -> Result<Vec<u8>, Error> {
        let mut builder = Builder::new(Vec::new());
        for (path, entry) in self.iter() {
            append(&mut builder, path, entry)?;
        }
        Ok(builder.into_inner()?)
    }

    /// Reads a tar, and rejects entries that this type does not support.
    pub fn from_tar(tar: &[u8], place: &str) -> Result<Self, Error> {
        let mut tree = Self::new();
        for entry in tar::Archive::new(tar).entries()? {
            let mut entry = entry?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).trim_end_matches('/').to_owned();
            let read = read_entry(&mut entry, &path, place)?;
            tree.insert(&path, read).map_err(|error| Error::at(place, error.to_string()))?;
        }
        Ok(tree)
    }
}

fn append(builder: &mut Builder<Vec<u8>>, path: &str, entry: &Entry) -> Result<(), Error> {
    let mut header = Header::new_ustar();
    header.set_mode(entry.mode);
    header.set_uid(entry.owner.0);
    header.set_gid(entry.owner.1);
    header.set_mtime(0);
    header.set_size(0);
    let content: &[u8] = match &entry.kind {
        EntryKind::Directory => {
            header.set_entry_type(EntryType::Directory);
            header.set_path(format!("{path}/"))?;
            &[]
        }
        EntryKind::File(content) => {
            header.set_entry_type(EntryType::Regular);
            header.set_path(path)?;
            header.set_size(content.len() as u64);
            content
        }
        EntryKind::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            header.set_path(path)?;
            header.set_link_name(target)?;
            &[]
        }
    };
    header.set_cksum();
    builder.append(&header, content)?;
    Ok(())
}

fn read_entry(entry: &mut tar::Entry<'_, &[u8]>, path: &str, place: &str) -> Result<Entry, Error> {
    let kind = match entry.header().entry_type() {
        EntryType::Directory => EntryKind::Directory,
        EntryType::Regular => {
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            EntryKind::File(content)
        }
        EntryType::Symlink => {
            let target = entry.link_name_bytes().unwrap_or_default();
            EntryKind::Link(String::from_utf8_lossy(&target).into_owned())
        }
        other => {
            return Err(Error::at(
                place,
                format!("{path:?} is not a file, a directory or a link, but {other:?}"),
            ));
        }
    };
    let header = entry.header();
    if header.mtime()? != 0 {
        return Err(Error::at(
            place,
            format!("{path:?} carries a time ({}), so it differs from build to build", header.mtime()?),
        ));
    }
    Ok(Entry { kind, mode: header.mode()? & 0o7777, owner: (header.uid()?, header.gid()?) })
}

#[cfg(test)]
mod tests;
