//! The parameters of `tools/call`, as a caller has them: a struct, which the client serialises for each call.

use serde::Serialize;

use super::Job;

#[derive(Serialize)]
pub(super) struct Params {
    name: String,
    arguments: Arguments,
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Serialize)]
struct Arguments {
    text: &'static str,
}

#[derive(Serialize)]
struct Meta {
    #[serde(rename = "progressToken")]
    progress_token: u32,
}

/// Those of the job that was asked for last.
#[derive(Default)]
pub(super) struct Prepared(Option<(Job, Params)>);

impl Prepared {
    pub(super) fn of(&mut self, job: Job) -> &Params {
        let kept = self.0.take().filter(|(prepared, _)| *prepared == job);
        let params =
            || Params { name: job.tool(), arguments: Arguments { text: "hello" }, meta: Meta { progress_token: 1 } };
        &self.0.insert(kept.unwrap_or_else(|| (job, params()))).1
    }
}
