//! A copy of the workspace with every mutant in it, built once.
//!
//! What does not compile is taken out: the compiler says where, and the build is tried again. Mostly these would not
//! compile alone either (a type that has no default).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::list::Mutant;
use crate::switch::{Switched, switch};

/// The core's own tests, as their program is called.
const OWN: &str = "mcp_sse_core";

/// The groups of tests that need no socket.
pub const GROUPS: [&str; 11] = [
    "architecture",
    "client",
    "decoder",
    "decoder_memory",
    "encoder",
    "exchange",
    "http",
    "jsonrpc",
    "recording",
    "server",
    "server_memory",
];

/// A group of tests, and its program.
pub type Programs = BTreeMap<String, PathBuf>;

/// The numbers of the mutants that are in the programs.
pub fn build(root: &Path, tree: &Path, mutants: &[Mutant]) -> Result<(BTreeSet<u32>, Programs)> {
    copy(root, tree, mutants)?;
    // What the last build took out is not tried again, so that cargo finds nothing to do where nothing changed.
    let names = tree.with_file_name("not-built.txt");
    let known = fs::read_to_string(&names).unwrap_or_default();
    let known: BTreeSet<&str> = known.lines().collect();
    let number = |mutant: &Mutant| known.contains(mutant.name.as_str()).then_some(mutant.number);
    let mut out: BTreeSet<u32> = mutants.iter().filter_map(number).collect();
    // Why each was taken out.
    let mut log = fs::File::create(tree.with_file_name("not-built.log"))?;
    loop {
        let switched = write_switched(root, tree, mutants, &out)?;
        let (errors, programs) = compile(tree)?;
        if errors.is_empty() {
            let built = switched.values().flat_map(|file| file.numbers.iter().copied()).collect();
            return Ok((built, programs));
        }
        let before = out.len();
        let mut unknown = Vec::new();
        for error in &errors {
            let guilty = error.guilty(&switched);
            writeln!(log, "{guilty:?}\n{}", error.text)?;
            if guilty.is_empty() {
                unknown.push(error.text.as_str());
            }
            out.extend(guilty);
        }
        eprintln!("{} errors; {} mutants are out", errors.len(), out.len());
        let lines =
            mutants.iter().filter(|mutant| out.contains(&mutant.number)).map(|mutant| format!("{}\n", mutant.name));
        fs::write(&names, lines.collect::<String>())?;
        if out.len() == before {
            return Err(format!("errors that no mutant is guilty of:\n{}", unknown.join("\n")).into());
        }
    }
}

/// Everything that git knows of, except what gets switches.
fn copy(root: &Path, tree: &Path, mutants: &[Mutant]) -> Result<()> {
    let files = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()?;
    let switched: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
    for file in String::from_utf8(files.stdout)?.split_terminator('\0') {
        let from = root.join(file);
        if switched.contains(file) || !from.is_file() {
            continue;
        }
        let mut content = fs::read(from)?;
        if file == "mcp-sse-core/src/lib.rs" {
            let mut text = String::from("#![feature(core_intrinsics, const_eval_select)]\n");
            text.push_str(&String::from_utf8(content)?);
            text.push_str("\nmod switches;\n");
            content = text.into_bytes();
        }
        write_if_new(&tree.join(file), &content)?;
    }
    write_if_new(&tree.join("mcp-sse-core/src/switches.rs"), include_bytes!("switches.rs"))
}

/// What did not change keeps its time, so that cargo need not look at it again.
fn write_if_new(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, content)?)
}

fn write_switched(
    root: &Path,
    tree: &Path,
    mutants: &[Mutant],
    out: &BTreeSet<u32>,
) -> Result<BTreeMap<String, Switched>> {
    let mut by_file: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        let of_file = by_file.entry(&mutant.file).or_default();
        if !out.contains(&mutant.number) {
            of_file.push(mutant);
        }
    }
    let mut files = BTreeMap::new();
    for (file, mutants) in by_file {
        let switched = switch(&fs::read_to_string(root.join(file))?, &mutants)?;
        write_if_new(&tree.join(file), switched.text.as_bytes())?;
        files.insert(file.to_owned(), switched);
    }
    Ok(files)
}

/// An error, and the places that the compiler shows with it.
struct CompileError {
    text: String,
    places: Vec<(String, Range<usize>)>,
}

impl CompileError {
    /// The mutants whose text the compiler shows, or else those that stand next before the place of the error.
    fn guilty(&self, switched: &BTreeMap<String, Switched>) -> Vec<u32> {
        let mut guilty = Vec::new();
        for (file, range) in &self.places {
            let Some(file) = switched.get(file) else { continue };
            let shown = file.places.iter().filter(|(place, _)| place.start < range.end && range.start < place.end);
            guilty.extend(shown.map(|(_, number)| *number));
        }
        if guilty.is_empty() {
            for (file, range) in &self.places {
                let Some(file) = switched.get(file) else { continue };
                let line = file.text.get(..range.start).and_then(|text| text.rfind('\n')).unwrap_or(0);
                let near = file.places.iter().filter(|(place, _)| (line..range.end).contains(&place.start));
                guilty.extend(near.map(|(_, number)| *number));
            }
        }
        guilty
    }
}

fn compile(tree: &Path) -> Result<(Vec<CompileError>, Programs)> {
    // The switches want what only the workspace's crates may: the other crates are built as ever, and stay built.
    let wrapper = tree.join("rustc-with-features");
    write_if_new(&wrapper, b"#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec \"$@\" --cap-lints allow\n")?;
    Command::new("chmod").arg("+x").arg(&wrapper).status()?;
    let mut command = Command::new("cargo");
    command
        .current_dir(tree)
        .env("RUSTC_WORKSPACE_WRAPPER", &wrapper)
        .args(["test", "--locked", "-p", "mcp-sse-tests", "-p", "mcp-sse-core", "--no-default-features", "--no-run"])
        .args(["--lib", "--message-format", "json"]);
    for group in GROUPS {
        command.args(["--test", group]);
    }
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        command.env("CARGO_TARGET_DIR", tree.with_file_name("build"));
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    let (mut errors, mut programs) = (Vec::new(), Programs::new());
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(said) = serde_json::from_slice::<Value>(line) else { continue };
        if let Some(error) = said.get("message").and_then(compile_error) {
            errors.push(error);
        }
        let name = said.pointer("/target/name").and_then(Value::as_str);
        let program = said.get("executable").and_then(Value::as_str);
        if let (Some(name), Some(program)) = (name, program)
            && (name == OWN || GROUPS.contains(&name))
        {
            programs.insert(name.to_owned(), PathBuf::from(program));
        }
    }
    if !output.status.success() && errors.is_empty() {
        return Err("the build failed".into());
    }
    Ok((errors, programs))
}

fn compile_error(message: &Value) -> Option<CompileError> {
    if message.get("level")?.as_str()? != "error" {
        return None;
    }
    let spans = message.get("spans")?.as_array()?;
    let places: Vec<_> = spans.iter().filter_map(place).collect();
    // "aborting due to 7 previous errors" is none.
    (!places.is_empty())
        .then(|| CompileError { text: message["rendered"].as_str().unwrap_or_default().to_owned(), places })
}

fn place(span: &Value) -> Option<(String, Range<usize>)> {
    let number = |key: &str| span.get(key)?.as_u64()?.try_into().ok();
    Some((span.get("file_name")?.as_str()?.to_owned(), number("byte_start")?..number("byte_end")?))
}
