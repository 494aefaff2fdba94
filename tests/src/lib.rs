//! Helpers for tests that drive the programs of this workspace from outside: the programs as processes, and clients
//! that follow their protocols more or less strictly.

pub mod cluster;
pub mod frames;
pub mod grpc;
pub mod h2;
pub mod program;
pub mod raw_http;
pub mod target;
pub mod tls;
pub mod wire;
