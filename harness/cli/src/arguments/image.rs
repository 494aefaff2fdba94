//! The flags of `probity image`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Loads or pushes the image
#[derive(Args, Debug)]
pub(crate) struct ImageArgs {
    #[command(subcommand)]
    pub(crate) verb: ImageVerb,
}

/// The verbs of `probity image`.
#[derive(Debug, Subcommand)]
pub(crate) enum ImageVerb {
    /// Checks the archive and writes it to a file
    Save {
        /// The file to write; - is standard output
        file: PathBuf,
        #[command(flatten)]
        from: ArchiveArgs,
    },
    /// Loads the archive into a cluster, with the tool of that cluster
    Load {
        #[command(flatten)]
        into: LoadArgs,
        #[command(flatten)]
        from: ArchiveArgs,
        /// Only print the command
        #[arg(long)]
        print: bool,
    },
    /// Writes the archive of an image of this program, for runs inside the cluster; load or push it with --archive
    #[command(name = "self")]
    Own {
        /// The file
        file: PathBuf,
        /// Use this statically linked program instead of the running one, for example for another architecture
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Joins archives of several architectures into one; after a push, each node pulls the image for its architecture
    Join {
        /// The file to write
        file: PathBuf,
        /// One archive for each architecture
        #[arg(required = true, num_args = 2.., value_name = "ARCHIVE")]
        archives: Vec<PathBuf>,
    },
    /// Pushes the images in the archive to a registry, with skopeo
    Push {
        /// Registry and repository, such as registry.example.com/probity/agnhost-rs; each image keeps its tag
        repository: String,
        #[command(flatten)]
        from: ArchiveArgs,
        /// Only print the commands
        #[arg(long)]
        print: bool,
    },
}

/// Where the archive is.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ArchiveArgs {
    /// Use this archive [default: agnhost-rs.tar next to this program, otherwise target/image/agnhost-rs.tar]
    #[arg(long, value_name = "FILE")]
    pub(crate) archive: Option<PathBuf>,
}

/// Where the images are loaded.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct LoadArgs {
    /// Load into the kind cluster with this name
    #[arg(long, value_name = "NAME")]
    pub(crate) kind: Option<String>,
    /// Load into containerd on this machine
    #[arg(long)]
    pub(crate) containerd: bool,
    /// Load into k3s on this machine
    #[arg(long)]
    pub(crate) k3s: bool,
    /// Load into the minikube cluster with this profile
    #[arg(long, value_name = "PROFILE")]
    pub(crate) minikube: Option<String>,
    /// Load into docker on this machine
    #[arg(long)]
    pub(crate) docker: bool,
    /// Load into podman on this machine
    #[arg(long)]
    pub(crate) podman: bool,
    /// Load with this command, which reads the archive from its standard input, such as "ssh NODE ctr -n k8s.io
    /// images import -"
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}
