//! Connections that are kept for the next call. How many and how long is the core's rule.
//!
//! Facts reported: none. Steps carried out: the keeping in `Step::Release`.
//!
//! Rule: a connection of HTTP/2 is shared by all calls while it is usable, one of HTTP/1.1 has one call at a time. A
//! client that goes away closes them.

use std::sync::{Mutex, PoisonError};

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{ConnectionConfig, Endpoint, IdleConnections};

use crate::link::{Http1, Http2};

/// Kept connections.
#[derive(Debug)]
pub(crate) struct Pool {
    idle: Mutex<IdleConnections<Box<Http1>>>,
    shared: Mutex<IdleConnections<Http2>>,
}

impl Pool {
    pub(crate) const fn new(config: &ConnectionConfig) -> Self {
        Self { idle: Mutex::new(IdleConnections::new(config)), shared: Mutex::new(IdleConnections::new(config)) }
    }

    /// The shared connection, if there is one that is not closed.
    pub(crate) fn shared(&self, endpoint: &Endpoint, now: Timestamp) -> Option<Http2> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        // Calls that still use a closed one have handles of their own.
        let link = std::iter::from_fn(|| shared.take(endpoint, now)).find(|link| !link.sender.is_closed())?;
        shared.keep(endpoint, link.clone(), now);
        Some(link)
    }

    pub(crate) fn share(&self, endpoint: &Endpoint, link: Http2, now: Timestamp) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).keep(endpoint, link, now);
    }

    /// The connection for one call that was kept last, of those that were not closed meanwhile (E1).
    pub(crate) fn idle(&self, endpoint: &Endpoint, now: Timestamp) -> Option<Box<Http1>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.take(endpoint, now)).find_map(|mut link| link.is_usable().then_some(link))
    }

    pub(crate) fn keep(&self, endpoint: &Endpoint, link: Box<Http1>, now: Timestamp) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).keep(endpoint, link, now);
    }
}
