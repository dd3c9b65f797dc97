//! The exchanges under way: by their names, by the calls they belong to, and those that may have something to tell.
//!
//! Rule: what is asked for one call costs the same however many others there are.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

use super::ExchangeId;
use super::endpoint::Endpoint;
use super::outcome::CallId;
use crate::exchange::Exchange;

/// An exchange under way.
pub(super) struct Running {
    /// `None` while it is lent out.
    pub(super) exchange: Option<Box<Exchange>>,
    pub(super) call: CallId,
    pub(super) attempt: u32,
    /// Whether the call was cancelled while the exchange was lent out.
    pub(super) is_cancelled: bool,
    pub(super) endpoint: Endpoint,
}

/// The exchanges under way, one a call at most.
#[derive(Default)]
pub(super) struct Exchanges {
    running: BTreeMap<ExchangeId, Running>,
    of_calls: BTreeMap<CallId, ExchangeId>,
    /// Those that were given out since their events were last drained.
    touched: BTreeSet<ExchangeId>,
}

impl Exchanges {
    pub(super) fn insert(&mut self, id: ExchangeId, running: Running) {
        self.of_calls.insert(running.call, id);
        self.running.insert(id, running);
    }

    pub(super) fn remove(&mut self, id: ExchangeId) -> Option<Running> {
        let running = self.running.remove(&id)?;
        if self.of_calls.get(&running.call) == Some(&id) {
            self.of_calls.remove(&running.call);
        }
        self.touched.remove(&id);
        Some(running)
    }

    pub(super) fn get(&self, id: ExchangeId) -> Option<&Running> {
        self.running.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: ExchangeId) -> Option<&mut Running> {
        self.running.get_mut(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// The exchange itself, unless it is lent out.
    pub(super) fn exchange(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        self.running.get_mut(&id)?.exchange.as_deref_mut()
    }

    /// The exchange itself, for something to happen to it, unless it is lent out.
    pub(super) fn given_out(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        let exchange = self.running.get_mut(&id)?.exchange.as_deref_mut()?;
        self.touched.insert(id);
        Some(exchange)
    }

    /// The one of this call.
    pub(super) fn of(&self, call: CallId) -> Option<ExchangeId> {
        self.of_calls.get(&call).copied()
    }

    /// Those that are not lent out.
    pub(super) fn present(&self) -> impl Iterator<Item = &Exchange> {
        self.running.values().filter_map(|running| running.exchange.as_deref())
    }

    /// Does something to each that is not lent out; those to which something happened, it says so of, are touched.
    pub(super) fn touch_if(&mut self, mut happens: impl FnMut(&mut Exchange) -> bool) {
        for (id, running) in &mut self.running {
            if running.exchange.as_deref_mut().is_some_and(&mut happens) {
                self.touched.insert(*id);
            }
        }
    }

    /// Shows each that may have something to tell and is not lent out.
    pub(super) fn each_touched(&mut self, mut show: impl FnMut(&mut Exchange)) {
        for id in &self.touched {
            if let Some(exchange) = self.running.get_mut(id).and_then(|running| running.exchange.as_deref_mut()) {
                show(exchange);
            }
        }
    }

    /// It may have something to tell.
    pub(super) fn touch(&mut self, id: ExchangeId) {
        self.touched.insert(id);
    }

    /// It has nothing more to tell.
    pub(super) fn untouch(&mut self, id: ExchangeId) {
        self.touched.remove(&id);
    }

    pub(super) fn touched(&self) -> impl Iterator<Item = ExchangeId> {
        self.touched.iter().copied()
    }

    /// The first that may have something to tell; of this call, if one is named.
    pub(super) fn first_touched(&self, call: Option<CallId>) -> Option<ExchangeId> {
        match call {
            Some(call) => self.of(call).filter(|id| self.touched.contains(id)),
            None => self.touched.first().copied(),
        }
    }
}
