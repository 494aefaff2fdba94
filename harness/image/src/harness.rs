//! The contents of the image of `probity`: one static program, and nothing else.
//!
//! A run inside the cluster needs this image. The image has no certificate authorities, because the service account
//! provides the cluster's own certificate authority.

use crate::agnhost::USER;
use crate::{Archive, Entry, Error, Facts, Image, ImageName, Layer, Program, Settings, Tree};

/// The default repository of the image.
pub const REPOSITORY: &str = "probity.local/probity";

/// The image of a program in an archive.
pub fn archive(program: &Program, facts: &Facts, repository: &str, tag: &str) -> Result<Archive, Error> {
    let mut tree = Tree::new();
    tree.insert("probity", Entry::file(0o755, program.bytes()))?;
    // The default working directory of a run.
    tree.insert("tmp", Entry::directory(0o1777))?;
    let layer = Layer::pack(&tree)?;
    let image = Image::build(vec![ImageName::new(repository, tag)?], &layer, &settings(program, facts))?;
    Archive::new(vec![image])
}

fn settings(program: &Program, facts: &Facts) -> Settings {
    Settings {
        architecture: program.architecture().clone(),
        created: facts.created,
        user: USER.to_owned(),
        entrypoint: vec!["/probity".to_owned()],
        cmd: vec!["--help".to_owned()],
        working_dir: "/tmp".to_owned(),
        exposed_ports: Vec::new(),
        stop_signal: None,
        labels: facts.labels("probity", "A conformance harness for Kubernetes probes and pod lifecycle"),
        created_by: "probity-image: probity".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_archive_reads_back_and_holds_the_program() {
        let program = Program::new(crate::elf::sample(62, 1, b"code")).unwrap();
        let facts =
            Facts { version: "1.0.0".to_owned(), revision: "abc".to_owned(), created: 0, source: None };
        let tar = archive(&program, &facts, REPOSITORY, "dev").unwrap().to_tar().unwrap();
        let archive = Archive::from_tar(&tar).unwrap();
        let [image] = archive.images() else { panic!("one image") };
        assert_eq!(image.names()[0].to_string(), "probity.local/probity:dev");
        assert_eq!(image.files().unwrap().file("probity"), Some(program.bytes()));
    }
}
