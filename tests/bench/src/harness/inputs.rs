//! The inputs: run folders with copies of recorded histories. Each copy belongs to its own case, so no two of its files are
//! the same.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use probity_model::History;
use probity_report::LogLine;
use probity_report::run_log::{ClusterFacts, Planned, RunFacts, Suite, Tool, Usage};
use sha2::{Digest as _, Sha256};

/// The compression level of the copies.
const LEVEL: i32 = 1;

/// A recorded history: its header, and the lines after it.
pub struct Recorded {
    history: History,
    events: String,
}

/// Reads the histories below a folder.
///
/// # Errors
///
/// If one cannot be read.
pub fn recorded(folder: &Path) -> io::Result<Vec<Recorded>> {
    let (mut all, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = entries.collect::<io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "zst") {
                let text = String::from_utf8(zstd::decode_all(fs::File::open(&path)?)?);
                let text = text.map_err(io::Error::other)?;
                let (first, events) = text.split_once('\n').unwrap_or_default();
                let history = History::read(&format!("{first}\n")).map_err(io::Error::other)?;
                all.push(Recorded { history, events: events.to_owned() });
            }
        }
    }
    if all.is_empty() { Err(io::Error::other("there are no recorded histories")) } else { Ok(all) }
}

/// Makes the folder of a run with this many histories.
///
/// # Errors
///
/// If a file cannot be written.
pub fn run(folder: &Path, name: &str, histories: usize, from: &[Recorded]) -> io::Result<()> {
    let mut facts = RunFacts {
        run_id: name.to_owned(),
        command: vec!["probity".to_owned(), "run".to_owned()],
        tool: Tool { name: "probity".to_owned(), ..Tool::default() },
        suite: Suite { name: "copies of recorded histories".to_owned(), ..Suite::default() },
        repeat: 1,
        ..RunFacts::default()
    }
    .versioned();
    let mut ground = ClusterFacts::default();
    let mut ended = Vec::new();
    for (at, recorded) in (0..histories).zip(from.iter().cycle()) {
        let mut header = recorded.history.header.clone();
        header.case = format!("{}-{at}", header.case.replace('=', "-"));
        header.run = name.to_owned();
        header.began_wall_us = facts.began_wall_us;
        ground.server.clone_from(&header.server);
        ground.nodes.extend(header.nodes.clone());
        let file = format!("history/{}.jsonl.zst", header.case);
        let text = serde_json::to_string(&header)? + "\n" + &recorded.events;
        write(&folder.join(&file), &zstd::encode_all(text.as_bytes(), LEVEL)?)?;
        let case = probity_case::CaseName(header.case.clone());
        facts.cases.push(Planned {
            case: case.clone(),
            source: "a copy".to_owned(),
            profile: probity_case::Profile::default(),
            judges: header.judges,
            story: "A copy of a recorded history.".to_owned(),
        });
        let sha256 = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        ended.push(LogLine::CaseEnded { case, history: file, sha256, began_us: 0, us: 60_000_000 });
    }
    let begin = [LogLine::Began(Box::new(facts)), LogLine::Ready(ground)];
    let lines = begin.into_iter().chain(ended).chain([LogLine::Finished(Usage::default())]);
    let log = lines.map(|line| line.write()).collect::<Result<String, _>>()?;
    write(&folder.join("events.ndjson"), log.as_bytes())
}

/// Copies a report this many times, as reports of different runs. Returns their paths.
///
/// # Errors
///
/// If a file cannot be written.
pub fn reports(from: &Path, run: &str, folder: &Path, count: usize) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(from)?;
    let copy = |at: usize| {
        let path = folder.join(format!("{at}.json"));
        let name = format!("\"runId\": \"{run}-{at}\"");
        write(&path, text.replacen(&format!("\"runId\": \"{run}\""), &name, 1).as_bytes())?;
        Ok(path.display().to_string())
    };
    (0..count).map(copy).collect()
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, bytes)
}
