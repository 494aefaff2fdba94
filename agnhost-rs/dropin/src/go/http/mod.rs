//! HTTP as Go's `net/http` server speaks it: title-cased header names, Go's reason phrases, sniffed content types, a
//! `Content-Length` for bodies of up to 2048 bytes and chunks for longer ones, and redirects to cleaned paths.
//!
//! The transport is hyper. A framework's router would answer 404 and 405 in its own words, so each command routes by a
//! `match` on the path. Like Go, the server rejects a target with a broken `%` escape and an HTTP/1.1 request without
//! Host; it accepts everything else that hyper accepts.

mod path;
mod redirect;
mod request;
mod response;
mod server;
mod sniff;

pub(crate) use path::{clean, clean_redirect, escape_path, unescape};
pub(crate) use redirect::{escape_html, redirect};
pub(crate) use request::HttpRequest;
pub(crate) use response::{
    Abort, Body, HttpResponse, HttpResult, error_response, not_found, ok, status, with_status,
};
pub(crate) use server::Server;
pub(crate) use sniff::content_type;
