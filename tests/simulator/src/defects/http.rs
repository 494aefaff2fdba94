//! The defects of the HTTP prober: where it sends probes, what it sends, and how it judges the answers.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_http {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The HTTP prober: where it sends probes.
    /// A probe without a path requests `/healthz` (`probe.http.default-path`).
    DefaultPathWrong,
    /// The Host header lacks the port (`probe.http.host-default-pod-ip`).
    HostHeaderLacksPort,
    /// The `host` field has no effect (`probe.http.host-field-overrides-address`, `host-localhost-hostnetwork`).
    HostFieldIgnored,
    /// Probes of pods on the host's network go to 127.0.0.1 (`probe.http.host-localhost-hostnetwork`).
    HostNetworkMeansLocalhost,
    /// A Host header among the custom ones has no effect (`probe.http.vhost-via-header`).
    HostHeaderIgnored,
    /// A named port is resolved to the first port (`probe.http.port-by-name`).
    NamedPortIsFirstPort,
    /// A port name that cannot be resolved counts as a failure (`probe.http.port-name-unresolvable`).
    UnresolvablePortFails,
    /// A sidecar's probe may use a port name that another container declares (`probe.http.port-name-unresolvable`).
    PortNameOfOthersForSidecars,
    // The HTTP prober: what it sends.
    /// Custom headers are left out (`probe.http.custom-headers`).
    CustomHeadersDropped,
    /// Custom headers are sent only with the first probe (`probe.http.custom-headers`).
    CustomHeadersOnce,
    /// Values of one header are joined into one line (`probe.http.repeated-headers`).
    HeaderDuplicatesMerged,
    /// Only the last of several values of a header is sent (`probe.http.repeated-headers`).
    HeaderDuplicatesDropped,
    /// Values of one header are sent in the wrong order (`probe.http.repeated-headers`).
    HeadersReordered,
    /// The User-Agent names another version (`probe.http.user-agent-default`).
    UserAgentWrong,
    /// No Accept header is sent (`probe.http.accept-default`).
    AcceptMissing,
    /// The Accept header names a type (`probe.http.accept-default`).
    AcceptNarrow,
    /// Accept-Encoding is sent (`probe.http.header-set`).
    SendsAcceptEncoding,
    /// A header from the spec is sent in addition to the default (`probe.http.headers-override`).
    OverridesAppended,
    /// Defaults take precedence over the headers from the spec (`probe.http.headers-override`).
    OverridesIgnored,
    /// A header with an empty value is sent empty (`probe.http.headers-remove`).
    EmptyHeaderSentEmpty,
    /// A header with an empty value is sent with its default (`probe.http.headers-remove`).
    EmptyHeaderKeepsDefault,
    /// Connections are reused (`probe.http.new-connection-each`).
    ReusesConnections,
    /// The server's certificate is verified (`probe.http.https-skips-verification`).
    VerifiesCertificates,
    /// Only expired certificates are rejected (`probe.http.https-skips-verification`).
    RefusesExpiredCertificates,
    /// HTTP/2 is not offered (`probe.http.https-wire-details`).
    OffersNoHttp2,
    /// A client certificate is presented (`probe.http.https-wire-details`).
    ShowsClientCertificate,
    // The HTTP prober: answers.
    /// Redirects are not followed (`probe.http.redirect.same-host-followed`).
    FollowsNoRedirect,
    /// A redirect is a failure (`redirect.same-host-followed`, `cross-host-not-followed`).
    RedirectCountsAsFailure,
    /// A redirect to another port counts as a redirect to another host (`probe.http.redirect.same-host-other-port`).
    OtherPortIsOtherHost,
    /// A redirect to another scheme counts as a redirect to another host (`probe.http.redirect.http-to-https`).
    OtherSchemeIsOtherHost,
    /// Redirects to other hosts are followed (`probe.http.redirect.cross-host-not-followed`).
    FollowsCrossHost,
    /// A redirect to another host is a failure (`probe.http.redirect.cross-host-not-followed`).
    CrossHostFails,
    /// No event reports redirects that were not followed (`redirect.cross-host-not-followed`, `missing-location`).
    WarningMissing,
    /// The host of a custom Host header counts as the same host (`probe.http.redirect.cross-host-by-name`).
    HostHeaderIsSameHost,
    /// The custom Host header is dropped on a relative redirect (`probe.http.redirect.cross-host-by-name`).
    DropsHostOnRedirect,
    /// Twenty redirects are followed (`probe.http.redirect.limit`).
    RedirectLimitTwenty,
    /// Five redirects are followed (`probe.http.redirect.limit`).
    RedirectLimitFive,
    /// A redirect without a location is a failure (`probe.http.redirect.missing-location`).
    MissingLocationFails,
    /// A redirect to a location that cannot be requested passes (`probe.http.redirect.missing-location`).
    UnusableLocationPasses,
    /// Custom headers are not sent again after a redirect (`probe.http.redirect.headers-kept`).
    DropsHeadersOnRedirect,
    /// The whole body is read (`probe.http.body.limit-10kib`, `abrupt-close`).
    ReadsWholeBody,
    /// A body beyond the limit is a failure (`probe.http.body.limit-10kib`).
    LargeBodyFails,
    /// A truncated answer is a failure (`probe.http.body.short-body-error`).
    ShortBodyFails,
    /// A truncated answer is tried six times (`probe.http.body.short-body-error`).
    ShortBodyTriedSixTimes,
    /// The event about a failure contains the body (`probe.http.event-omits-body`).
    EventShowsBody,
    /// A refused connection passes (`probe.http.refused-fails`).
    RefusedIsSuccess,
    /// A malformed answer passes (`probe.http.refused-fails`).
    MalformedIsSuccess,
    /// A connection that closes before an answer has no result (`probe.http.refused-fails`).
    BrokenConnectionDiscarded,
    } };
}
