//! What to change, as cargo-mutants lists it (`.cargo/mutants.toml` says of which files).

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Result;

/// A line and a column, both from 1, the column in characters.
pub type Place = (usize, usize);

/// One change of the source.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Its switch: from 1, since 0 is the program unchanged.
    pub number: u32,
    /// `sse`, `client` and so on.
    pub folder: String,
    /// Where it is and what it does, for people.
    pub name: String,
    /// The file, from the root of the workspace.
    pub file: String,
    /// The file and the function in it; the file alone within a constant.
    pub function: String,
    pub genre: String,
    /// Within a constant, where no switch can be: the compiler evaluates it.
    pub is_constant: bool,
    pub begin: Place,
    pub replacement: String,
}

impl Mutant {
    /// Where others are that the same tests may catch: the nearest first.
    pub fn neighbours(&self) -> [&str; 2] {
        [&self.function, &self.file]
    }
}

/// All mutants of the folders, in the order of the list.
pub fn mutants(root: &Path) -> Result<Vec<Mutant>> {
    let output = Command::new("cargo").current_dir(root).args(["mutants", "--list", "--json"]).output()?;
    if !output.status.success() {
        return Err(format!("cargo mutants: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let list: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    list.iter()
        .enumerate()
        .map(|(index, value)| mutant(index, value).ok_or_else(|| format!("unread: {value}").into()))
        .collect()
}

fn mutant(index: usize, value: &Value) -> Option<Mutant> {
    let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
    let number = |key: &str| value.pointer(key)?.as_u64()?.try_into().ok();
    let file = text("file")?;
    let folder = file.strip_prefix("mcp-sse-core/src/")?.split('/').next()?.to_owned();
    let function = value.pointer("/function/function_name").and_then(Value::as_str).unwrap_or_default();
    Some(Mutant {
        function: format!("{file} {function}"),
        number: u32::try_from(index).ok()? + 1,
        folder,
        name: text("name")?,
        file,
        genre: text("genre")?,
        is_constant: value.get("function")?.is_null(),
        begin: (number("/span/start/line")?, number("/span/start/column")?),
        replacement: text("replacement")?,
    })
}
