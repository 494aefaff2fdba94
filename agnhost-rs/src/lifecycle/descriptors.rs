//! How many descriptors the process may have.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Takes all the descriptors that the process may have: each connection is one, and thousands are asked for.
///
/// Where that fails the usual limit stays; fewer connections are held, and accepting one more is where it shows.
pub fn take_all_descriptors() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
