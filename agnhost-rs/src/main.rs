//! Try-out main.
use std::sync::Arc;
fn main() {
    let clock = agnhost_rs::clock::Clock::start();
    let plan: probity_script::Plan =
        serde_saphyr::from_str(&std::env::var("AGNHOST_PLAN").unwrap_or_default()).unwrap_or_default();
    let identity = agnhost_rs::witness::Identity {
        boot: agnhost_rs::identity::random_name(),
        attempt: 0,
        attempt_known: false,
    };
    let witness = agnhost_rs::witness::Witness::new(clock, identity, 4 << 20);
    if std::env::var("QUIET").is_err() {
        witness.add(agnhost_rs::witness::Outlet::stdout(1 << 20));
    }
    agnhost_rs::witness::start_ticker(witness.clone(), None);
    let stage = agnhost_rs::stage::Stage::new(plan, witness);
    let doors = agnhost_rs::lifecycle::Doors::default();
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let Ok(rt) = rt else { return };
    rt.block_on(async {
        if let Err(e) = agnhost_rs::serve::start(&stage, &doors) {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), e.to_string().as_bytes());
        }
        std::future::pending::<()>().await;
    });
    let _ = Arc::new(0);
}
