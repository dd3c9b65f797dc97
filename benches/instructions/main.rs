//! How many instructions the decoder takes: repeatable to the instruction, where clocks are not.
//!
//! `cargo run --release --bin instructions` counts (under valgrind's callgrind) and prints; `-- write` keeps the figures
//! in `instructions.tsv`; `-- check` compares with those, and fails if one has grown by more than 3 %.
//!
//! Four things are counted: each stream in chunks of several sizes; MCP's stream through an `Exchange`; calls of a server, in the
//! core alone and in the tokio adapter's service (`server`); and streams that grow,
//! where the count per byte must not grow with them (`check` and `print` tell).
//!
//! Rules of this program:
//! * Only what is ours is counted: streams and requests are made before, and each case is a process of its own.
//! * Counts depend on the compiler, on libc and on valgrind. These stand at the head of the file, and are compared first.
//!   If they differ, the figures of the file are no base: then the commit that wrote them is built and measured anew, if
//!   it is at hand, and the report says so.

mod server;

use std::env;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use mcp_sse_benches::corpora::KINDS;
use mcp_sse_benches::engines;
use mcp_sse_benches::shapes::{MIB, SHAPES, Stream};

const USAGE: &str =
    "instructions [write | check | growth | print | run LETTER CHUNK_BYTES | serve PART | grow SHAPE BYTES]";

/// How much a count may grow, in percent.
const ALLOWED: u64 = 3;

/// Chunk sizes, in bytes; the last is all at once.
const CHUNKS: [usize; 5] = [1, 7, 64, 1460, usize::MAX];

/// The size of each stream.
const BYTES: usize = 256 * 1024;

/// An `Exchange` reading the stream of this letter is told by this name.
const EXCHANGE: (&str, char, &str) = ("exchange", 'b', "b: MCP progress, Exchange");

/// The sizes of streams that grow.
const SIZES: [usize; 3] = [MIB, 4 * MIB, 16 * MIB];

/// How much more instructions a byte may take in a larger stream, in percent.
const ALLOWED_GROWTH: u64 = 15;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        [] | ["print"] => count_all().map(|counts| {
            print!("{}", Figures { tools: tools(), counts });
            true
        }),
        ["growth"] => check_growth(),
        ["write"] => write().map(|()| true),
        ["check"] => check().and_then(|is_good| Ok(check_growth()? && is_good)),
        ["run", letter, chunk_bytes] => run(letter, chunk_bytes).map(|()| true),
        ["serve", part] => server::run(part).map(|()| true),
        ["grow", shape, bytes] => grow(shape, bytes).map(|()| true),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// What the file holds.
struct Figures {
    /// The versions of all that the counts depend on.
    tools: String,
    counts: Vec<Count>,
}

#[derive(PartialEq)]
struct Count {
    case: String,
    instructions: u64,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "# {}", self.tools)?;
        for count in &self.counts {
            writeln!(formatter, "{}\t{}", count.case, count.instructions)?;
        }
        Ok(())
    }
}

impl Figures {
    fn parse(text: &str) -> Option<Self> {
        let (tools, lines) = text.strip_prefix("# ")?.split_once('\n')?;
        let counts = lines.lines().map(|line| {
            let (case, instructions) = line.rsplit_once('\t')?;
            Some(Count { case: case.to_owned(), instructions: instructions.parse().ok()? })
        });
        Some(Self { tools: tools.to_owned(), counts: counts.collect::<Option<_>>()? })
    }
}

fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn figures_file() -> PathBuf {
    crate_root().join("instructions.tsv")
}

fn write() -> Outcome<()> {
    let figures = Figures { tools: tools(), counts: count_all()? };
    fs::write(figures_file(), figures.to_string())?;
    Ok(())
}

/// Whether no count has grown too much.
fn check() -> Outcome<bool> {
    let kept = Figures::parse(&fs::read_to_string(figures_file())?).ok_or("instructions.tsv is not understood")?;
    let counts = count_all()?;
    let base = if kept.tools == tools() {
        kept.counts
    } else {
        println!("The figures were taken with other tools, and are no base here:");
        println!("  then {}\n  now  {}", kept.tools, tools());
        match count_base() {
            Ok(base) => {
                println!("So the commit that wrote them was measured anew, with the tools of now.");
                base
            }
            Err(error) => {
                println!("That commit could not be measured anew ({error}). Nothing is compared.");
                return Ok(true);
            }
        }
    };
    Ok(compare(&base, &counts))
}

