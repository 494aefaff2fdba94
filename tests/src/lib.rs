//! What the tests over real sockets share: the program as a process, and clients of several degrees of politeness.

pub mod frames;
pub mod grpc;
pub mod h2;
pub mod target;
pub mod tls;
pub mod wire;
