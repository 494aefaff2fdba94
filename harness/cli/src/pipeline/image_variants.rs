//! Which cases are left out because a node lacks the variant of the target's image that they use.
//!
//! All variants are in one archive, so a node that has the target's image and lacks a variant was given another archive.
//! A node that reports neither proves nothing: its kubelet reports new images late, and if there are many, only some.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use probity_case::manifest::variants;
use probity_cluster::{ClusterClient, ClusterError, RunOptions};
use tokio::time::Instant;

use crate::output;

/// When a node reports an image that was loaded into it: its kubelet looks for new images every 30 s, and then updates the
/// status of the node within 10 s.
const REPORTED_WITHIN: Duration = Duration::from_secs(60);
/// How often the nodes are read until then.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// A node reports at most this many images by default (`nodeStatusMaxImages`).
const MOST_REPORTED: usize = 50;

/// The names of the images that each node reports.
pub(super) type NodeImages = BTreeMap<String, BTreeSet<String>>;

/// The target's image, and whether nodes may pull it.
pub(super) struct TargetImage<'o> {
    image: &'o str,
    pull_policy: &'o str,
}

/// The images that each node reports. Waits until the nodes report the images that were loaded into them.
pub(super) async fn reported(
    cluster: &ClusterClient,
    options: &RunOptions,
    words: &BTreeSet<&str>,
) -> Result<NodeImages, ClusterError> {
    let (image, until) = (TargetImage::of(options), Instant::now() + REPORTED_WITHIN);
    let mut waited = false;
    loop {
        let nodes = cluster.node_images(&options.placement).await?;
        if !image.may_be_unreported(words, &nodes) || Instant::now() >= until {
            return Ok(nodes);
        }
        if !waited {
            output::err("probity: waiting until the nodes report the images that were loaded into them\n");
            waited = true;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl<'o> TargetImage<'o> {
    pub(super) fn of(options: &'o RunOptions) -> Self {
        Self { image: &options.image, pull_policy: &options.pull_policy }
    }

    /// Whether a node may have these variants of the image, but not report them yet: it does not report the image either.
    /// If nodes pull what they lack, this does not matter.
    fn may_be_unreported(&self, words: &BTreeSet<&str>, nodes: &NodeImages) -> bool {
        let wanted: Vec<String> =
            words.iter().filter_map(|word| variants::reference(self.image, word)).collect();
        let unreported = |images: &BTreeSet<String>| {
            images.len() < MOST_REPORTED
                && !images.contains(self.image)
                && wanted.iter().any(|wanted| !images.contains(wanted))
        };
        self.pull_policy == "Never" && nodes.values().any(unreported)
    }

    /// Why a node may lack a variant of the image. `None` if no node is known to lack it, or the nodes can pull it.
    pub(super) fn lacks(&self, word: &str, nodes: &NodeImages) -> Option<String> {
        let image = self.image;
        let Some(wanted) = variants::reference(image, word) else {
            return Some(format!(
                "it needs the variant {word} of the target's image, but {image} has no tag"
            ));
        };
        if nodes.is_empty() && self.pull_policy == "Never" {
            return Some(format!("it needs the image {wanted}, but you lack permission to read nodes"));
        }
        let lacks = |images: &BTreeSet<String>| {
            images.contains(image) && !images.contains(&wanted) && !self.is_pulled(images)
        };
        let (node, _) = nodes.iter().find(|(_, images)| lacks(images))?;
        Some(format!(
            "it needs the image {wanted}, but {node} does not report it; load the whole archive of images into the node"
        ))
    }

    /// Whether a node that reports these images pulls the variants as well: it pulled the image, because it knows the image
    /// by the digest in its registry, too.
    fn is_pulled(&self, images: &BTreeSet<String>) -> bool {
        let repository = self.image.rsplit_once(':').map_or(self.image, |(repository, _)| repository);
        let digest = |name: &String| name.strip_prefix(repository).is_some_and(|rest| rest.starts_with('@'));
        match self.pull_policy {
            "Never" => false,
            "Always" => true,
            _ => images.iter().any(digest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: &str = "a.b:5000/c:1";

    fn image(pull_policy: &str) -> TargetImage<'_> {
        TargetImage { image: IMAGE, pull_policy }
    }

    /// Nodes that report these images.
    fn nodes(images: &[&[&str]]) -> NodeImages {
        let names = |names: &&[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        (1..).zip(images).map(|(number, images)| (format!("n{number}"), names(images))).collect()
    }

    #[test]
    fn a_variant_is_missing_until_every_node_that_has_the_image_reports_it() {
        let all: &[&str] = &[IMAGE, "a.b:5000/c:1-2"];
        let why = image("Never").lacks("2", &nodes(&[all, &[IMAGE]])).unwrap_or_default();
        assert!(why.contains("a.b:5000/c:1-2, but n2 does not"), "{why}");
        assert_eq!(image("Never").lacks("2", &nodes(&[all, all])), None);
        assert_eq!(image("Never").lacks("2", &nodes(&[all, &["d:1"]])), None, "it reports only some images");
        let why = TargetImage { image: "a.b/c", pull_policy: "Always" }.lacks("2", &nodes(&[all]));
        assert!(why.as_ref().is_some_and(|why| why.contains("has no tag")), "{why:?}");
    }

    #[test]
    fn a_node_that_can_pull_a_variant_does_not_lack_it() {
        let pulled = nodes(&[&["a.b:5000/c@sha256:0", IMAGE]]);
        let loaded = nodes(&[&["docker.io/library/import-2026@sha256:0", IMAGE]]);
        let lacks = |policy: &str, nodes: &NodeImages| image(policy).lacks("2", nodes).is_some();
        let policies = ["Never", "IfNotPresent", "Always"];
        assert_eq!(policies.map(|policy| lacks(policy, &pulled)), [true, false, false]);
        assert_eq!(policies.map(|policy| lacks(policy, &loaded)), [true, true, false]);
        assert_eq!(policies.map(|policy| lacks(policy, &nodes(&[]))), [true, false, false], "no permission");
    }

    #[test]
    fn a_report_may_be_older_than_the_images_if_it_has_none_of_them() {
        let waits = |policy: &str, images: &[&str]| {
            image(policy).may_be_unreported(&BTreeSet::from(["2"]), &nodes(&[images]))
        };
        assert!(waits("Never", &["d:1"]));
        assert!(!waits("Never", &[IMAGE]), "it lacks the variant");
        assert!(!waits("Never", &["a.b:5000/c:1-2"]));
        assert!(!waits("IfNotPresent", &["d:1"]), "it may pull them");
        assert!(!image("Never").may_be_unreported(&BTreeSet::from(["2"]), &nodes(&[])), "no permission");
    }
}
