//! What the process waits for before it continues: environment variables and dependencies.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use probity_script::witness::Waited;
use probity_script::{Dependency, Fact};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::end;
use crate::client;
use crate::witness::Witness;

/// The exit status of a configuration error, as in sysexits.
const MISCONFIGURED: u8 = 78;
/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time from the start of one attempt to the next.
const AGAIN: Duration = Duration::from_millis(100);

/// Ends the process with status 78 if one of these variables is not set. An empty variable counts as set.
pub fn require_env(witness: &Witness, names: &[String]) {
    let missing: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| std::env::var_os(name).is_none()).collect();
    if missing.is_empty() {
        return;
    }
    let why = format!("not set in the environment: {}", missing.join(", "));
    let _ = writeln!(
        std::io::stderr().lock(),
        "agnhost-rs: {why}\nThe plan names them in process.require-env; set them in the container's env."
    );
    end(witness, MISCONFIGURED, &why)
}

/// Waits for all of these in sequence, without a limit.
pub async fn wait_for(witness: &Witness, dependencies: &[Dependency]) {
    for dependency in dependencies {
        let began = Instant::now();
        let mut tries = 1;
        loop {
            let looked = tokio::time::Instant::now();
            if is_there(dependency).await {
                break;
            }
            tries += 1;
            tokio::time::sleep_until(looked + AGAIN).await;
        }
        let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        witness.record(&Fact::Waited(Waited { what: described(dependency), tries, took_us }));
    }
}

async fn is_there(dependency: &Dependency) -> bool {
    match dependency {
        Dependency::Http(url) => client::get(url, PATIENCE).await.is_ok_and(|answer| answer.status < 400),
        Dependency::Tcp(address) => {
            timeout(PATIENCE, TcpStream::connect(address.as_str())).await.is_ok_and(|tried| tried.is_ok())
        }
        Dependency::Dns(name) => timeout(PATIENCE, lookup_host((name.as_str(), 0)))
            .await
            .is_ok_and(|found| found.is_ok_and(|mut addresses| addresses.next().is_some())),
        Dependency::File(path) => Path::new(path).exists(),
    }
}

fn described(dependency: &Dependency) -> String {
    match dependency {
        Dependency::Http(what) => format!("http {what}"),
        Dependency::Tcp(what) => format!("tcp {what}"),
        Dependency::Dns(what) => format!("dns {what}"),
        Dependency::File(what) => format!("file {what}"),
    }
}
