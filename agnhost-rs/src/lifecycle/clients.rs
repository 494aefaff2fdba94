//! Traffic that the process sends: a limited number of requests at a steady pace, each of which is recorded.
//!
//! The pace does not depend on the answers: a request that is due while too many are waiting is recorded as skipped,
//! so the witness shows the time of every request that was sent or should have been.

use std::sync::Arc;
use std::time::Instant;

use probity_script::witness::Call;
use probity_script::{Client, Fact};
use tokio::sync::Semaphore;

use crate::client::{self, ClientResponse};
use crate::stage::Stage;
use crate::witness::Witness;

/// The default maximum number of requests that wait at the same time.
const AT_ONCE: u16 = 64;
/// The longest host name that is accepted from an answer.
const LONGEST_HOST: usize = 253;

/// Starts every client of the plan. Their times are measured from the start of the process.
pub fn start(stage: &Stage) {
    for client in stage.plan().process.clients.clone() {
        tokio::spawn(send(stage.witness().clone(), client));
    }
}

async fn send(witness: Witness, client: Client) {
    let after = client.after.unwrap_or_default().0;
    tokio::time::sleep(after.saturating_sub(witness.clock().elapsed().0)).await;
    let every = client.pace().0;
    let at_once = usize::from(client.at_once.unwrap_or(AT_ONCE));
    let free = Arc::new(Semaphore::new(at_once));
    let mut due = tokio::time::Instant::now();
    let end = due + client.lasts.0;
    let client = Arc::new(client);
    while due < end {
        tokio::time::sleep_until(due).await;
        due += every;
        let Ok(permit) = Arc::clone(&free).try_acquire_owned() else {
            let error = Some(format!("skipped: {at_once} requests wait for their answers"));
            witness.record(&Fact::Call(call(&client, error)));
            continue;
        };
        let (witness, client) = (witness.clone(), Arc::clone(&client));
        tokio::spawn(async move {
            let _permit = permit;
            ask(&witness, &client).await;
        });
    }
}

fn call(client: &Client, error: Option<String>) -> Call {
    let (by, url) = (client.name.clone(), client.url.clone());
    Call { by, url, status: None, answered_by: None, error, took_us: 0 }
}

async fn ask(witness: &Witness, client: &Client) {
    let began = Instant::now();
    let outcome = client::get(&client.url, client.patience().0).await;
    let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let seen = match outcome {
        Ok(answer) => Call { status: Some(answer.status), answered_by: host(&answer), ..call(client, None) },
        Err(error) => call(client, Some(error.to_string())),
    };
    witness.record(&Fact::Call(Call { took_us, ..seen }));
}

/// The host that a target's identity report names.
fn host(answer: &ClientResponse) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Report {
        host: String,
    }
    let report: Report = serde_json::from_slice(&answer.body).ok()?;
    Some(report.host).filter(|host| host.len() <= LONGEST_HOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_identity_report_names_a_host() {
        let named = |body: &'static str| host(&ClientResponse { status: 200, body: body.into() });
        assert_eq!(named(r#"{"host":"a-1","boot":"x"}"#).as_deref(), Some("a-1"));
        assert_eq!(named("ok"), None);
        assert_eq!(named(r#"{"host":7}"#), None);
    }
}
