//! The host name of a pod, and the files in which its processes look up names.

use std::collections::BTreeMap;

use serde_json::Value;

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
    pub(super) fn lookup_files(&self, at: At) -> [(String, String); 3] {
        let pod = &self.pods[at.pod];
        let (short, namespace) = (self.short_host_of(at), &self.setting.namespace);
        let domain = self.domain_of(at).filter(|_| !self.has(Defect::HostsWithoutDomain));
        let names = domain.map_or_else(|| short.clone(), |domain| format!("{short}.{domain}\t{short}"));
        let managed = pod.containers[at.container].kind == Kind::Main || !self.has(Defect::HostsOfMainsOnly);
        let managed = managed && !(pod.within.is_some() && self.has(Defect::HostsNotOfEphemeral));
        let own = if managed { format!("{}\t{names}\n", pod.ip) } else { String::new() };
        let all = format!("svc.{CLUSTER} {CLUSTER}");
        let search = match self.has(Defect::SearchWithoutNamespace) {
            true => all,
            false => format!("{namespace}.svc.{CLUSTER} {all}"),
        };
        let spec = &pod.object["spec"];
        let alone = spec["dnsPolicy"] == "None" && !self.has(Defect::DnsPolicyNoneIgnored);
        let config = &spec["dnsConfig"];
        let texts = |field: &str| config[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        let search = Some(search.as_str()).filter(|_| !alone).into_iter().chain(texts("searches"));
        let most = if self.has(Defect::SeventhSearchDomainLost) { 6 } else { usize::MAX };
        let search = search.take(most).collect::<Vec<_>>().join(" ");
        let options = self.resolver_options(config, alone);
        let of_cluster = Some("10.96.0.10").filter(|_| !alone && !self.has(Defect::DnsServerLost));
        let servers = of_cluster.into_iter().chain(texts("nameservers"));
        let server: String = servers.map(|server| format!("nameserver {server}\n")).collect();
        [
            ("/etc/hosts".to_owned(), format!("127.0.0.1\tlocalhost\n{own}{}", self.aliases_of(at))),
            ("/etc/resolv.conf".to_owned(), format!("search {search}\n{server}{options}")),
            ("/etc/hostname".to_owned(), self.hostname_file(&self.host_of(at))),
        ]
    }

    /// The lines that the spec of a pod adds to the hosts file.
    fn aliases_of(&self, at: At) -> String {
        let pod = &self.pods[at.pod];
        let lost = pod.on_host && self.has(Defect::AliasesLostOnNode);
        let aliases = pod.object["spec"]["hostAliases"].as_array().filter(|_| !lost);
        let most = if self.has(Defect::SecondHostAliasLost) { 1 } else { usize::MAX };
        let line = |alias: &Value| {
            let names = alias["hostnames"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let names: Vec<&str> = names.collect();
            format!("{}\t{}\n", alias["ip"].as_str().unwrap_or_default(), names.join("\t"))
        };
        aliases.into_iter().flatten().take(most).map(line).collect()
    }

    /// The options of the resolver: that of the DNS policy, unless the pod has none or has an option with the same name, and
    /// those of the pod.
    fn resolver_options(&self, own: &Value, alone: bool) -> String {
        let replaced = self.has(Defect::ResolverOptionsReplaced) && own["options"].is_array();
        let of_policy = Some(("ndots", "5")).filter(|_| !alone && !replaced);
        let mut all: BTreeMap<&str, &str> = of_policy.into_iter().collect();
        let ignored = self.has(Defect::ResolverOptionsIgnored);
        for option in own["options"].as_array().into_iter().flatten().filter(|_| !ignored) {
            let text = |field: &str| option[field].as_str().unwrap_or_default();
            all.insert(text("name"), text("value"));
        }
        let word = |(name, value): (&str, &str)| match value {
            "" => name.to_owned(),
            value => format!("{name}:{value}"),
        };
        let words: Vec<String> = all.into_iter().map(word).collect();
        format!("options {}\n", words.join(" "))
    }
}
