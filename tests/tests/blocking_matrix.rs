//! The break matrix through the blocking adapter: every shape of response, broken everywhere, in every way, over real sockets.
//!
//! What must come of each case is computed in `mcp_sse_tests::matrix` (rows E2 to E13, E21 and F1).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use mcp_sse_blocking::{CallOptions, Client};
use mcp_sse_core::client::ConnectionConfig;
use mcp_sse_tests::matrix::{Break, Case, METHOD, Shape, Target, Told, params, run, shapes};

/// How many calls are under way at once where each does work.
const WORKERS: usize = 6;
/// How many are where most of them wait.
const WAITERS: usize = 48;

fn client(target: &Target) -> Client {
    let mut builder = Client::builder(&target.url)
        .connections(ConnectionConfig::default().with_drain_timeout(Duration::from_millis(50)));
    if let Some(pem) = &target.certificate_pem {
        builder = builder.trust_pem(pem.as_bytes());
    }
    builder.build().unwrap()
}

/// Calls, and returns when the answer is there.
fn call(target: &Target) -> Told {
    let options = CallOptions::default().with_timeout(target.timeout);
    let mut events = Vec::new();
    let result = client(target).call_with(METHOD, &params(), &options, |event| {
        events.push(event);
        ControlFlow::Continue(())
    });
    Told { result, events, done: None }
}

/// Calls, and waits for the end of the exchange too.
fn call_to_end(target: &Target) -> Told {
    let options = CallOptions::default().with_timeout(target.timeout);
    let mut events = Vec::new();
    let result = client(target).call_to_end(METHOD, &params(), &options, |event| {
        events.push(event);
        ControlFlow::Continue(())
    });
    match result {
        Ok((reply, done)) => Told { result: Ok(reply), events, done: Some(done) },
        Err(error) => Told { result: Err(error), events, done: None },
    }
}

fn cases(shapes: &[Arc<Shape>], offsets: impl Fn(&Shape) -> Vec<usize>, endings: &[Break]) -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in shapes {
        for offset in offsets(shape) {
            for &ending in endings {
                cases.push(Case { shape: Arc::clone(shape), offset, ending });
            }
        }
    }
    cases
}

/// Runs the cases, and makes sure that no shape, offset or ending has gone missing: `offsets` is the number of offsets of the
/// shapes whose length is the same with every encoder, and there must be as many cases as offsets and endings make.
fn run_all(
    cases: Vec<Case>,
    endings: usize,
    offsets: usize,
    is_tls: bool,
    workers: usize,
    caller: fn(&Target) -> Told,
) {
    let uncoded = cases.iter().filter(|case| !case.shape.is_coded()).count();
    assert_eq!(uncoded, offsets * endings, "cases of uncoded shapes");
    let expected = cases.len();
    let run = run(cases, is_tls, workers, Arc::new(caller));
    assert_eq!(run, expected);
    println!("{run} cases");
}

#[test]
fn the_table_has_all_its_shapes() {
    let shapes = shapes();
    let coded = shapes.iter().filter(|shape| shape.is_coded()).count();
    assert_eq!((shapes.len(), coded), (29, 9));
    for shape in &shapes {
        let offsets = shape.every_offset();
        assert_eq!(offsets.len(), shape.len() + 1, "{}", shape.name);
        assert!(shape.offsets_at_boundaries().iter().all(|offset| offsets.contains(offset)), "{}", shape.name);
    }
}

#[test]
fn e5_e8_e9_e13_every_byte_of_every_shape_broken_by_fin_and_by_rst() {
    let cases = cases(&shapes(), Shape::every_offset, &[Break::Fin, Break::Reset]);
    run_all(cases, 2, 5534, false, WORKERS, call);
}

#[test]
fn e3_e4_boundaries_over_plain_http_waited_for_to_the_end() {
    let cases = cases(&shapes(), Shape::offsets_at_boundaries, &[Break::Fin, Break::Reset]);
    run_all(cases, 2, 1207, false, WORKERS, call_to_end);
}

#[test]
fn t100_t101_boundaries_over_tls() {
    let cases = cases(&shapes(), Shape::offsets_at_boundaries, &[Break::Fin, Break::TlsTruncate, Break::Reset]);
    run_all(cases, 3, 1207, true, WORKERS, call);
}

#[test]
fn t100_every_byte_over_tls_cut_without_its_alert() {
    let shapes: Vec<_> = shapes().into_iter().step_by(3).collect();
    run_all(cases(&shapes, Shape::every_offset, &[Break::TlsTruncate]), 1, 1784, true, WORKERS, call);
}

#[test]
fn e4_e11_boundaries_followed_by_silence() {
    run_all(cases(&shapes(), Shape::offsets_at_boundaries, &[Break::Stall]), 1, 1207, false, WAITERS, call);
}

#[test]
fn e4_e11_boundaries_followed_by_silence_over_tls() {
    let shapes: Vec<_> = shapes().into_iter().step_by(5).collect();
    run_all(cases(&shapes, Shape::offsets_at_boundaries, &[Break::Stall]), 1, 492, true, WAITERS, call);
}
