#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_sse_tests::fuzz::recording::run(data));
