//! What an adapter's builder collects before there is a client.
//!
//! Rule: a mistake is kept until the client is built, and the first one counts.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use super::config::{BuildError, ClientConfig, ConfigError};
use super::endpoint::Endpoint;
use super::policy::CallOptions;

/// The settings of a client, as an adapter's builder collects them. `H` answers the server's requests.
///
/// ```
/// use mcp_sse_core::client::{BuildError, ConfigError, Settings};
///
/// let mut settings = Settings::<fn()>::new("https://example.com/mcp");
/// settings.set(|config| config.with_probe(true));
/// settings.try_set(|config| config.with_header("no name", ""));
/// settings.refuse(BuildError::Certificates);
/// assert!(matches!(settings.build(), Err(BuildError::Config(ConfigError::HeaderName))));
/// ```
pub struct Settings<H> {
    url: String,
    config: Result<ClientConfig, BuildError>,
    options: CallOptions,
    handlers: BTreeMap<String, H>,
}

/// Settings without a mistake.
#[derive(Clone)]
#[non_exhaustive]
pub struct Built<H> {
    /// Where requests go.
    pub endpoint: Endpoint,
    /// What the core decides by.
    pub config: ClientConfig,
    /// The options of calls that have none of their own.
    pub options: CallOptions,
    /// Who answers the server's requests, by method.
    pub handlers: BTreeMap<String, H>,
}

impl<H> Settings<H> {
    /// Defaults, for this URL.
    #[must_use]
    pub fn new(url: &str) -> Self {
        let (config, options) = (Ok(ClientConfig::default()), CallOptions::default());
        Self { url: url.to_owned(), config, options, handlers: BTreeMap::new() }
    }

    /// Changes what the core decides by.
    pub fn set(&mut self, change: impl FnOnce(ClientConfig) -> ClientConfig) {
        self.try_set(|config| Ok(change(config)));
    }

    /// As [`set`](Self::set), for what may be a mistake.
    pub fn try_set(&mut self, change: impl FnOnce(ClientConfig) -> Result<ClientConfig, ConfigError>) {
        let config = core::mem::replace(&mut self.config, Err(BuildError::Unsendable));
        self.config = config.and_then(|config| Ok(change(config)?));
    }

    /// A mistake was made in a setting of the adapter's own.
    pub fn refuse(&mut self, mistake: BuildError) {
        if self.config.is_ok() {
            self.config = Err(mistake);
        }
    }

    /// Sets the options of calls that have none of their own.
    pub fn set_options(&mut self, options: CallOptions) {
        self.options = options;
    }

    /// Has the server's requests of this method answered by this handler (F15).
    pub fn handle(&mut self, method: &str, handler: H) {
        self.set(|config| config.with_handled_request(method));
        self.handlers.insert(method.to_owned(), handler);
    }

    /// All of them.
    ///
    /// # Errors
    /// [`BuildError`], with the first mistake that was made.
    pub fn build(self) -> Result<Built<H>, BuildError> {
        let Self { url, config, options, handlers } = self;
        let config = config?;
        Ok(Built { endpoint: Endpoint::parse(&url)?, config, options, handlers })
    }
}

impl<H> fmt::Debug for Settings<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URL may hold a secret.
        f.debug_struct("Settings")
            .field("config", &self.config)
            .field("options", &self.options)
            .field("handlers", &self.handlers.keys())
            .finish_non_exhaustive()
    }
}

impl<H> fmt::Debug for Built<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Built").field("endpoint", &self.endpoint).field("config", &self.config).finish_non_exhaustive()
    }
}
