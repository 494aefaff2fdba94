//! Drop-ins for the agnhost commands that probe and lifecycle tests use, so that a manifest written for agnhost works
//! with only the image changed: the flags, ports, endpoints, exit statuses and log lines are the same.
//!
//! `docs/agnhost.md` lists what is the same and what differs. The drop-ins do not run shell commands and do not store
//! uploads. They follow no plan and write no witness lines; `agnhost-rs serve` does both. This crate does not depend on
//! the rest of the target.

mod connect;
mod entrypoint_tester;
mod go;
mod grpc_health_checking;
mod liveness;
mod logs_generator;
mod mounttest;
mod netexec;
mod pause;
mod port_forward_tester;
mod porter;
mod serve_hostname;
mod tcp_reset;
mod test_webserver;

use std::future::Future;
use std::process::ExitCode;

use clap::Subcommand;

pub use go::flags::KlogFlags;

/// A command of agnhost.
#[derive(Debug, Subcommand)]
#[command(args_override_self = true)]
pub enum Dropin {
    /// Answers over HTTP(S) and UDP: echo, dial, exit, readiness (agnhost's netexec)
    Netexec(netexec::NetexecFlags),
    /// Answers health checks with success for 10 seconds, then with failure (agnhost's liveness)
    Liveness,
    /// Answers gRPC health checks with a status that HTTP requests change (agnhost's grpc-health-checking)
    GrpcHealthChecking(grpc_health_checking::GrpcHealthFlags),
    /// Waits for a signal and reaps inherited child processes (agnhost's pause; also for pod sandboxes)
    Pause,
    /// Serves the files of its file system (agnhost's test-webserver)
    TestWebserver(test_webserver::TestWebserverFlags),
    /// Answers with the name of its host (agnhost's serve-hostname)
    ServeHostname(serve_hostname::ServeHostnameFlags),
    /// Connects once and reports the kind of error (agnhost's connect)
    Connect(connect::ConnectFlags),
    /// Prints its arguments (agnhost's entrypoint-tester)
    #[command(disable_help_flag = true)]
    EntrypointTester(entrypoint_tester::EntrypointTesterFlags),
    /// Prints owner, mode and content of files, and writes some (agnhost's mounttest)
    Mounttest(mounttest::MounttestFlags),
    /// Serves texts on the ports that environment variables name (agnhost's porter)
    Porter(porter::PorterFlags),
    /// Resets each connection after one byte (agnhost's tcp-reset)
    TcpReset(tcp_reset::TcpResetFlags),
    /// Sends chunks over one connection (agnhost's port-forward-tester)
    PortForwardTester,
    /// Writes log lines evenly over some time (agnhost's logs-generator)
    LogsGenerator(logs_generator::LogsGeneratorFlags),
}

impl Dropin {
    /// Runs the command to its end.
    pub fn run(self) -> ExitCode {
        go::text::process_start();
        match self {
            Self::Netexec(flags) => netexec::run(flags),
            Self::Liveness => liveness::run(),
            Self::GrpcHealthChecking(flags) => grpc_health_checking::run(flags),
            Self::Pause => pause::run(),
            Self::TestWebserver(flags) => test_webserver::run(&flags),
            Self::ServeHostname(flags) => serve_hostname::run(&flags),
            Self::Connect(flags) => connect::run(&flags),
            Self::EntrypointTester(flags) => entrypoint_tester::run(&flags),
            Self::Mounttest(flags) => mounttest::run(&flags),
            Self::Porter(flags) => porter::run(&flags),
            Self::TcpReset(flags) => tcp_reset::run(&flags),
            Self::PortForwardTester => port_forward_tester::run(),
            Self::LogsGenerator(flags) => logs_generator::run(&flags),
        }
    }
}

/// Runs a server on a small runtime. Call it after signal handling is set up.
fn serve(work: impl Future<Output = ExitCode>) -> ExitCode {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => go::klog::fatal(format!("cannot start the runtime: {error}")),
    }
}
