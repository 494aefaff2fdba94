//! `probity manual`: the manual pages, one for each verb.
//!
//! A release contains them. They have the same text as `--help`, because both come from the definition of the command
//! line.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::arguments::{CommandLine, ManualArgs};
use crate::exit_status::{Exit, Failure};
use crate::{output, output_folder, run_folder};

/// Writes the pages and prints their paths.
pub(crate) fn run(args: &ManualArgs) -> Result<Exit, Failure> {
    output_folder::check("DIR", &args.folder)?;
    let mut written = String::new();
    for (name, text) in pages() {
        let path = args.folder.join(name);
        store(&path, &text)?;
        written.push_str(&format!("{}\n", path.display()));
    }
    output::out(&written)
}

fn store(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| run_folder::store(path, text)).map_err(|error| Failure::file_failed(path, error))
}

/// The name and the text of each page, from `probity.1` to the pages of nested verbs.
fn pages() -> Vec<(String, Vec<u8>)> {
    // A page for `help` would only repeat the names of the other pages.
    let mut command = CommandLine::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages);
    pages
}

fn add(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) {
    let source = format!("probity {}", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone()).source(source).manual("Probity");
    let mut text = Vec::new();
    // Writing into memory cannot fail.
    if page.render(&mut text).is_ok() {
        pages.push((page.get_filename(), text));
    }
    for verb in command.get_subcommands() {
        add(verb, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_has_a_page_and_each_page_says_whose_it_is() {
        let pages = pages();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for verb in CommandLine::command().get_subcommands() {
            let name = format!("probity-{}.1", verb.get_name());
            assert!(names.contains(&name.as_str()), "{name} is missing: {names:?}");
        }
        assert!(names.contains(&"probity.1") && names.contains(&"probity-image-load.1"), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("help") || name.contains("book")), "{names:?}");
        for (name, text) in &pages {
            let text = String::from_utf8_lossy(text);
            let title = format!(".TH {} 1", name.trim_end_matches(".1"));
            assert!(text.contains(&title), "{name}: {}", &text[..200.min(text.len())]);
            assert!(text.contains(concat!("probity ", env!("CARGO_PKG_VERSION"))), "{name}");
        }
    }

    #[test]
    fn the_pages_are_the_same_each_time() {
        assert_eq!(pages(), pages());
    }
}
