//! How many lines a recorder takes, and what that costs it.
//!
//! It starts itself again as the recorder, so that only the recorder's own time and memory are counted, sends it
//! lines from several connections at a fixed rate, and prints one JSON object. Usage: `recorder-load [LINES_PER_SECOND
//! [SECONDS [CONNECTIONS]]]`; a rate of 0 means as fast as it goes.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use agnhost_rs::clock::Clock;
use agnhost_rs::recorder::{RecorderArgs, run};
use clap::Parser;

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Parser)]
struct Role {
    #[command(flatten)]
    args: RecorderArgs,
}

fn main() -> ExitCode {
    if env::args().nth(1).as_deref() == Some("record") {
        let role = Role::parse_from(env::args().skip(1));
        return run(&role.args, Clock::start());
    }
    match measure() {
        Ok(result) => {
            let _ = writeln!(std::io::stdout().lock(), "{result}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr().lock(), "recorder-load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<serde_json::Value, Failure> {
    let number = |nth, otherwise: u64| env::args().nth(nth).map_or(Ok(otherwise), |text| text.parse());
    let (rate, seconds, connections) = (number(1, 20_000)?, number(2, 10)?, number(3, 20)?);
    let mut recorder = Command::new(env::current_exe()?)
        .args([
            "record",
            "--address",
            "127.0.0.1",
            "--ingest-port",
            "0",
            "--query-port",
            "0",
            "--token",
            "load",
        ])
        .stdout(Stdio::piped())
        .spawn()?;
    let result = drive(&mut recorder, rate, seconds, connections);
    recorder.kill()?;
    recorder.wait()?;
    result
}

fn drive(
    recorder: &mut Child,
    rate: u64,
    seconds: u64,
    connections: u64,
) -> Result<serde_json::Value, Failure> {
    let mut told = String::new();
    BufReader::new(recorder.stdout.take().ok_or("no output")?).read_line(&mut told)?;
    let addresses: Vec<&str> = told.split([' ', ',']).filter(|word| word.contains("127.0.0.1")).collect();
    let [ingest, query] = addresses[..] else { return Err(told.into()) };
    let (ingest, query) = (ingest.to_owned(), query.trim().to_owned());
    let before = processor_seconds(recorder.id())?;
    let began = Instant::now();
    let senders: Vec<_> = (0..connections)
        .map(|n| {
            let ingest = ingest.clone();
            thread::spawn(move || send(&ingest, n, rate / connections, Duration::from_secs(seconds)))
        })
        .collect();
    let (mut lines, mut bytes) = (0, 0);
    for sender in senders {
        let sent = sender.join().map_err(|_| "a sender failed")??;
        lines += sent.0;
        bytes += sent.1;
    }
    while metric(&query, "lines_total")? < lines && began.elapsed() < Duration::from_secs(seconds + 10) {
        thread::sleep(Duration::from_millis(5));
    }
    let (took, used) = (began.elapsed().as_secs_f64(), processor_seconds(recorder.id())? - before);
    let taken = metric(&query, "lines_total")?;
    Ok(serde_json::json!({
        "lines_sent": lines, "lines_taken": taken, "missing": metric(&query, "missing_lines_total")?,
        "bytes_a_line": bytes / lines.max(1), "seconds": took, "lines_a_second": taken as f64 / took,
        "cores": used / took, "microseconds_a_line": used * 1e6 / taken as f64,
        "memory_bytes": metric(&query, "memory_bytes")?, "peak_resident_kib": status(recorder.id(), "VmHWM:")?,
        "stalls": metric(&query, "stalls_total")?,
    }))
}

/// Lines as targets send them: what came together within a millisecond in one write.
fn send(ingest: &str, n: u64, rate: u64, time: Duration) -> Result<(u64, u64), Failure> {
    let mut stream = TcpStream::connect(ingest)?;
    stream.set_nodelay(true)?;
    let boot = format!("load{n}");
    writeln!(stream, r#"{{"v":1,"boot":"{boot}","attempt":0,"hello":0,"identity":{{}}}}"#)?;
    BufReader::new(&stream).read_line(&mut String::new())?;
    let began = Instant::now();
    let (mut seq, mut bytes) = (0, 0);
    let mut batch = String::new();
    while began.elapsed() < time {
        let due = if rate == 0 { seq + 200 } else { (began.elapsed().as_secs_f64() * rate as f64) as u64 };
        batch.clear();
        while seq < due {
            batch.push_str(&line(&boot, seq));
            seq += 1;
        }
        stream.write_all(batch.as_bytes())?;
        bytes += batch.len() as u64;
        if rate != 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok((seq, bytes))
}

fn line(boot: &str, seq: u64) -> String {
    format!(
        "{{\"v\":1,\"boot\":\"{boot}\",\"attempt\":0,\"seq\":{seq},\"mono_us\":123456789,\"wall_us\":1760000000000000,\
         \"fact\":{{\"request\":{{\"conn\":{seq},\"nth\":1,\"probe\":{seq},\"method\":\"GET\",\"target\":\"/healthz\",\
         \"protocol\":\"HTTP/1.1\",\"headers\":[[\"Host\",\"10.244.0.17:8080\"],[\"User-Agent\",\"kube-probe/1.34\"],\
         [\"Accept\",\"*/*\"],[\"Connection\",\"close\"]],\"first_byte_us\":123456780}}}}}}\n"
    )
}

fn metric(query: &str, name: &str) -> Result<u64, Failure> {
    let mut stream = TcpStream::connect(query)?;
    write!(stream, "GET /metrics HTTP/1.0\r\nAuthorization: Bearer load\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let wanted = format!("probity_recorder_{name} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&wanted)).ok_or("no such measure")?;
    Ok(value.parse()?)
}

fn processor_seconds(pid: u32) -> Result<f64, Failure> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(ticks as f64 / 100.0)
}

fn status(pid: u32, name: &str) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such field")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
