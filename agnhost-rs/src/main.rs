//! The command line of agnhost-rs: its own commands, agnhost's, and `pause` when none is given.

use std::process::ExitCode;

use agnhost_rs::clock::Clock;
use agnhost_rs::dropin::{Dropin, KlogFlags};
use agnhost_rs::exec::ExecArgs;
use agnhost_rs::identity;
use agnhost_rs::lifecycle::{self, Caught, ChildArgs, Doors, DumpArgs, Mailbox, TrialArgs};
use agnhost_rs::stage::Stage;
use agnhost_rs::witness::{Identity, Outlet, Witness};
use clap::{Args, Parser, Subcommand};
use probity_script::witness::Started;
use probity_script::{Fact, Plan};

#[derive(Parser)]
#[command(name = "agnhost-rs", version, args_override_self = true)]
struct CommandLine {
    #[command(flatten)]
    klog: KlogFlags,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Exec(ExecArgs),
    Child(ChildArgs),
    Dump(DumpArgs),
    Trial(TrialArgs),
    Serve(ServeArgs),
    #[command(flatten)]
    Dropin(Dropin),
}

/// Serves a plan
#[derive(Args)]
struct ServeArgs {
    /// The plan itself
    #[arg(long, env = "AGNHOST_PLAN", default_value = "{}")]
    plan_inline: String,
    /// A signal that means stop, in place of SIGTERM and SIGINT
    #[arg(long)]
    stop_signal: Vec<Caught>,
}

fn main() -> ExitCode {
    let clock = Clock::start();
    let Ok(mailbox) = Mailbox::open() else { return ExitCode::FAILURE };
    let command = CommandLine::parse().command.unwrap_or(Command::Dropin(Dropin::Pause));
    if let Command::Serve(args) = command {
        return serve(clock, mailbox, args).unwrap_or(ExitCode::from(2));
    }
    mailbox.release();
    match command {
        Command::Exec(args) => args.run(),
        Command::Child(args) => args.run(),
        Command::Dump(args) => args.run(),
        Command::Trial(args) => args.run(),
        Command::Dropin(dropin) => dropin.run(),
        Command::Serve(_) => ExitCode::FAILURE,
    }
}

fn serve(clock: Clock, mailbox: Mailbox, args: ServeArgs) -> Option<ExitCode> {
    let plan: Plan = serde_saphyr::from_str(&args.plan_inline).ok()?;
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
        lifecycle::begin(&stage, &Doors::default(), mailbox, args.stop_signal.into_iter().collect()).await;
        std::future::pending().await
    })
}
