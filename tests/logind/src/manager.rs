//! The objects on the bus: what a kubelet calls of systemd's login manager, and what `logind announce` and `logind cancel`
//! call.

use std::sync::Arc;

use zbus::fdo;

use crate::shutdown::Shutdown;

/// Where the login manager is.
pub(crate) const PATH: &str = "/org/freedesktop/login1";
/// The interface of the login manager.
pub(crate) const MANAGER: &str = "org.freedesktop.login1.Manager";
/// The interface for the other commands of this program.
pub(crate) const CONTROL: &str = "dev.probity.Shutdown";

/// How long a lock may delay a shutdown, in microseconds. So long that no kubelet finds it too short: it would change the
/// settings of the login manager in `/etc`, which a node shares with its host.
const LONGEST_DELAY_US: u64 = 3_600_000_000;

/// The login manager.
pub(crate) struct Manager(Arc<Shutdown>);

impl Manager {
    pub(crate) fn new(shutdown: Arc<Shutdown>) -> Self {
        Self(shutdown)
    }
}

#[zbus::interface(name = "org.freedesktop.login1.Manager")]
impl Manager {
    /// Takes a lock, which lasts until the client closes it.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of a method of a bus are owned")]
    fn inhibit(&self, what: String, _who: String, _why: String, mode: String) -> fdo::Result<zbus::OwnedFd> {
        if (what.as_str(), mode.as_str()) != ("shutdown", "delay") {
            return Err(fdo::Error::NotSupported(format!(
                "no lock of `{what}` by `{mode}`, only of shutdown by delay"
            )));
        }
        let lock = self.0.lock().map_err(|error| fdo::Error::Failed(error.to_string()))?;
        Ok(lock.into())
    }

    #[zbus(property, name = "InhibitDelayMaxUSec")]
    fn longest_delay(&self) -> u64 {
        LONGEST_DELAY_US
    }
}

/// Announces and cancels shutdowns.
pub(crate) struct Control(Arc<Shutdown>);

impl Control {
    pub(crate) fn new(shutdown: Arc<Shutdown>) -> Self {
        Self(shutdown)
    }
}

/// Both methods answer whether a lock is or was held at the announcement. The second value of the answer is the time from
/// the announcement to the release of the last lock, in microseconds; -1 if a lock is held, or there was none.
#[zbus::interface(name = "dev.probity.Shutdown")]
impl Control {
    async fn announce(&self) -> (bool, i64) {
        (self.0.announce().await, -1)
    }

    async fn cancel(&self) -> (bool, i64) {
        let (delayed, released) = self.0.cancel().await;
        (delayed, released.and_then(|after| i64::try_from(after.as_micros()).ok()).unwrap_or(-1))
    }
}
