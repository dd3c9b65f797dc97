//! The result as a picture: ours, the best peer and the search for line ends, per stream, in chunks of 1460 bytes.

use std::fmt::Write as _;

use mcp_sse_benches::limits::LINE_ENDS;

use super::measure::Row;

const CHUNK: usize = 1460;
const WIDTH: f64 = 420.0;
const LEFT: f64 = 170.0;
const STEP: f64 = 46.0;

/// Bars are speeds as multiples of the best peer's.
pub(crate) fn draw(rows: &[Row]) -> String {
    let rows: Vec<_> = rows.iter().filter(|row| row.chunk_bytes == CHUNK).collect();
    let bars = |row: &Row| {
        let (peer, ours) = row.best_peer()?;
        let floor = row.limits.iter().find(|(name, _)| *name == LINE_ENDS.name).map(|(_, ratio)| ours / ratio)?;
        Some([("ours", ours, "#2463b0"), (peer, 1.0, "#9a9a9a"), (LINE_ENDS.name, floor, "#e0e0e0")])
    };
    // Limits that tower above all are cut off.
    let longest = rows.iter().filter_map(|row| bars(row)).map(|bars| bars[0].1).fold(1.0, f64::max) * 1.5;
    let height = 40.0 + STEP * rows.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<text x=\"10\" y=\"20\">Speed as a multiple of the best peer's, chunks of {CHUNK} bytes</text>\n"
    );
    for (index, row) in rows.iter().enumerate() {
        let top = 34.0 + STEP * index as f64;
        // Writing to a String cannot fail.
        let _ = writeln!(svg, "<text x=\"10\" y=\"{}\">{}</text>", top + 20.0, row.kind.name);
        for (place, (name, ratio, colour)) in bars(row).into_iter().flatten().enumerate() {
            let y = top + 13.0 * place as f64;
            let width = WIDTH * ratio.min(longest) / longest;
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"11\" fill=\"{colour}\"/>\
                 <text x=\"{:.0}\" y=\"{:.0}\" font-size=\"10\">{ratio:.2} {name}</text>",
                LEFT + width + 4.0,
                y + 9.5
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}
