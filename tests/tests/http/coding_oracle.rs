//! E13: nothing that could be inflated is withheld. A slow, literal inflater (RFC 1951) reads bit by bit and says how many
//! bytes any prefix of a body determines; ours must put out exactly those.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use mcp_sse_core::http::{ContentCoding, Inflater, Progress};

const LENGTH_BASE: [usize; 29] =
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA: [u32; 29] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const CODE_LENGTH_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

struct Bits<'a> {
    data: &'a [u8],
    position: usize,
}

impl Bits<'_> {
    fn bit(&mut self) -> Option<usize> {
        let byte = *self.data.get(self.position / 8)?;
        let bit = byte >> (self.position % 8) & 1;
        self.position += 1;
        Some(usize::from(bit))
    }

    fn number(&mut self, count: u32) -> Option<usize> {
        let mut number = 0;
        for place in 0..count {
            number |= self.bit()? << place;
        }
        Some(number)
    }

    /// One symbol of the canonical code with these lengths (RFC 1951 3.2.2).
    fn symbol(&mut self, lengths: &[usize]) -> Option<usize> {
        let (mut code, mut first) = (0, 0);
        for length in 1..=15 {
            code |= self.bit()?;
            let mut with_length = lengths.iter().enumerate().filter(|(_, have)| **have == length);
            let count = with_length.clone().count();
            if code - first < count {
                return with_length.nth(code - first).map(|(symbol, _)| symbol);
            }
            first = (first + count) << 1;
            code <<= 1;
        }
        panic!("no such code");
    }
}

/// What the data determines, and whether its end was seen.
fn oracle(data: &[u8]) -> (Vec<u8>, bool) {
    let mut output = Vec::new();
    let mut bits = Bits { data, position: 0 };
    let complete = inflate(&mut bits, &mut output).is_some();
    (output, complete)
}

fn inflate(bits: &mut Bits<'_>, output: &mut Vec<u8>) -> Option<()> {
    loop {
        let is_last = bits.bit()? == 1;
        match bits.number(2)? {
            0 => stored(bits, output)?,
            1 => {
                let mut lengths = vec![8; 288];
                lengths[144..256].fill(9);
                lengths[256..280].fill(7);
                coded(bits, output, &lengths, &[5; 30])?;
            }
            2 => {
                let (literals, distances) = dynamic(bits)?;
                coded(bits, output, &literals, &distances)?;
            }
            other => panic!("block type {other}"),
        }
        if is_last {
            return Some(());
        }
    }
}

fn stored(bits: &mut Bits<'_>, output: &mut Vec<u8>) -> Option<()> {
    bits.position = bits.position.next_multiple_of(8);
    let length = bits.number(16)?;
    bits.number(16)?;
    for _ in 0..length {
        output.push(bits.number(8)? as u8);
    }
    Some(())
}

fn dynamic(bits: &mut Bits<'_>) -> Option<(Vec<usize>, Vec<usize>)> {
    let literals = bits.number(5)? + 257;
    let distances = bits.number(5)? + 1;
    let count = bits.number(4)? + 4;
    let mut code_lengths = [0; 19];
    for &place in &CODE_LENGTH_ORDER[..count] {
        code_lengths[place] = bits.number(3)?;
    }
    let mut lengths = Vec::new();
    while lengths.len() < literals + distances {
        let (length, repeat) = match bits.symbol(&code_lengths)? {
            16 => (*lengths.last().unwrap(), bits.number(2)? + 3),
            17 => (0, bits.number(3)? + 3),
            18 => (0, bits.number(7)? + 11),
            length => (length, 1),
        };
        lengths.resize(lengths.len() + repeat, length);
    }
    let distances = lengths.split_off(literals);
    Some((lengths, distances))
}

fn coded(bits: &mut Bits<'_>, output: &mut Vec<u8>, literals: &[usize], distances: &[usize]) -> Option<()> {
    loop {
        match bits.symbol(literals)? {
            256 => return Some(()),
            literal @ 0..256 => output.push(literal as u8),
            symbol => {
                let length = LENGTH_BASE[symbol - 257] + bits.number(LENGTH_EXTRA[symbol - 257])?;
                let symbol = bits.symbol(distances)?;
                let extra = (symbol as u32 / 2).saturating_sub(1);
                let base = if symbol < 4 { symbol } else { (2 + symbol % 2) << extra };
                let distance = base + 1 + bits.number(extra)?;
                for _ in 0..length {
                    output.push(output[output.len() - distance]);
                }
            }
        }
    }
}

/// Our inflater fed with one more byte at a time; after each, all that came out.
fn ours_by_bytes(data: &[u8], mut check: impl FnMut(usize, &[u8])) {
    let mut inflater = Inflater::new(ContentCoding::Deflate, u64::MAX).unwrap();
    let mut output = Vec::new();
    for (index, byte) in data.iter().enumerate() {
        let mut input = std::slice::from_ref(byte);
        while inflater.inflate(&mut input, &mut output).unwrap() == Progress::More {}
        check(index + 1, &output);
    }
}

fn ours(data: &[u8]) -> Vec<u8> {
    let mut inflater = Inflater::new(ContentCoding::Deflate, u64::MAX).unwrap();
    let (mut input, mut output) = (data, Vec::new());
    while inflater.inflate(&mut input, &mut output).unwrap() == Progress::More {}
    output
}

fn sample() -> Vec<u8> {
    let mut text = Vec::new();
    for step in 0..24u32 {
        let noise = step.wrapping_mul(2_654_435_761);
        text.extend_from_slice(
            format!("id: {step}\ndata: {{\"id\":{noise},\"text\":\"Grüße {noise:x}\"}}\n\n").as_bytes(),
        );
    }
    text
}

#[test]
fn e13_every_prefix_gives_what_its_bits_determine() {
    let text = sample();
    for level in [0, 1, 6, 9] {
        for flush_every in [usize::MAX, 60] {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
            for part in text.chunks(flush_every.min(text.len())) {
                encoder.write_all(part).unwrap();
                if flush_every != usize::MAX {
                    encoder.flush().unwrap();
                }
            }
            let body = encoder.finish().unwrap();
            assert_eq!(oracle(&body), (text.clone(), true));
            ours_by_bytes(&body, |cut, output| {
                let (expected, _) = oracle(&body[..cut]);
                assert!(output == expected, "level {level}, cut {cut}: {} of {}", output.len(), expected.len());
                assert_eq!(ours(&body[..cut]).len(), expected.len(), "level {level}, cut {cut}");
            });
        }
    }
}
