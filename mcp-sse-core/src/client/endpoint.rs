//! Where requests go: the URL of an MCP endpoint, checked once, and the places a redirect may lead to.
//!
//! Rules: `http` and `https` only; credentials in a URL are refused, since they end up in logs; a fragment
//! is dropped. Resolving is the `url` crate's work (RFC 3986 section 5.2, WHATWG URL).

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use url::{Host, Url};

/// The URL of an MCP endpoint.
///
/// ```
/// use mcp_sse_core::client::Endpoint;
///
/// let endpoint = Endpoint::parse("https://example.com/mcp?tenant=7")?;
/// assert!(endpoint.is_tls());
/// assert_eq!((endpoint.host(), endpoint.port()), ("example.com", 443));
/// assert_eq!(endpoint.target(), "/mcp?tenant=7");
/// # Ok::<(), mcp_sse_core::client::EndpointError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Every request has one.
    parts: Arc<Parts>,
}

#[derive(PartialEq, Eq, Hash)]
struct Parts {
    url: Url,
    target: String,
}

/// Why a URL is no endpoint. The caller's mistake; the URL is not repeated, it may hold a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It cannot be parsed.
    #[error("the URL cannot be parsed: {0}")]
    NotAUrl(url::ParseError),
    /// Its scheme is neither `http` nor `https`.
    #[error("the URL's scheme is neither http nor https")]
    Scheme,
    /// It holds a user name or a password.
    #[error("the URL holds credentials; send them in a header")]
    Credentials,
    /// It names no host.
    #[error("the URL names no host")]
    NoHost,
}

impl Endpoint {
    /// Checks a URL.
    ///
    /// # Errors
    /// [`EndpointError`] says what is wrong with it.
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        Self::from_url(Url::parse(url).map_err(EndpointError::NotAUrl)?)
    }

    fn from_url(mut url: Url) -> Result<Self, EndpointError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EndpointError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointError::Credentials);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(EndpointError::NoHost);
        }
        url.set_fragment(None);
        let mut target = String::from(url.path());
        if let Some(query) = url.query() {
            target.push('?');
            target.push_str(query);
        }
        Ok(Self { parts: Arc::new(Parts { url, target }) })
    }

    /// What `reference` means here, if it leads to the same origin: scheme, host and port (E18).
    #[must_use]
    pub fn join_same_origin(&self, reference: &str) -> Option<Self> {
        let joined = self.parts.url.join(reference).ok()?;
        (joined.origin() == self.parts.url.origin()).then(|| Self::from_url(joined).ok()).flatten()
    }

    /// What `reference` means here, wherever it leads (H1); nothing if it is empty or no reference at all.
    #[must_use]
    pub fn resolve(&self, reference: &str) -> Option<Self> {
        let reference = reference.trim_matches(' ');
        if reference.is_empty() || reference.bytes().any(|byte| byte <= b' ' || byte == 0x7F) {
            return None;
        }
        Self::from_url(self.parts.url.join(reference).ok()?).ok()
    }

    /// Whether scheme, host and port are those of `other`.
    #[must_use]
    pub fn has_origin_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts) || self.parts.url.origin() == other.parts.url.origin()
    }

    /// The whole URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.parts.url.as_str()
    }

    /// Whether the scheme is `https`.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.parts.url.scheme() == "https"
    }

    /// The host: a name, an IPv4 address, or an IPv6 address without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        let host = self.parts.url.host_str().unwrap_or_default();
        match self.parts.url.host() {
            Some(Host::Ipv6(_)) => host.trim_start_matches('[').trim_end_matches(']'),
            _ => host,
        }
    }

    /// Host and port as the URL has them, as in a `Host` header (RFC 9110 section 7.2): an IPv6 address in brackets, the
    /// port only if it is not the scheme's own.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.parts.url.authority()
    }

    /// Host and port, whatever the port is, as a tunnel's target is named (RFC 9110 section 9.3.6).
    #[must_use]
    pub fn host_and_port(&self) -> String {
        alloc::format!("{}:{}", self.parts.url.host_str().unwrap_or_default(), self.port())
    }

    /// The port, given or implied by the scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.parts.url.port_or_known_default().unwrap_or(80)
    }

    /// The request target in origin form: path and query (RFC 9112 section 3.2.1).
    #[must_use]
    pub fn target(&self) -> &str {
        &self.parts.target
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query may hold a secret.
        write!(
            f,
            "Endpoint({}://{}:{})",
            self.parts.url.scheme(),
            self.parts.url.host_str().unwrap_or_default(),
            self.port()
        )
    }
}
