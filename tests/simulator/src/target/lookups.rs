//! The host name of a pod, and the files in which its processes look up names.

use crate::Defect;
use crate::pod::Kind;
use crate::world::{At, World};

/// The domain of the cluster.
const CLUSTER: &str = "cluster.local";

impl World<'_> {
    /// The domain of a pod with a subdomain.
    fn domain_of(&self, at: At) -> Option<String> {
        let subdomain = self.pods[at.pod].object["spec"]["subdomain"].as_str()?;
        Some(format!("{subdomain}.{}.svc.{CLUSTER}", self.setting.namespace))
    }

    /// The host name in a container.
    pub(super) fn host_of(&self, at: At) -> String {
        let short = self.short_host_of(at);
        let asked = self.pods[at.pod].object["spec"]["setHostnameAsFQDN"] == true;
        let domain = self.domain_of(at).filter(|_| asked && !self.has(Defect::HostnameNeverQualified));
        domain.map_or_else(|| short.clone(), |domain| format!("{short}.{domain}"))
    }

    /// The files in which a process looks up names, with their content.
    pub(super) fn lookup_files(&self, at: At) -> [(String, String); 2] {
        let pod = &self.pods[at.pod];
        let (short, namespace) = (self.short_host_of(at), &self.setting.namespace);
        let domain = self.domain_of(at).filter(|_| !self.has(Defect::HostsWithoutDomain));
        let names = domain.map_or_else(|| short.clone(), |domain| format!("{short}.{domain}\t{short}"));
        let managed = pod.containers[at.container].kind == Kind::Main || !self.has(Defect::HostsOfMainsOnly);
        let own = if managed { format!("{}\t{names}\n", pod.ip) } else { String::new() };
        let all = format!("svc.{CLUSTER} {CLUSTER}");
        let search = match self.has(Defect::SearchWithoutNamespace) {
            true => all,
            false => format!("{namespace}.svc.{CLUSTER} {all}"),
        };
        [
            ("/etc/hosts".to_owned(), format!("127.0.0.1\tlocalhost\n{own}")),
            ("/etc/resolv.conf".to_owned(), format!("search {search}\nnameserver 10.96.0.10\n")),
        ]
    }
}
