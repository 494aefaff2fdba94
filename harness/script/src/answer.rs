//! The possible answers of the target, with one module for each kind of endpoint.

mod connection;
mod exec;
mod grpc;
mod http;
mod listen;
mod termination;

pub use connection::{ConnectionAnswer, ConnectionSettings, Then};
pub use exec::{CommandOrders, ExecAnswer, ExecSettings};
pub use grpc::{GrpcAnswer, GrpcSettings, ServingStatus};
pub use http::{
    Body, DependsOn, Drip, Extra, Framing, FramingSettings, HeaderLine, Hops, HttpAnswer, HttpReply,
    Redirect, Report, Status,
};
pub use listen::ListenState;
pub use termination::{Serving, TerminationAnswer, TerminationSettings};
