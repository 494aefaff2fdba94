//! Consumes resources, exactly up to the limit in the plan.
//!
//! Each consumer has its own thread, so that the runtime answers probes as long as the kernel permits this. If a consumer
//! cannot take more, this is only recorded, because consumers are meant to exhaust a resource.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use probity_script::witness::Consumed;
use probity_script::{Consumer, FILE_BLOCK, Fact, Span, file_text};

use crate::stage::Stage;
use crate::witness::Witness;

/// How often the size of a growing file is recorded.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// Starts every consumer of the plan. Their times are measured from the start of the process.
pub fn start(stage: &Stage) {
    for consumer in stage.plan().process.consume.clone() {
        let witness = stage.witness().clone();
        let body = move || run(&witness, &consumer);
        if let Err(error) = thread::Builder::new().name("consumer".to_owned()).spawn(body) {
            stage.witness().trouble("starting a consumer's thread", &error);
        }
    }
}

fn run(witness: &Witness, consumer: &Consumer) {
    let begin = |after: Option<Span>| {
        let after = after.unwrap_or_default().0;
        thread::sleep(after.saturating_sub(witness.clock().elapsed().0));
    };
    match consumer {
        Consumer::Memory { bytes, step, every, after } => {
            begin(*after);
            let step = step.map_or(bytes.0, |step| step.0);
            memory(witness, bytes.0, step.max(1), every.unwrap_or_default().0);
        }
        Consumer::Cpu { threads, lasts, after } => {
            begin(*after);
            burn(witness, *threads, lasts.0);
        }
        Consumer::Disk { path, bytes, after } => {
            begin(*after);
            disk(witness, path, bytes.0);
        }
    }
}

fn tell(witness: &Witness, resource: &str, amount: u64, error: Option<String>) {
    witness.record(&Fact::Consumed(Consumed { resource: resource.to_owned(), amount, error }));
}

/// Allocates memory, touches all of it, and never frees it.
fn memory(witness: &Witness, bytes: u64, step: u64, every: Duration) {
    let mut held: Vec<Vec<u8>> = Vec::new();
    let mut amount = 0;
    while amount < bytes {
        let size = step.min(bytes - amount);
        let mut piece = Vec::new();
        let room = usize::try_from(size).map_err(|error| error.to_string());
        let taken = room
            .and_then(|room| piece.try_reserve_exact(room).map(|()| room).map_err(|error| error.to_string()));
        match taken {
            Ok(room) => piece.resize(room, 0xA5),
            Err(error) => {
                tell(witness, "memory", amount, Some(error));
                break;
            }
        }
        held.push(black_box(piece));
        amount += size;
        tell(witness, "memory", amount, None);
        if amount < bytes {
            thread::sleep(every);
        }
    }
    // Kept until the process ends, without a thread that holds it.
    std::mem::forget(held);
}

/// Uses CPU time, and then records that it has stopped.
fn burn(witness: &Witness, threads: u16, lasts: Duration) {
    tell(witness, "cpu", u64::from(threads), None);
    let deadline = Instant::now() + lasts;
    let spin = move || {
        let mut number = 1_u64;
        while Instant::now() < deadline {
            for _ in 0..10_000 {
                number = black_box(number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(7));
            }
        }
    };
    let spawn = |_| thread::Builder::new().name("burner".to_owned()).stack_size(64 * 1024).spawn(spin);
    let burners: Vec<_> = (0..threads).map(spawn).collect();
    let mut trouble = None;
    for burner in burners {
        match burner {
            Ok(burner) => drop(burner.join()),
            Err(error) => trouble = Some(error.to_string()),
        }
    }
    tell(witness, "cpu", 0, trouble);
}

/// Lets a file grow from empty.
fn disk(witness: &Witness, path: &str, bytes: u64) {
    let mut amount = 0;
    let mut told = Instant::now();
    let block = file_text(usize::try_from(bytes).unwrap_or(FILE_BLOCK).min(FILE_BLOCK)).into_bytes();
    let outcome = File::create(path).and_then(|mut file| {
        while amount < bytes {
            let size = usize::try_from(bytes - amount).unwrap_or(FILE_BLOCK).min(FILE_BLOCK);
            amount += file.write(&block[..size])? as u64;
            if told.elapsed() >= TELL_EVERY && amount < bytes {
                tell(witness, "disk", amount, None);
                told = Instant::now();
            }
        }
        Ok(())
    });
    tell(witness, "disk", amount, outcome.err().map(|error| format!("failed to write {path}: {error}")));
}
