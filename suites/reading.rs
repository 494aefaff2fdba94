//! Queries on a history that judges of several chapters use: the result of a probe, the reaction of the kubelet, and
//! the container that a probe reached.
//!
//! A reading reports what a history shows and what it leaves open; it does not define promises. The promises of the
//! documentation are in the chapters, and a reading decides a clause only on behalf of the judge that calls it.

pub(crate) mod absence;
pub(crate) mod admission;
pub(crate) mod alive;
pub(crate) mod answers;
pub(crate) mod arrivals;
pub(crate) mod at_rest;
pub(crate) mod began;
pub(crate) mod causes;
pub(crate) mod cgroups;
pub(crate) mod commands;
pub(crate) mod critical;
pub(crate) mod described;
pub(crate) mod dumps;
pub(crate) mod endpoints;
pub(crate) mod ends;
pub(crate) mod event_queue;
pub(crate) mod expansion;
pub(crate) mod health;
pub(crate) mod heard;
pub(crate) mod hooks;
pub(crate) mod http;
pub(crate) mod inits;
pub(crate) mod kills;
pub(crate) mod kinds;
pub(crate) mod kubelet_restarts;
pub(crate) mod lost_signals;
pub(crate) mod mains;
pub(crate) mod memory;
pub(crate) mod node_shutdowns;
pub(crate) mod origin;
pub(crate) mod patches;
pub(crate) mod ports;
pub(crate) mod qos;
pub(crate) mod quantities;
pub(crate) mod readiness;
pub(crate) mod rejections;
pub(crate) mod rules;
#[cfg(test)]
pub(crate) mod scene;
pub(crate) mod scheduling;
pub(crate) mod selectors;
pub(crate) mod services;
pub(crate) mod shortage;
pub(crate) mod silent;
pub(crate) mod slots;
pub(crate) mod start_errors;
pub(crate) mod statuses;
pub(crate) mod stop_signals;
pub(crate) mod targets;
pub(crate) mod termination;
pub(crate) mod timers;
pub(crate) mod unreachable;
pub(crate) mod unvisited;
pub(crate) mod volumes;
pub(crate) mod wall_clocks;
pub(crate) mod wrong_protocol;
