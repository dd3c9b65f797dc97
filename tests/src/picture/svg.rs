//! The table as a picture: a column for each place, a strip for each way to break, a colour for each verdict.

use std::fmt::{self, Write as _};

use super::table::Table;
use super::trial::{Verdict, rendered};
use crate::peer::Mark;

const LEFT: usize = 260;
const WIDTH: usize = 640;
const TOP: usize = 66;
const STRIP: usize = 13;
/// Three strips, and the space to the next client.
const CLIENT: usize = 3 * STRIP + 12;

/// Sound ones in greens, yellow and grey, which differ in lightness as well; the others darker.
fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Answer => "#2e8b57",
        Verdict::Again => "#9fd8b4",
        Verdict::Error => "#f4d35e",
        Verdict::Waited => "#dddddd",
        Verdict::Lost => "#d1495b",
        Verdict::Twice => "#7b2cbf",
        Verdict::Hung => "#1d1d1f",
    }
}

/// Draws it.
///
/// # Panics
/// Never: a string takes all.
pub fn draw(table: &Table) -> String {
    let mut svg = String::new();
    picture(&mut svg, table).expect("a string takes all");
    svg
}

fn picture(svg: &mut String, table: &Table) -> fmt::Result {
    let rendered = rendered();
    let length = rendered.bytes.len();
    // Columns are equally wide, so that the end of the answer, where every byte is a place, can be seen.
    let column = |offset: usize| table.offsets.iter().filter(|place| **place < offset).count();
    let x = |offset: usize| LEFT + column(offset) * WIDTH / table.offsets.len().max(1);
    let at = |mark| rendered.at(mark).unwrap_or_default();
    let clients = table.rows.chunk_by(|a, b| a.client == b.client).count();
    let bottom = TOP + clients * CLIENT;
    let height = bottom + 44;
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 920 {height}\" width=\"920\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"920\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"20\" font-size=\"13\">A response that is broken behind ever more of its {length} bytes, and what the \
         call comes to</text>"
    )?;
    // What the bytes are.
    let parts = [
        (0, at(Mark::HeadEnd), "head"),
        (at(Mark::HeadEnd), at(Mark::BlockEnd(0)), "a notification"),
        (at(Mark::BlockEnd(0)), at(Mark::AnswerEnd), "the answer"),
    ];
    for (start, end, name) in parts {
        let (left, right) = (x(start), x(end));
        let middle = usize::midpoint(left, right);
        writeln!(
            svg,
            "<path d=\"M{left} {} V{} H{right} V{0}\" fill=\"none\" stroke=\"#888888\"/>\
             <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{name}</text>",
            TOP - 8,
            TOP - 13,
            TOP - 18
        )?;
    }
    let mut y = TOP;
    for rows in table.rows.chunk_by(|a, b| a.client == b.client) {
        let (client, revision) = (&rows[0].client, &rows[0].revision);
        writeln!(
            svg,
            "<text x=\"12\" y=\"{}\" font-weight=\"bold\">{client}</text>\
             <text x=\"12\" y=\"{}\" fill=\"#555555\">{revision}</text>",
            y + 14,
            y + 29
        )?;
        for row in rows {
            let baseline = y + STRIP - 3;
            writeln!(svg, "<text x=\"{}\" y=\"{baseline}\" text-anchor=\"end\">{}</text>", LEFT - 6, row.breaks)?;
            let cells: Vec<(usize, char)> = table.offsets.iter().copied().zip(row.letters.chars()).collect();
            let runs: Vec<_> = cells.chunk_by(|a, b| a.1 == b.1).collect();
            for (number, run) in runs.iter().enumerate() {
                let (start, letter) = run[0];
                let end = runs.get(number + 1).map_or(length + 1, |next| next[0].0);
                let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.letter() == letter);
                let (fill, words) = verdict.map_or(("#ffffff", "?"), |verdict| (colour(verdict), verdict.words()));
                writeln!(
                    svg,
                    "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"><title>{client}, {} behind bytes {start} \
                     to {}: {words}</title></rect>",
                    x(start),
                    x(end) - x(start),
                    STRIP - 1,
                    row.breaks,
                    end - 1
                )?;
            }
            y += STRIP;
        }
        y += CLIENT - 3 * STRIP;
    }
    let delivered = x(at(Mark::AnswerEnd));
    writeln!(
        svg,
        "<path d=\"M{delivered} {} V{bottom}\" stroke=\"#000000\" stroke-dasharray=\"3 2\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">from here on the answer is delivered</text>",
        TOP - 34,
        LEFT + WIDTH,
        TOP - 36
    )?;
    for (number, verdict) in Verdict::ALL.into_iter().enumerate() {
        let (left, top) = (12 + number % 4 * 226, bottom + 6 + number / 4 * 18);
        writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>",
            colour(verdict),
            left + 18,
            top + 10,
            verdict.words()
        )?;
    }
    svg.push_str("</svg>\n");
    Ok(())
}
