//! HTTP as Go's `net/http` server speaks it: title-cased header names, Go's reason phrases, sniffed content types,
//! `Content-Length` up to 2048 bytes and chunks beyond, path cleaning by redirect.
//!
//! The transport is hyper; a framework's router would answer 404 and 405 in its own words, so routing is a `match`
//! on the path in each command. Refuses nothing that hyper accepts, except a target with a broken `%` escape and an
//! HTTP/1.1 request without Host, which Go refuses too.

mod asked;
mod path;
mod redirect;
mod reply;
mod server;
mod sniff;

pub(crate) use asked::Asked;
pub(crate) use path::{clean_redirect, escape_path, join_clean, unescape};
pub(crate) use redirect::{escape_html, redirect};
pub(crate) use reply::{Abort, Answer, Body, Reply, error_reply, not_found, status};
pub(crate) use server::Server;
pub(crate) use sniff::content_type;
