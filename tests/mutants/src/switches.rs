//! The switches, as they stand in the switched core. Not a part of the program that puts them there.

use core::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::string::String;
use std::sync::{Mutex, OnceLock};

struct State {
    on: u32,
    reached: Option<Mutex<(BTreeSet<u32>, File)>>,
}

/// Whether this mutant is the one that is on. None is where the compiler evaluates.
#[inline]
pub(crate) const fn is(number: u32) -> bool {
    core::intrinsics::const_eval_select((number,), never, at_run_time)
}

const fn never(_: u32) -> bool {
    false
}

#[inline]
fn at_run_time(number: u32) -> bool {
    static STATE: OnceLock<State> = OnceLock::new();
    let state = STATE.get_or_init(|| State {
        on: std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0),
        reached: std::env::var("MUTANTS_REACHED")
            .ok()
            .map(|path: String| Mutex::new((BTreeSet::new(), File::create(path).expect("a file for the numbers")))),
    });
    if let Some(reached) = &state.reached {
        note(number, reached);
    }
    state.on == number
}

#[cold]
fn note(number: u32, reached: &Mutex<(BTreeSet<u32>, File)>) {
    std::thread_local! { static LAST: Cell<u32> = const { Cell::new(0) } }
    // Loops reach the same few again and again.
    if LAST.replace(number) == number {
        return;
    }
    let mut reached = reached.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if reached.0.insert(number) {
        writeln!(reached.1, "{number}").expect("the file takes it");
    }
}
