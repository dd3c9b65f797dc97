//! Whether the last chunk of a chunked response came (RFC 9112 section 7.1).
//!
//! Facts reported: that one. Steps carried out: none.
//!
//! hyper undoes the framing, and gives one and the same error for a body that lacks data and for one that lacks
//! only the end of its trailers. The second is whole, so the framing is followed here as well, along the bytes
//! that hyper reads. Nothing is judged: what is malformed is hyper's to find.

/// Where a response is followed to.
#[derive(Debug)]
pub(crate) enum Walk {
    /// In a head: bytes of its lines so far, bytes of the line so far, and whether it is an interim one.
    Head { bytes: usize, line: usize, is_interim: bool },
    /// In a chunk's size line.
    Size { size: Option<u64>, has_extension: bool },
    /// In a chunk's data: so many bytes are left of it.
    Data(u64),
    /// In the line end behind a chunk's data.
    DataEnd,
    /// Behind the last chunk's size line: all data came.
    Last,
    /// This is no chunked framing.
    Lost,
}

/// The place of the first digit of the status in a status line.
const STATUS: usize = "HTTP/1.1 ".len();

impl Default for Walk {
    fn default() -> Self {
        Self::Head { bytes: 0, line: 0, is_interim: false }
    }
}

impl Walk {
    /// Follows these bytes.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        while let Some((byte, rest)) = bytes.split_first() {
            if let Self::Data(left) = self {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= taken as u64;
                if *left == 0 {
                    *self = Self::DataEnd;
                }
                bytes = bytes.get(taken..).unwrap_or_default();
                continue;
            }
            if matches!(self, Self::Last | Self::Lost) {
                return;
            }
            self.take_byte(*byte);
            bytes = rest;
        }
    }

    fn take_byte(&mut self, byte: u8) {
        match (&mut *self, byte) {
            (Self::Head { bytes: 0, line: 0, .. }, b'\n') => {}
            (Self::Head { line: 0, is_interim, .. }, b'\n') => {
                *self = if *is_interim { Self::default() } else { Self::Size { size: None, has_extension: false } };
            }
            (Self::Head { line, .. }, b'\n') => *line = 0,
            (Self::Head { .. } | Self::DataEnd, b'\r') => {}
            (Self::Head { bytes, line, is_interim }, _) => {
                if *bytes == STATUS {
                    *is_interim = byte == b'1';
                }
                *bytes += 1;
                *line += 1;
            }
            (Self::Size { size: Some(0), .. }, b'\n') => *self = Self::Last,
            (Self::Size { size: Some(size), .. }, b'\n') => *self = Self::Data(*size),
            (Self::Size { has_extension: true, .. }, _) | (Self::Size { .. }, b'\r' | b' ' | b'\t') => {}
            (Self::Size { size: Some(_), has_extension }, b';') => *has_extension = true,
            (Self::Size { size, .. }, _) => {
                let digit = char::from(byte).to_digit(16).map(u64::from);
                let grown = digit.and_then(|digit| size.unwrap_or(0).checked_mul(16)?.checked_add(digit));
                match grown {
                    Some(grown) => *size = Some(grown),
                    None => *self = Self::Lost,
                }
            }
            (Self::DataEnd, b'\n') => *self = Self::Size { size: None, has_extension: false },
            _ => *self = Self::Lost,
        }
    }

    /// Whether all data came.
    pub(crate) const fn is_complete(&self) -> bool {
        matches!(self, Self::Last)
    }
}

#[cfg(test)]
mod tests {
    use super::Walk;

    /// The length at which all data has come, however the bytes are cut.
    fn complete_at(response: &[u8]) -> Option<usize> {
        let whole = (1..=response.len()).find(|end| {
            let mut walk = Walk::default();
            walk.take(&response[..*end]);
            walk.is_complete()
        });
        let mut walk = Walk::default();
        let bytewise = response.iter().position(|byte| {
            walk.take(&[*byte]);
            walk.is_complete()
        });
        assert_eq!(whole, bytewise.map(|at| at + 1));
        whole
    }

    #[test]
    fn e8_all_data_came_once_the_last_chunk_did() {
        let head =
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (body, end) in [
            ("0\r\n\r\n", 3),
            ("5\r\nhello\r\n0\r\n\r\n", 13),
            ("5;a=\"0\"\r\n\r\n0\r\n\r\n000;x=1\r\nX: y\r\n\r\n", 25),
            ("c\n0\r\n0\r\n0\r\n0\r\n\r\n00\n\n", 19),
        ] {
            let response = format!("{head}{body}");
            assert_eq!(complete_at(response.as_bytes()), Some(head.len() + end), "{body:?}");
        }
        for body in ["data: 0\r\n0\r\n\r\n", "", "5\r\nhel", "ffffffffffffffff0\r\n", "\n0\r\n", "1\r\nab\r\n0\r\n\r\n"]
        {
            assert_eq!(complete_at(format!("{head}{body}").as_bytes()), None, "{body:?}");
        }
    }
}
