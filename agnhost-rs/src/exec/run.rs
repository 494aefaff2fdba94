//! The command's side: it asks what to do, does it, and reports the result.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use probity_script::answer::{CommandOrders, ExecAnswer, ExecSettings};

use super::ExecArgs;
use super::command;
use super::protocol::{self, ExecHello, ExecReply, ExecReport};
use crate::clock::Clock;
use crate::lifecycle::{self, SignalQueue};

/// The exit status if the plan is needed but there is no serving process.
const NO_SERVER: u8 = 125;
/// The exit status if the plan does not have the name.
const UNKNOWN: u8 = 126;
/// How long a command that needs the plan tries to reach the server. A hook may run before the server has started.
const SERVER_STARTS: Duration = Duration::from_secs(1);
/// How long a command that needs only its flags tries to reach the server.
const COURTESY: Duration = Duration::from_millis(50);
/// How long the server may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

pub(super) fn run(args: ExecArgs) -> ExitCode {
    let clock = Clock::start();
    let Ok(queue) = SignalQueue::open() else {
        return refuse(NO_SERVER, "failed to block signals");
    };
    let name = args.name.clone();
    let alone = args.flags.clone().over(&ExecAnswer::Succeed);
    let keeps_output = args.fork_keeps_output;
    let (orders, server) = match ask(args, &clock) {
        Ok((ExecReply::Orders(orders), server)) => (orders, Some(server)),
        Ok((ExecReply::Unknown { names }, _)) => {
            let name = name.as_deref().unwrap_or_default();
            return refuse(
                UNKNOWN,
                &format!("the plan's exec has no `{name}`; it has: {}", names.join(", ")),
            );
        }
        Err(_) if name.is_none() => (alone, None),
        Err(error) => {
            let why = "a command with a name needs `agnhost-rs serve` in the same container";
            return refuse(NO_SERVER, &format!("failed to ask what to do: {error}; {why}"));
        }
    };
    let mut running = RunningCommand { queue, server, orders };
    running.print();
    running.sleep();
    running.fork(name.as_deref(), keeps_output);
    let exit = running.orders.settings.exit;
    running.tell(&ExecReport::Ended(exit));
    ExitCode::from(exit)
}

fn refuse(status: u8, why: &str) -> ExitCode {
    let _ = writeln!(io::stderr().lock(), "agnhost-rs exec: {why}");
    ExitCode::from(status)
}

fn ask(args: ExecArgs, clock: &Clock) -> io::Result<(ExecReply, UnixStream)> {
    let mut server = protocol::connect(if args.name.is_some() { SERVER_STARTS } else { COURTESY })?;
    let command = Box::new(command::look(clock));
    server.set_read_timeout(Some(ANSWER))?;
    server.set_write_timeout(Some(ANSWER))?;
    protocol::send(&mut server, &ExecHello::Exec { name: args.name, flags: args.flags, command })?;
    let reply = protocol::receive(&mut server)?;
    Ok((reply, server))
}

/// A command with known instructions.
struct RunningCommand {
    queue: SignalQueue,
    server: Option<UnixStream>,
    orders: CommandOrders,
}

impl RunningCommand {
    /// Prints the output. If nobody reads the output, the exit status does not change.
    fn print(&self) {
        let ExecSettings { print, print_error, print_bytes, .. } = &self.orders.settings;
        if let Some(text) = print_error {
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
        let mut out = io::stdout().lock();
        if let Some(text) = print {
            let _ = writeln!(out, "{text}");
        }
        let mut left = print_bytes.map_or(0, |size| size.0);
        let row = [[b'x'; 63].as_slice(), b"\n"].concat();
        while left > 0 {
            let part = usize::try_from(left).unwrap_or(row.len()).min(row.len());
            if out.write_all(&row[row.len() - part..]).is_err() {
                break;
            }
            left -= part as u64;
        }
        let _ = out.flush();
    }

    /// Waits, and records signals, one of which may end the command.
    fn sleep(&mut self) {
        let sleep = self.orders.settings.sleep.unwrap_or_default().0;
        let deadline = (!self.orders.hang).then(|| Instant::now() + sleep);
        while let Ok(Some(caught)) = self.queue.next(deadline) {
            if caught.is_of_a_child() {
                continue;
            }
            let ends = caught.asks_to_end() && !self.orders.settings.ignore_term;
            let answer = if ends { "ends" } else { "noted" }.to_owned();
            self.tell(&ExecReport::Signal { signal: caught.to_string(), answer });
            if ends {
                self.queue.yield_to(caught);
            }
        }
    }

    fn fork(&self, name: Option<&str>, keeps_output: bool) {
        let Some(lives) = self.orders.settings.fork else { return };
        let name = format!("left by exec {}", name.unwrap_or("-"));
        if let Err(error) = lifecycle::spawn(&name, Some(lives), &[], keeps_output) {
            let _ = writeln!(io::stderr().lock(), "agnhost-rs exec: failed to leave a child behind: {error}");
        }
    }

    /// Reports to the server, if it still exists.
    fn tell(&mut self, news: &ExecReport) {
        if let Some(server) = &mut self.server {
            let _ = protocol::send(server, news);
        }
    }
}
