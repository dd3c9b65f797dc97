//! One HTTP exchange of the core's: facts about it in, and what is to be written out.
//!
//! Facts reported: a request's head, its body's bytes and end; that its sender is gone, if it is dropped before its end.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcp_sse_core::http::RequestHead;
use mcp_sse_core::server::{self as core_server, ExchangeId, Output, ReplyBody};

use super::call::Sender;
use super::serve::Serving;
use super::{Errands, busy};

/// Random bytes for some sessions.
const ENTROPY_BYTES: usize = 256;

/// An exchange under way. All of it happens on the thread that began it, which is woken for it.
pub(super) struct Exchange {
    serving: Arc<Serving>,
    id: ExchangeId,
    is_over: bool,
}

/// What is to be written next, and what is done behind it.
pub(super) struct Next {
    pub(super) output: Output,
    pub(super) errands: Errands,
}

impl Exchange {
    pub(super) fn begin(serving: &Arc<Serving>, head: RequestHead, sender: Sender) -> Self {
        let (id, errands) = serving.inner.take_errands(|state, now| {
            add_entropy(&mut state.core);
            let id = state.core.on_request(head, now);
            state.exchanges.insert(id, (thread::current(), Arc::new(sender)));
            id
        });
        serving.run(errands);
        Self { serving: Arc::clone(serving), id, is_over: false }
    }

    pub(super) fn wants_body(&self) -> bool {
        self.serving.inner.state().core.wants_body(self.id)
    }

    /// Gives bytes of the body in, and says whether more are wanted.
    pub(super) fn take_body(&self, bytes: &[u8]) -> bool {
        let (wants_more, errands) = self.serving.inner.take_errands(|state, now| {
            state.core.on_body(self.id, bytes, now);
            state.core.wants_body(self.id)
        });
        self.serving.run(errands);
        wants_more
    }

    /// What is to be written next, put at the end of `out` if it is bytes. `is_read`: the body has just ended.
    ///
    /// What follows is not done yet: nobody must have begun with a request that is to be declined, and no answer should come
    /// on another stream before a 202 that says that the request was taken.
    pub(super) fn poll(&mut self, is_read: bool, out: &mut Vec<u8>) -> Next {
        let (output, errands) = self.serving.inner.take_errands(|state, now| {
            if is_read {
                add_entropy(&mut state.core);
                state.core.on_body_end(self.id, now);
            }
            state.core.poll_output(self.id, out, now)
        });
        self.is_over = match &output {
            Output::Head(head) => head.body != ReplyBody::Stream,
            Output::End | Output::Cut => true,
            _ => false,
        };
        Next { output, errands }
    }

    pub(super) fn run(&self, errands: Errands) {
        self.serving.run(errands);
    }

    /// There is no place for what this exchange waits for: it ends before anybody has begun with it.
    pub(super) fn decline(self, mut errands: Errands) {
        let calls = std::mem::take(&mut errands.calls);
        self.serving.run(errands);
        for (request, ..) in calls {
            self.serving.inner.respond(request.call, busy());
        }
    }

    /// Waits until there is something to be written, for so long at most. May return for no reason.
    pub(super) fn wait(&self, at_most: Duration) {
        thread::park_timeout(at_most);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let (id, is_over) = (self.id, self.is_over);
        let ((), errands) = self.serving.inner.take_errands(|state, now| {
            if !is_over {
                state.core.on_gone(id, now);
            }
        });
        self.serving.inner.state().exchanges.remove(&id);
        self.serving.run(errands);
    }
}

/// Without randomness no session is opened; the core says so to who asks for one.
fn add_entropy(core: &mut core_server::Server) {
    if core.wants_entropy() {
        let mut bytes = [0; ENTROPY_BYTES];
        if getrandom::fill(&mut bytes).is_ok() {
            core.add_entropy(&bytes);
        }
    }
}
