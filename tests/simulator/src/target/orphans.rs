//! Child processes that commands leave behind. They outlive the commands, become orphans of the container's first
//! process, and stay as zombies if that process does not reap them. The dump shows all of them.

use probity_script::Fact;
use probity_script::witness::{ChildSeen, Dump, ProcessSeen};

use crate::Defect;
use crate::world::{LifeAt, MS, World};

impl World<'_> {
    /// A command that ends at this time leaves a child process behind, which keeps running for some time.
    pub(crate) fn leave_child(&mut self, life: LifeAt, by: &str, at: i64, lives: i64) {
        let Some(of) = self.life_mut(life) else { return };
        let pid = 21 + u32::try_from(of.orphans.len()).unwrap_or(0) * 2;
        let ends = at + lives;
        of.orphans.push((pid, ends));
        let reaps = of.plan.process.reap;
        let seen = |name: &str, event: &str, status: Option<&str>| {
            let (name, event) = (name.to_owned(), event.to_owned());
            Fact::Child(ChildSeen { name, pid, event, status: status.map(str::to_owned) })
        };
        let name = format!("left by {by}");
        self.note_at(at + MS, life, seen(&name, "started", None));
        self.note_at(ends, life, seen(&name, "ended", None));
        if reaps {
            self.note_at(ends + 2 * MS, life, seen("orphan", "reaped", Some("exit 0")));
        }
    }

    /// Records the container's current view from inside.
    pub(super) fn dump(&mut self, life: LifeAt, at: i64) {
        let seen = self.look(life.at);
        let stays = !self.has(Defect::RuntimeReapsOrphans);
        let lingers = self.has(Defect::RuntimeLeavesZombies);
        let Some(of) = self.life(life) else { return };
        let process = |pid, parent, state: &str, name: &str| {
            let (state, name) = (state.to_owned(), name.to_owned());
            ProcessSeen { pid, parent, state, name, ..ProcessSeen::default() }
        };
        let mut processes = vec![process(1, 0, "S", "agnhost-rs")];
        for (pid, ends) in &of.orphans {
            if at < *ends {
                processes.push(process(*pid, 1, "S", "agnhost-rs"));
            } else if (!of.plan.process.reap && stays) || lingers {
                processes.push(process(*pid, 1, "Z", "agnhost-rs"));
            }
        }
        self.note_at(at, life, Fact::Dump(Dump { processes, ..seen }));
    }
}
