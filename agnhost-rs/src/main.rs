//! The command line of agnhost-rs: its own commands, agnhost's, and `pause` when none is given.

use std::process::ExitCode;

use agnhost_rs::cli::{Command, CommandLine, ServeOrder};
use agnhost_rs::clock::Clock;
use agnhost_rs::identity;
use agnhost_rs::lifecycle::{self, Doors, Mailbox};
use agnhost_rs::recorder;
use agnhost_rs::stage::Stage;
use agnhost_rs::witness::{Identity, Outlet, Witness};
use clap::Parser;
use probity_script::Fact;
use probity_script::witness::Started;

fn main() -> ExitCode {
    let clock = Clock::start();
    let Ok(mailbox) = Mailbox::open() else { return ExitCode::FAILURE };
    let command = CommandLine::parse().chosen();
    if let Command::Serve(args) = command {
        return args.run(|order| serve(clock, mailbox, order).unwrap_or(ExitCode::FAILURE));
    }
    mailbox.release();
    match command {
        Command::Schema(args) => args.run(),
        Command::Recorder(args) => recorder::run(&args, clock),
        Command::Exec(args) => args.run(),
        Command::Child(args) => args.run(),
        Command::Dump(args) => args.run(),
        Command::Trial(args) => args.run(),
        Command::Dropin(dropin) => dropin.run(),
        Command::Serve(_) => ExitCode::FAILURE,
    }
}

fn serve(clock: Clock, mailbox: Mailbox, order: ServeOrder) -> Option<ExitCode> {
    let plan = order.plan;
    let boot = identity::random_name();
    let seed = plan.seed;
    let witness = Witness::new(clock, Identity { boot, attempt: 0, attempt_known: false }, 1 << 20);
    witness.add(Outlet::stdout(1 << 20));
    witness.record(&Fact::Started(Started {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        args: std::env::args().collect(),
        host: identity::host(),
        plan: String::new(),
        seed,
        attempt_known: false,
        began_mono_us: clock.began_mono_us(),
        identity: identity::from_environment(),
    }));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().ok()?;
    let stage = Stage::new(plan, witness);
    runtime.block_on(async {
        lifecycle::begin(&stage, &Doors::default(), mailbox, order.stop_signals.into_iter().collect()).await;
        std::future::pending().await
    })
}
