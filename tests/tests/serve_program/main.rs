//! The `serve` program, run as a program: options in, a URL out, and a server behind it that this project's own `call` programs
//! call. Its contract is one, so every case of `contract` runs for each adapter's example. They are built as programs of this
//! crate, whose paths cargo tells: what lies at `examples/serve` is whichever adapter's was built last.

mod contract;
mod program;

/// Makes each case a test of each program. A case that is not listed is dead code, which the compiler tells.
macro_rules! contract {
    ($($case:ident),+ $(,)?) => {
        mod blocking {
            $(#[test]
            fn $case() {
                super::contract::$case(env!("CARGO_BIN_EXE_serve-blocking"));
            })+
        }

        mod tokio {
            $(#[test]
            fn $case() {
                super::contract::$case(env!("CARGO_BIN_EXE_serve-tokio"));
            })+
        }
    };
}

contract![
    a_response_that_is_cut_or_reset_is_lost_and_a_short_one_is_not,
    a_stalled_response_runs_into_the_deadline,
    every_answer_on_a_stream,
    help_tells_the_options,
    it_speaks_the_revisions_that_are_named,
    s4_a_call_that_nobody_waits_for_stops,
    s9_a_header_that_mirrors_a_parameter,
    s10_an_interrupt_ends_it,
    the_tools_in_every_revision,
    tls_with_a_certificate_and_a_key,
    usage_errors_say_what_was_expected_and_exit_with_2,
    where_streams_can_be_resumed_a_cut_loses_nothing,
];
