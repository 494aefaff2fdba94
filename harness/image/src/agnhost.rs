//! The contents and the variants of the image of `agnhost-rs`.
//!
//! It contains one static program, the two names under which manifests for agnhost start it, the test certificate that
//! such manifests expect, and a minimal `/etc` and `/tmp`. It has no shell, no package manager and no certificate
//! authorities.

use std::collections::BTreeMap;

use crate::{Archive, Entry, Error, Image, ImageName, Layer, Program, Settings, Tree};

/// The default repository of the image.
pub const REPOSITORY: &str = "probity.local/agnhost-rs";
/// The default tag of the plain image.
pub const TAG: &str = "dev";
/// The default user and group of containers. They are numbers, so that `runAsNonRoot` can be checked.
pub const USER: &str = "65532:65532";
/// The label that distinguishes the variants.
pub const VARIANT_LABEL: &str = "local.probity.variant";

const CERTIFICATE: &[u8] = include_bytes!("../../../agnhost-rs/image/localhost.crt");
const KEY: &[u8] = include_bytes!("../../../agnhost-rs/image/localhost.key");
const PASSWD: &[u8] = include_bytes!("../../../agnhost-rs/image/passwd");
const GROUP: &[u8] = include_bytes!("../../../agnhost-rs/image/group");
/// The ports that agnhost's sub-commands serve by default.
const PORTS: [&str; 7] = ["80/tcp", "5000/tcp", "8080/tcp", "8081/tcp", "8081/udp", "9376/tcp", "9376/udp"];

/// The facts about a build, apart from the program itself. They affect the bytes of the image.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The version of the program.
    pub version: String,
    /// The commit, with the suffix `-dirty` if the sources differed from it.
    pub revision: String,
    /// The time of the commit, in seconds since 1970.
    pub created: i64,
    /// The address of the sources, if they are published.
    pub source: Option<String>,
}

impl Facts {
    /// The labels that describe an image of a program from this build.
    pub(crate) fn labels(&self, title: &str, description: &str) -> BTreeMap<String, String> {
        let mut labels: BTreeMap<String, String> = [
            ("org.opencontainers.image.title", title),
            ("org.opencontainers.image.description", description),
            ("org.opencontainers.image.licenses", "Apache-2.0"),
            ("org.opencontainers.image.version", &self.version),
            ("org.opencontainers.image.revision", &self.revision),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        if let Some(source) = &self.source {
            labels.insert("org.opencontainers.image.source".to_owned(), source.clone());
        }
        labels
    }
}

/// The images of one program. They share their layer and differ in their configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Variant {
    /// The usual image, tag `dev`.
    Plain,
    /// The same behavior with another digest, tag `dev-2`. It is for clauses about a changed image.
    Second,
    /// An image with the stop signal SIGUSR1, tag `dev-sigusr1`. It is for clauses about the image's stop signal.
    Sigusr1,
}

impl Variant {
    /// Every variant, the plain one first.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Second, Self::Sigusr1];

    /// The word for the variant on a command line and in the image's label.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Second => "second",
            Self::Sigusr1 => "sigusr1",
        }
    }

    /// The tag of this variant, derived from the tag of the plain image.
    #[must_use]
    pub fn tag(self, plain: &str) -> String {
        match self {
            Self::Plain => plain.to_owned(),
            Self::Second => format!("{plain}-2"),
            Self::Sigusr1 => format!("{plain}-sigusr1"),
        }
    }

    fn stop_signal(self) -> Option<String> {
        (self == Self::Sigusr1).then(|| "SIGUSR1".to_owned())
    }
}

/// The files of the image.
pub fn tree(program: &Program) -> Result<Tree, Error> {
    let mut tree = Tree::new();
    tree.insert("agnhost-rs", Entry::file(0o755, program.bytes()))?;
    tree.insert("agnhost", Entry::link("agnhost-rs"))?;
    tree.insert("agnhost-2", Entry::link("agnhost-rs"))?;
    tree.insert("localhost.crt", Entry::file(0o644, CERTIFICATE))?;
    // Readable for everyone: the program is not root, and the key is public anyway.
    tree.insert("localhost.key", Entry::file(0o644, KEY))?;
    tree.insert("etc", Entry::directory(0o755))?;
    tree.insert("etc/passwd", Entry::file(0o644, PASSWD))?;
    tree.insert("etc/group", Entry::file(0o644, GROUP))?;
    tree.insert("tmp", Entry::directory(0o1777))?;
    Ok(tree)
}

/// How a variant is started, stopped and labeled.
#[must_use]
pub fn settings(program: &Program, facts: &Facts, variant: Variant) -> Settings {
    let mut labels =
        facts.labels("agnhost-rs", "A fault-injection target for Kubernetes probes and pod lifecycle");
    labels.insert(VARIANT_LABEL.to_owned(), variant.word().to_owned());
    Settings {
        architecture: program.architecture().clone(),
        created: facts.created,
        user: USER.to_owned(),
        entrypoint: vec!["/agnhost-rs".to_owned()],
        cmd: vec!["pause".to_owned()],
        working_dir: "/".to_owned(),
        exposed_ports: PORTS.map(str::to_owned).to_vec(),
        stop_signal: variant.stop_signal(),
        labels,
        created_by: "probity-image: agnhost-rs and its static files".to_owned(),
    }
}

/// The requested variants in one archive.
pub fn archive(
    program: &Program,
    facts: &Facts,
    variants: &[Variant],
    repository: &str,
    tag: &str,
) -> Result<Archive, Error> {
    let layer = Layer::pack(&tree(program)?)?;
    let image = |variant: &Variant| {
        let name = ImageName::new(repository, &variant.tag(tag))?;
        Image::build(vec![name], &layer, &settings(program, facts, *variant))
    };
    Archive::new(variants.iter().map(image).collect::<Result<_, _>>()?)
}