fn compare(base: &[Count], counts: &[Count]) -> bool {
    let mut is_good = true;
    for count in counts {
        let Some(before) = base.iter().find(|before| before.case == count.case) else {
            println!("{}\t{}\tnew", count.case, count.instructions);
            continue;
        };
        let change = 100.0 * (count.instructions as f64 / before.instructions as f64 - 1.0);
        let is_grown = count.instructions * 100 > before.instructions * (100 + ALLOWED);
        let verdict = if is_grown { "\tTOO MUCH" } else { "" };
        println!("{}\t{}\t{change:+.2} %{verdict}", count.case, count.instructions);
        is_good &= !is_grown;
    }
    if !is_good {
        println!("A count has grown by more than {ALLOWED} %. If that is meant: instructions -- write");
    }
    is_good
}

/// The figures of the commit that wrote the file, as they come out with the tools of now.
fn count_base() -> Outcome<Vec<Count>> {
    let file = figures_file();
    let file = file.to_str().ok_or("the path is not text")?;
    let root = crate_root().to_str().ok_or("the path is not text")?;
    let commit = output(Command::new("git").args(["-C", root, "log", "-1", "--format=%H", "--", file]))?;
    let commit = commit.trim();
    if commit.is_empty() {
        return Err("git does not know it".into());
    }
    let place = env::temp_dir().join(format!("mcp-sse-instructions-{}", std::process::id()));
    let path = place.to_str().ok_or("the path is not text")?;
    output(Command::new("git").args(["-C", root, "worktree", "add", "--detach", path, commit]))?;
    let manifest = place.join("benches/Cargo.toml");
    let counted = output(
        Command::new("cargo")
            .args(["run", "--release", "--locked", "--bin", "instructions", "--manifest-path"])
            .arg(&manifest)
            .arg("--target-dir")
            .arg(place.join("target"))
            .args(["--", "print"]),
    );
    let removed = output(Command::new("git").args(["-C", root, "worktree", "remove", "--force", path]));
    let figures = Figures::parse(&counted?).ok_or("its program prints something else")?;
    removed?;
    Ok(figures.counts)
}

fn count_all() -> Outcome<Vec<Count>> {
    let mut counts = Vec::new();
    for kind in &KINDS {
        for chunk_bytes in CHUNKS {
            counts.push(count(&kind.letter.to_string(), &format!("{}: {}", kind.letter, kind.name), chunk_bytes)?);
        }
    }
    for chunk_bytes in [1460, usize::MAX] {
        let (name, _, case) = EXCHANGE;
        counts.push(count(name, case, chunk_bytes)?);
    }
    for part in server::PARTS {
        let instructions = collected(&["serve", part])?;
        counts.push(Count { case: format!("{} calls of a server\t{part}", server::CALLS), instructions });
    }
    Ok(counts)
}

/// Whether no shape of stream takes more instructions a byte when it is larger.
fn check_growth() -> Outcome<bool> {
    println!(
        "instructions a KiB in streams of 1, 4 and 16 MiB; the last may be {ALLOWED_GROWTH} % more than the first:"
    );
    let mut is_good = true;
    for (index, shape) in SHAPES.iter().enumerate() {
        let mut counts = Vec::new();
        for bytes in SIZES {
            counts.push(collected(&["grow", &index.to_string(), &bytes.to_string()])? / (bytes as u64 / 1024));
        }
        let is_grown = has_grown(&counts);
        println!("{}\t{counts:?}{}", shape.name, if is_grown { "\tTOO MUCH" } else { "" });
        is_good &= !is_grown;
    }
    Ok(is_good)
}

fn has_grown(counts: &[u64]) -> bool {
    counts.iter().any(|count| count * 100 > counts[0] * (100 + ALLOWED_GROWTH))
}

