//! Defects of a kubelet whose node shuts down.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_shutdowns {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The delay of the shutdown.
    /// The kubelet ends its pods, but does not delay the shutdown (`shutdown.delayed`).
    ShutdownNotDelayed,
    /// The kubelet lets the node shut down when it has sent the stop signals of critical pods (`shutdown.delayed`).
    ShutdownReleasedEarly,
    /// The kubelet never lets its node shut down (`shutdown.delayed`).
    ShutdownHeld,
    // The pods on the node.
    /// The kubelet delays the shutdown, but ends no pod (`shutdown.grace-period`).
    ShutdownIgnored,
    /// Critical pods are not ended (`shutdown.grace-period`).
    ShutdownSparesCritical,
    /// All pods end at the same time (`shutdown.critical-pods-last`).
    ShutdownEndsAllAtOnce,
    /// Critical pods end before all others (`shutdown.critical-pods-last`).
    ShutdownBeginsWithCritical,
    /// Each pod has its own grace period, however short the time of the kubelet is (`shutdown.grace-period`).
    ShutdownForgetsItsPeriods,
    /// Each pod has the time of the kubelet, however short its own grace period is (`shutdown.grace-period`).
    ShutdownForgetsOwnGrace,
    /// The pods have no condition that shows why they ended (`disruptiontarget.node-shutdown`).
    ShutdownUnexplained,
    /// The reason in the status of the pods is that of an eviction (`disruptiontarget.node-shutdown`).
    ShutdownNamedEviction,
    // New pods.
    /// The kubelet runs new pods while its node shuts down (`shutdown.no-new-pods`).
    ShutdownAcceptsPods,
    /// The kubelet rejects new pods without a message (`shutdown.no-new-pods`).
    ShutdownRejectsSilently,
    /// The kubelet rejects new pods even after the shutdown was cancelled (`shutdown.cancelled`).
    ShutdownForEver,
    /// The pods that the shutdown ended run again after it was cancelled (`shutdown.cancelled`).
    ShutdownPodsReturn,
    } };
}
