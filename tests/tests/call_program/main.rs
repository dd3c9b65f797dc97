//! The `call` program, run as a program: options in, JSON Lines and an exit status out. Its contract is one, so every case of
//! `contract` runs for each adapter's example. They are built as programs of this crate, whose paths cargo tells: what lies at
//! `examples/call` is whichever adapter's was built last.

mod contract;
mod program;

use program::Program;

/// Makes each case a test of each program. A case that is not listed is dead code, which the compiler tells.
macro_rules! contract {
    ($($case:ident),+ $(,)?) => {
        mod blocking {
            $(#[test]
            fn $case() {
                super::contract::$case(&super::Program::new(env!("CARGO_BIN_EXE_call-blocking")));
            })+
        }

        mod tokio {
            $(#[test]
            fn $case() {
                super::contract::$case(&super::Program::new(env!("CARGO_BIN_EXE_call-tokio")));
            })+
        }
    };
}

contract![
    a_batch_has_one_line_per_call_in_order,
    a_json_rpc_error_is_an_answer_and_exit_status_1,
    a_recording_that_says_no_more_than_sizes_is_not_replayed,
    a_lost_stream_is_told_and_sent_again,
    an_answer_is_the_last_line_and_exit_status_0,
    e11_a_legacy_timeout_is_told_to_the_server_before_the_program_ends,
    e21_events_are_printed_as_they_happen,
    e9_an_unterminated_answer_is_salvaged_unless_the_tail_is_strict,
    f1_as_many_replacements_as_asked_for,
    f14_never_is_an_error_that_says_it_may_have_run,
    help_tells_the_options,
    no_argument_is_the_demonstration_and_all_its_rows_are_as_they_must_be,
    the_kinds_of_transport_errors_and_exit_status_3,
    tls_with_a_certificate_file_and_an_extra_header,
    what_is_recorded_is_replayed_with_the_same_lines_and_status,
    usage_errors_say_what_was_expected_and_exit_with_2,
];