/// Counts one case.
fn count(name: &str, case: &str, chunk_bytes: usize) -> Outcome<Count> {
    let instructions = collected(&["run", name, &chunk_bytes.to_string()])?;
    let chunks = if chunk_bytes == usize::MAX { "whole".to_owned() } else { chunk_bytes.to_string() };
    Ok(Count { case: format!("{case}\t{chunks}"), instructions })
}

/// Runs this program once more, under callgrind, and gives what that counted.
fn collected(arguments: &[&str]) -> Outcome<u64> {
    let program = env::current_exe()?;
    let (place, name) = program.parent().zip(program.file_name()).ok_or("this program has no place")?;
    // The environment and the program's path lie on the stack, and where the stack starts changes how copies are
    // aligned, by an instruction or two.
    let report = Command::new("valgrind")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(place)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*::decode_counted*"])
        .args(server::PARTS.map(|part| format!("--toggle-collect=*::{part}_counted*")))
        .arg(Path::new(".").join(name))
        .args(arguments)
        .output()?;
    let report = String::from_utf8_lossy(&report.stderr);
    let collected = report.lines().find_map(|line| line.split_once("Collected :"));
    let instructions: u64 = collected.ok_or_else(|| format!("valgrind says: {report}"))?.1.trim().parse()?;
    if instructions == 0 {
        return Err("nothing was counted".into());
    }
    Ok(instructions)
}

/// What is run under callgrind.
fn run(letter: &str, chunk_bytes: &str) -> Outcome<()> {
    let (name, of, _) = EXCHANGE;
    let (engine, letter) =
        if letter == name { (engines::ours_exchange(), of) } else { (engines::ours(), letter.parse()?) };
    let kind = KINDS.iter().find(|kind| kind.letter == letter).ok_or(USAGE)?;
    let chunk_bytes = chunk_bytes.parse()?;
    let corpus = kind.make(BYTES);
    // Once before, so that what is done at the first call only is not counted.
    (engine.touch)(corpus.stream, chunk_bytes)?;
    decode_counted(|| (engine.touch)(black_box(corpus.stream), chunk_bytes).map(drop))
}

/// The same for a stream that grows.
fn grow(shape: &str, bytes: &str) -> Outcome<()> {
    let shape = SHAPES.get(shape.parse::<usize>()?).ok_or(USAGE)?;
    let bytes = bytes.parse()?;
    let stream = Stream::new(shape, bytes);
    decode_counted(|| {
        stream.run(bytes);
        Ok(())
    })
}

/// Callgrind knows it by its name.
#[inline(never)]
fn decode_counted(run: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    black_box(run())
}

/// The versions of all that the counts depend on, beside the code.
fn tools() -> String {
    let first_line = |program: &str| {
        let text = output(Command::new(program).arg("--version")).unwrap_or_default();
        text.lines().next().unwrap_or("unknown").to_owned()
    };
    format!("{}; {}; {}; {}", env::consts::ARCH, first_line("rustc"), first_line("valgrind"), first_line("ldd"))
}

fn output(command: &mut Command) -> Outcome<String> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::{Count, Figures, compare, has_grown};

    fn counts(instructions: u64) -> Vec<Count> {
        vec![Count { case: "a: token deltas\t1460".to_owned(), instructions }]
    }

    /// What was written is read.
    #[test]
    fn figures_are_read_as_written() {
        let figures = Figures { tools: "these; those".to_owned(), counts: counts(7) };
        let read = Figures::parse(&figures.to_string()).unwrap();
        assert!(read.tools == figures.tools && read.counts == figures.counts);
        assert!(Figures::parse("").is_none());
    }

    /// A byte may take a little more in a larger stream, and no more.
    #[test]
    fn growth_of_a_byte_is_told() {
        assert!(!has_grown(&[100, 90, 115]));
        assert!(has_grown(&[100, 116, 100]));
    }

    /// More than 3 % fails, less does not.
    #[test]
    fn growth_is_told() {
        assert!(compare(&counts(1000), &counts(1030)));
        assert!(!compare(&counts(1000), &counts(1031)));
        assert!(compare(&counts(1000), &counts(500)));
    }
}
