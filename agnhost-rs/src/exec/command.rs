//! The properties that a command reports about itself, with limits.

use std::collections::BTreeMap;

use nix::unistd::{getgid, getppid, getuid};
use probity_script::witness::Command;

use crate::clock::Clock;
use crate::identity;
use crate::lifecycle::dump;

/// The maximum length of an argument or variable that is reported completely.
const LONGEST: usize = 4096;
/// The maximum total length of the reported arguments, and of the variables.
const MOST: usize = 64 * 1024;

/// Looks at this process.
pub(super) fn look(clock: &Clock) -> Command {
    let mut room = MOST;
    let args = std::env::args_os().map(|arg| cut(arg.to_string_lossy().into_owned()));
    let args = args.take_while(|arg| fits(arg.len(), &mut room)).collect();
    Command {
        args,
        pid: std::process::id(),
        parent: u32::try_from(getppid().as_raw()).unwrap_or(0),
        cwd: std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default(),
        host: identity::host(),
        ids: (getuid().as_raw(), getgid().as_raw()),
        namespaces: dump::namespaces(),
        env: environment(dump::environment()),
        began_mono_us: clock.began_mono_us(),
    }
}

/// As many variables as fit, in the order of their names.
fn environment(all: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut room = MOST;
    let short = all.into_iter().map(|(name, value)| (cut(name), cut(value)));
    short.filter(|(name, value)| fits(name.len() + value.len(), &mut room)).collect()
}

fn fits(size: usize, room: &mut usize) -> bool {
    let fits = size <= *room;
    *room -= if fits { size } else { 0 };
    fits
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_has_bounds() {
        let value = "ä".repeat(LONGEST);
        let all = (0..100).map(|n| (format!("V{n:03}"), value.clone())).collect();
        let told = environment(all);
        assert!(told.values().all(|value| value.len() <= LONGEST + 3 && value.ends_with("...")));
        assert_eq!(told.len(), MOST / (LONGEST + 3 + 4));
    }
}
