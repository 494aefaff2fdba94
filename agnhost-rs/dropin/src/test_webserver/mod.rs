//! `test-webserver`: serves the root file system over HTTP with the headers that a proxy of the API server needs.
//!
//! It serves files and listings, and never writes. `If-Modified-Since` is ignored on purpose, as in agnhost.

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
    Body, HttpRequest, HttpResponse, HttpResult, Server, clean, clean_redirect, error_response, escape_html,
    escape_path, not_found, ok, with_status,
};
use super::go::{klog, listen, signals};

/// The headers that are sent with every response; an error response leaves the first one out.
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

/// The flags of `test-webserver`.
#[derive(Args, Debug)]
pub struct TestWebserverFlags {
    /// Port
    #[arg(long, default_value = "80", value_parser = integer, allow_hyphen_values = true)]
    port: i64,
}

/// Serves until a signal ends the process.
pub(super) fn run(flags: &TestWebserverFlags) -> ExitCode {
    signals::end_by_default();
    let port = flags.port;
    super::serve(async move {
        let listener = listen::tcp_async(port).unwrap_or_else(|error| klog::fatal(error));
        Server::new(None).run(listener, answer).await;
        ExitCode::SUCCESS
    })
}

async fn answer(request: HttpRequest) -> HttpResult {
    if let Some(redirected) = clean_redirect(&request) {
        return redirected;
    }
    // Files are not read on the threads that serve connections.
    let found = tokio::task::spawn_blocking(move || serve(&request)).await;
    let mut response = found.unwrap_or_else(|error| failure(&io::Error::other(error)));
    let skipped = usize::from(response.headers().contains_key("x-content-type-options"));
    add_missing(response.headers_mut(), &HEADERS[skipped..]);
    Ok(response)
}

fn add_missing(headers: &mut HeaderMap, wanted: &[(&'static str, &'static str)]) {
    for (name, value) in wanted {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
}

fn serve(request: &HttpRequest) -> HttpResponse {
    let path = request.path();
    if path.ends_with(b"/index.html") {
        return elsewhere(request, b"./");
    }
    let clean = clean(&[b"/".as_slice(), &path].concat());
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
        (true, false) => elsewhere(request, &[name, b"/"].concat()),
        (false, true) => elsewhere(request, &[b"../", name].concat()),
        (false, false) => content::of_file(request, opened, &found, name),
        (true, true) => match open(&file.join("index.html")) {
            Ok((index, found)) if !found.is_dir() => content::of_file(request, index, &found, b"index.html"),
            _ => listing(file, &found),
        },
    }
}

fn open(path: &Path) -> io::Result<(File, fs::Metadata)> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    Ok((file, found))
}

fn elsewhere(request: &HttpRequest, target: &[u8]) -> HttpResponse {
    let mut location = target.to_vec();
    if let Some(query) = request.query().filter(|query| !query.is_empty()) {
        location.push(b'?');
        location.extend_from_slice(query.as_bytes());
    }
    let mut response = with_status(StatusCode::MOVED_PERMANENTLY, Body::default());
    let location = HeaderValue::from_bytes(&location).unwrap_or(HeaderValue::from_static("./"));
    response.headers_mut().insert("location", location);
    response
}

fn failure(error: &io::Error) -> HttpResponse {
    // A path below a file does not exist either.
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => not_found(),
        io::ErrorKind::PermissionDenied => error_response(StatusCode::FORBIDDEN, "403 Forbidden"),
        _ => error_response(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error"),
    }
}

fn listing(folder: &Path, found: &fs::Metadata) -> HttpResponse {
    let mut names: Vec<Vec<u8>> = match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| shown_name(&entry)).collect(),
        Err(_) => return error_response(StatusCode::INTERNAL_SERVER_ERROR, "Error reading directory"),
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
    let mut response = ok(page);
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
    content::add_last_modified(&mut response, found);
    response
}

fn shown_name(entry: &fs::DirEntry) -> Vec<u8> {
    let mut name = entry.file_name().as_bytes().to_vec();
    if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
        name.push(b'/');
    }
    name
}
