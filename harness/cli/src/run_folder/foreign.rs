//! The files of another person's run: a folder, or a packed run.
//!
//! None of these files is trusted. Only regular files inside the folder are read, links are not followed, and a file is
//! not read beyond the maximum size of a real file. A packed run is never written to disk.

use std::borrow::Cow;
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use probity_image::Tree;
use probity_report::{Histories, ReadHistory};

use super::{HistoryFile, history_from, is_history, too_large, unpack};

/// The maximum depth of a run's folders. A chapter and a variant of a case need a few levels.
const DEEPEST: usize = 16;

/// The files of a run.
pub(crate) enum RunFiles {
    /// A folder.
    Folder(PathBuf),
    /// A packed run.
    Packed(Tree),
}

impl RunFiles {
    /// The bytes of a file. Fails if it does not exist or must not be read. The error does not contain its name.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Packed(tree) => {
                tree.file(name).map(<[u8]>::to_vec).ok_or_else(|| "it is missing".to_owned())
            }
            Self::Folder(folder) => {
                let (bytes, cut) = unpack(regular(folder, name)?);
                cut.map_or(Ok(bytes), Err)
            }
        }
    }

    /// The text of a file.
    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        String::from_utf8(self.bytes(name)?).map_err(|error| format!("it is not text: {error}"))
    }

    /// Whether anything has this name: a file, a folder or a link.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Packed(tree) => tree.get(name).is_some(),
            Self::Folder(folder) => fs::symlink_metadata(folder.join(name)).is_ok(),
        }
    }

    /// The names of everything in a subfolder, except folders, sorted.
    pub(crate) fn below(&self, name: &str) -> Vec<String> {
        let mut names = Vec::new();
        match self {
            Self::Packed(tree) => {
                let inside = tree.iter().map(|(path, _)| path.to_owned());
                names.extend(inside.filter(|path| path.starts_with(name) && tree.file(path).is_some()));
            }
            Self::Folder(folder) => {
                // A link here would lead outside the folder as well.
                if fs::symlink_metadata(folder.join(name)).is_ok_and(|found| found.is_dir()) {
                    collect(folder, Path::new(name), 0, &mut names);
                }
            }
        }
        names.sort();
        names
    }

    /// The names of all histories.
    pub(crate) fn histories(&self) -> Vec<String> {
        let mut names = self.below("history");
        names.retain(|name| is_history(Path::new(name)));
        names
    }

    /// The name of the file with a history that the log names. It is compressed, or plain if the user has unpacked it.
    pub(crate) fn name_of_history<'n>(&self, name: &'n str) -> &'n str {
        let plain = name.trim_end_matches(".zst");
        if self.has(name) || !self.has(plain) { name } else { plain }
    }
}

impl Histories for RunFiles {
    fn read_history(&self, file: &str) -> Result<Cow<'_, ReadHistory>, String> {
        let bytes = self.bytes(self.name_of_history(file))?;
        let HistoryFile { history, sha256, torn } = history_from(bytes.as_slice())?;
        match torn {
            Some(torn) => Err(torn),
            None => Ok(Cow::Owned(ReadHistory { sha256, history })),
        }
    }

    fn has_history(&self, file: &str) -> bool {
        self.has(self.name_of_history(file))
    }
}

/// Opens a regular file inside a folder.
fn regular(folder: &Path, name: &str) -> Result<File, String> {
    let mut path = folder.to_owned();
    let parts: Vec<Component<'_>> = Path::new(name).components().collect();
    if parts.is_empty() || !parts.iter().all(|part| matches!(part, Component::Normal(_))) {
        return Err("the log names a path outside the run's folder".to_owned());
    }
    let mut found = None;
    for part in parts {
        path.push(part);
        let metadata = fs::symlink_metadata(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "it is missing".to_owned(),
            _ => error.to_string(),
        })?;
        if metadata.is_symlink() {
            return Err(format!("{} is a link, which may lead outside the run's folder", path.display()));
        }
        found = Some(metadata);
    }
    let found = found.filter(fs::Metadata::is_file).ok_or("it is not a regular file")?;
    if found.len() >= super::LARGEST {
        return Err(too_large());
    }
    File::open(&path).map_err(|error| error.to_string())
}

/// Collects the names below a folder. Links are included but not followed.
fn collect(root: &Path, at: &Path, depth: usize, names: &mut Vec<String>) {
    // Files in a folder that cannot be listed cannot be read either. If the log names them, they are missing.
    let Ok(entries) = fs::read_dir(root.join(at)) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = at.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEEPEST => collect(root, &path, depth + 1, names),
            _ => names.push(path.display().to_string()),
        }
    }
}
