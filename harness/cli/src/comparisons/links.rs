//! Relative links from a page to the pages of reports. They still work if all the folders are moved together.

use std::path::{Component, Path, PathBuf};

use probity_page::Link;

use super::ComparedReport;

/// The link to the page of each report, if the page is in the report's folder. Links are relative to the folder of
/// `out`, or to the current folder. There is no link to a path that is not valid UTF-8.
pub(crate) fn to_pages<R>(reports: &[ComparedReport<R>], out: Option<&Path>) -> Vec<Option<Link>> {
    let base = base(out);
    let link = |one: &ComparedReport<R>| {
        let path = relative(base.as_deref()?, &one.page()?)?;
        Some(Link::relative(&path))
    };
    reports.iter().map(link).collect()
}

/// The folder that links are relative to. It may not exist yet; then one of its parents exists.
fn base(out: Option<&Path>) -> Option<PathBuf> {
    let folder = match out.and_then(Path::parent) {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let existing = folder.ancestors().find(|part| *part != Path::new("") && part.exists());
    let Some(existing) = existing else { return Some(std::env::current_dir().ok()?.join(folder)) };
    let rest = folder.strip_prefix(existing).ok()?;
    Some(existing.canonicalize().ok()?.join(rest))
}

/// A path relative to a folder, with slashes. Both must be absolute.
fn relative(from: &Path, to: &Path) -> Option<String> {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from[shared..].iter().map(|_| Some(".."));
    let down = to[shared..].iter().map(|part| part.as_os_str().to_str());
    let parts: Option<Vec<&str>> = up.chain(down).collect();
    Some(parts?.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_where_the_page_lies() {
        let of = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(of("/out", "/out/a/report.html").as_deref(), Some("a/report.html"));
        assert_eq!(of("/out/pages", "/out/a/report.html").as_deref(), Some("../a/report.html"));
        assert_eq!(of("/x", "/y/report.html").as_deref(), Some("../y/report.html"));
    }
}
