//! The floor: `memchr2_iter` finds the line ends and counts them. It decodes nothing, so it is no [`Engine`]; what it
//! costs is what any decoder pays that calls memchr once per line.
//!
//! [`Engine`]: super::Engine

/// How many LF and CR `stream` holds, searched in chunks of `chunk_bytes` bytes.
pub fn count_line_ends(stream: &[u8], chunk_bytes: usize) -> u64 {
    stream.chunks(chunk_bytes).map(|chunk| memchr::memchr2_iter(b'\n', b'\r', chunk).count() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::count_line_ends;

    /// It counts line ends, whatever the chunks.
    #[test]
    fn counts_line_ends() {
        let stream = b"data: a\r\ndata: b\n\n\r: c".repeat(100);
        for chunk_bytes in [1, 7, 64, usize::MAX] {
            assert_eq!(count_line_ends(&stream, chunk_bytes), 500);
        }
    }
}
