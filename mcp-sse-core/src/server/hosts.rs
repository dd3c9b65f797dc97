//! Who may be asked for, and from where: `Host` and `Origin` (S2, first of all checks).
//!
//! Rules: Streamable HTTP, "Security". A page of a foreign origin reaches a server on the user's machine by its browser, and
//! by a name that it had resolved to the loopback address; the one is told by `Origin`, the other by `Host`. Comparisons
//! ignore case; nothing is resolved.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use crate::http::{HeaderValue, RequestHead};

/// Names under which a machine reaches itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts and origins that requests may name.
///
/// ```
/// use mcp_sse_core::http::RequestHead;
/// use mcp_sse_core::server::AllowedHosts;
///
/// let head = |host, origin| RequestHead::from_headers("POST", "/mcp", [("Host", host), ("Origin", origin)]);
/// let local = AllowedHosts::loopback();
/// assert!(local.allow(&head("localhost:8000", "http://127.0.0.1:3000")));
/// assert!(!local.allow(&head("evil.example", "http://localhost:8000")));
///
/// let public = AllowedHosts::none().with_host("mcp.example.com").with_origin("https://app.example.com");
/// assert!(public.allow(&head("mcp.example.com", "https://app.example.com")));
/// assert!(!public.allow(&head("mcp.example.com", "http://app.example.com")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHosts {
    hosts: Vec<String>,
    origins: Vec<String>,
    any_host: bool,
    any_origin: bool,
}

impl Default for AllowedHosts {
    fn default() -> Self {
        Self::loopback()
    }
}

impl AllowedHosts {
    /// The loopback names, `localhost`, `127.0.0.1` and `[::1]`, with any port, as hosts and as origins. The default.
    #[must_use]
    pub fn loopback() -> Self {
        let names: Vec<String> = LOOPBACK.iter().map(|&name| name.to_owned()).collect();
        Self { hosts: names.clone(), origins: names, any_host: false, any_origin: false }
    }

    /// None: only requests without `Origin` could come, and their `Host` must be added.
    #[must_use]
    pub const fn none() -> Self {
        Self { hosts: Vec::new(), origins: Vec::new(), any_host: false, any_origin: false }
    }

    /// Allows a host, `name` for any port or `name:port` for that one. An IPv6 address stands in brackets.
    #[must_use]
    pub fn with_host(mut self, host: &str) -> Self {
        self.hosts.push(host.to_owned());
        self
    }

    /// Allows an origin, `scheme://name` or `scheme://name:port` as browsers write it, or only the name and perhaps the
    /// port, for any scheme.
    #[must_use]
    pub fn with_origin(mut self, origin: &str) -> Self {
        self.origins.push(origin.to_owned());
        self
    }

    /// Allows every host: for a server behind a proxy that has checked it, or that is found by many names.
    #[must_use]
    pub const fn with_any_host(mut self) -> Self {
        self.any_host = true;
        self
    }

    /// Allows every origin: any page that a user visits can then use the server with the user's network access.
    #[must_use]
    pub const fn with_any_origin(mut self) -> Self {
        self.any_origin = true;
        self
    }

    /// Whether a request may be looked at any further. A request needs no `Origin`, since only browsers send one; a `Host`
    /// it does need.
    #[must_use]
    pub fn allow(&self, head: &RequestHead) -> bool {
        let host = self.any_host
            || head.host().get().map(Named::new).is_some_and(|host| self.hosts.iter().any(|allowed| host.is(allowed)));
        let origin = self.any_origin
            || match head.origin() {
                HeaderValue::Absent => true,
                HeaderValue::One(origin) => self.origins.iter().any(|allowed| is_origin(origin, allowed)),
                HeaderValue::Unusable => false,
            };
        host && origin
    }
}

/// A host as a request names it.
struct Named<'a> {
    host: &'a str,
    without_port: Option<&'a str>,
}

impl<'a> Named<'a> {
    fn new(host: &'a str) -> Self {
        Self { host, without_port: without_port(host) }
    }

    fn is(&self, allowed: &str) -> bool {
        let is = |name: &str| name == allowed || name.eq_ignore_ascii_case(allowed);
        is(self.host) || self.without_port.is_some_and(is)
    }
}

fn is_origin(origin: &str, allowed: &str) -> bool {
    if allowed.contains("://") {
        return origin.eq_ignore_ascii_case(allowed);
    }
    origin.split_once("://").is_some_and(|(_, authority)| Named::new(authority).is(allowed))
}

/// The name in `name:port`; nothing if there is no port.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = host.rsplit_once(':')?;
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    // The colons of a bare IPv6 address are no port's.
    (is_port && (!name.contains(':') || name.ends_with(']'))).then_some(name)
}
