//! `test-webserver`: serves the root file system over HTTP with the headers that a proxy of the API server needs.
//!
//! Serves files and listings, never writes. `If-Modified-Since` is ignored on purpose, as in agnhost.

mod content;
mod kinds;

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::go::flags::integer;
use super::go::http::{
    Answer, Asked, Body, Reply, Server, clean_redirect, error_reply, escape_html, escape_path, join_clean,
};
use super::go::{klog, listen, signals};

/// Sent with every answer, errors apart from the first one.
const HEADERS: [(&str, &str); 5] = [
    ("cache-control", "private"),
    ("access-control-allow-origin", "*"),
    ("access-control-allow-credentials", "true"),
    ("access-control-allow-methods", "GET, POST, OPTIONS"),
    (
        "access-control-allow-headers",
        "DNT,X-Mx-ReqToken,Keep-Alive,User-Agent,X-Requested-With,Cache-Control,Content-Type",
    ),
];

/// Flags of `test-webserver`.
#[derive(Args, Debug)]
pub struct Flags {
    /// Port
    #[arg(long, default_value = "80", value_parser = integer, allow_hyphen_values = true)]
    port: i64,
}

/// Serves until a signal ends the process.
pub(super) fn run(flags: &Flags) -> ExitCode {
    signals::end_by_default();
    let port = flags.port;
    super::serve(async move {
        let listener = listen::tcp_async(port).unwrap_or_else(|error| klog::fatal(error));
        Server::new(None).run(listener, |asked| async move { answer(asked).await }).await;
        ExitCode::SUCCESS
    })
}

async fn answer(asked: Asked) -> Answer {
    if let Some(redirected) = clean_redirect(&asked) {
        return redirected;
    }
    // Files are read off the threads that serve connections.
    let found = tokio::task::spawn_blocking(move || serve(&asked)).await;
    let mut reply = found.unwrap_or_else(|error| failure(&io::Error::other(error)));
    let is_error = reply.headers().contains_key("x-content-type-options");
    let skipped = usize::from(is_error);
    add_missing(reply.headers_mut(), &HEADERS[skipped..]);
    Ok(reply)
}

fn add_missing(headers: &mut HeaderMap, wanted: &[(&'static str, &'static str)]) {
    for (name, value) in wanted {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
}

fn serve(asked: &Asked) -> Reply {
    let path = asked.path();
    if path.ends_with(b"/index.html") {
        return elsewhere(asked, b"./");
    }
    let clean = join_clean(&path);
    if clean.contains(&0) {
        return failure(&io::ErrorKind::InvalidInput.into());
    }
    let file = Path::new(std::ffi::OsStr::from_bytes(&clean));
    let (opened, found) = match open(file) {
        Ok(both) => both,
        Err(error) => return failure(&error),
    };
    let name = clean.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    match (found.is_dir(), path.ends_with(b"/")) {
        (true, false) => elsewhere(asked, &[name, b"/"].concat()),
        (false, true) => elsewhere(asked, &[b"../", name].concat()),
        (false, false) => content::of_file(asked, opened, &found, name),
        (true, true) => match open(&file.join("index.html")) {
            Ok((index, found)) if !found.is_dir() => content::of_file(asked, index, &found, b"index.html"),
            _ => listing(file, &found),
        },
    }
}

fn open(path: &Path) -> io::Result<(File, fs::Metadata)> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    Ok((file, found))
}

fn elsewhere(asked: &Asked, target: &[u8]) -> Reply {
    let mut location = target.to_vec();
    if let Some(query) = asked.query().filter(|query| !query.is_empty()) {
        location.push(b'?');
        location.extend_from_slice(query.as_bytes());
    }
    let mut reply = Reply::new(Body::default());
    *reply.status_mut() = StatusCode::MOVED_PERMANENTLY;
    let location = HeaderValue::from_bytes(&location).unwrap_or(HeaderValue::from_static("./"));
    reply.headers_mut().insert("location", location);
    reply
}

fn failure(error: &io::Error) -> Reply {
    // A path that goes on below a file does not exist either.
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => super::go::http::not_found(),
        io::ErrorKind::PermissionDenied => error_reply(StatusCode::FORBIDDEN, "403 Forbidden"),
        _ => error_reply(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error"),
    }
}

fn listing(folder: &Path, found: &fs::Metadata) -> Reply {
    let mut names: Vec<Vec<u8>> = match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| shown_name(&entry)).collect(),
        Err(_) => return error_reply(StatusCode::INTERNAL_SERVER_ERROR, "Error reading directory"),
    };
    names.sort_by(|a, b| a.strip_suffix(b"/").unwrap_or(a).cmp(b.strip_suffix(b"/").unwrap_or(b)));
    let mut page =
        b"<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n".to_vec();
    for name in names {
        // A colon in front of the first slash would look like a scheme.
        let dot = if name.contains(&b':') { "./" } else { "" };
        page.extend_from_slice(format!("<a href=\"{dot}{}\">", escape_path(&name)).as_bytes());
        page.extend_from_slice(&escape_html(&name));
        page.extend_from_slice(b"</a>\n");
    }
    page.extend_from_slice(b"</pre>\n");
    let mut reply = Reply::new(Body::full(page));
    reply.headers_mut().insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
    content::add_last_modified(&mut reply, found);
    reply
}

fn shown_name(entry: &fs::DirEntry) -> Vec<u8> {
    let mut name = entry.file_name().as_bytes().to_vec();
    if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
        name.push(b'/');
    }
    name
}
