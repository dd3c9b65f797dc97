//! `call --replay`: a recording played without a network, and what it comes to, in the lines of the call that it was.

use std::fs;
use std::io;
use std::path::Path;

use mcp_sse_core::client::{CallError, CallId, Reply, Step};
use mcp_sse_core::recording::{Recording, Told};

use super::{Ended, Status, answered, failed, lines, print};

/// Plays the recording in this file. What it comes to is the outcome of its first call.
pub(super) fn run(file: &Path) -> io::Result<Status> {
    let read = fs::read(file).map_err(|error| error.to_string());
    let recording = read.and_then(|text| Recording::parse(&text).map_err(|error| error.to_string()));
    let recording = match recording {
        Ok(recording) => recording,
        Err(error) => return misuse(&format!("--replay {}: {error}", file.display())),
    };
    let mut printed = Ok(());
    let (mut first, mut reply, mut ended): (Option<CallId>, Option<Reply>, Option<Ended>) = (None, None, None);
    let replayed = recording.replay_with(|at, told| match told {
        Told::Step(Step::Event(call, event)) if *first.get_or_insert(*call) == *call => {
            match Reply::from_event(event.clone()) {
                Ok(answer) => {
                    ended = Some(answered(&answer, at.since_origin()));
                    reply = Some(answer);
                }
                Err(event) => {
                    if let (Ok(()), Some(line)) = (&printed, lines::event(&event)) {
                        printed = print(&line);
                    }
                }
            }
        }
        Told::Step(Step::Done(call, done)) if *first.get_or_insert(*call) == *call && reply.is_none() => {
            let error = CallError::from_done(done.clone());
            ended = error.map(|error| failed(&error, at.since_origin()));
        }
        _ => {}
    });
    printed?;
    match (replayed, ended) {
        (Err(error), _) => misuse(&format!("--replay {}: {error}", file.display())),
        (Ok(replayed), ended) => {
            eprintln!("call: replayed: {} inputs, {} outputs, all as recorded", replayed.inputs, replayed.outputs);
            let Some(ended) = ended else { return Ok(Status::Result) };
            print(&ended.line)?;
            Ok(ended.status)
        }
    }
}

fn misuse(what: &str) -> io::Result<Status> {
    eprintln!("call: {what}");
    print(&lines::misuse(what))?;
    Ok(Status::Usage)
}
