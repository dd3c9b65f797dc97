//! The switches, as they stand in the switched core. Not a part of the program that puts them there.
//!
//! A switch is asked in the innermost loops, and in programs that count what is allocated: it is a load and a comparison, and
//! noting what is reached allocates nothing.

use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The mutant that is on; 0 is none.
static ON: AtomicU32 = AtomicU32::new(UNREAD);
/// The environment was not yet asked.
const UNREAD: u32 = u32::MAX;
/// No mutant is on: which are reached is written down.
const NOTING: u32 = u32::MAX - 1;

/// Room for more mutants than there are.
const MOST: usize = 16_384;
static REACHED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];
static FILE: OnceLock<File> = OnceLock::new();

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
    let on = ON.load(Ordering::Relaxed);
    if on >= NOTING {
        return look(number, on);
    }
    on == number
}

#[inline(never)]
fn look(number: u32, on: u32) -> bool {
    if on == UNREAD {
        let on = match std::env::var("MUTANTS_REACHED") {
            Ok(path) => {
                FILE.get_or_init(|| File::create(path).expect("a file for the numbers"));
                NOTING
            }
            Err(_) => std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0),
        };
        ON.store(on, Ordering::Relaxed);
        return at_run_time(number);
    }
    let reached = &REACHED[number as usize];
    // Loops reach the same few again and again.
    if !reached.load(Ordering::Relaxed) && !reached.swap(true, Ordering::Relaxed) {
        let mut file = FILE.get().expect("it was opened");
        writeln!(file, "{number}").expect("the file takes it");
    }
    false
}
