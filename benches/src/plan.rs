//! What can be said on the command line of a bench, and what each says of the machine before its tables.
//!
//! `cargo bench -- FLAGS` gives the same flags to every bench, so each takes those of the others, and does not heed them.

use std::fs;
use std::process::Command;

/// What was said.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Plan {
    /// All of it on little input.
    pub is_quick: bool,
    /// Streams by their letters, and nothing else.
    pub only: Option<String>,
    /// Where to draw a picture of the decoder's result.
    pub picture: Option<String>,
}

impl Plan {
    /// From the arguments after the program's name.
    ///
    /// # Errors
    /// What there is, if it is something else.
    pub fn of(arguments: impl IntoIterator<Item = String>) -> Result<Self, &'static str> {
        let mut plan = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // Cargo passes it to every bench.
                "--bench" => {}
                "--quick" => plan.is_quick = true,
                "--only" => plan.only = Some(arguments.next().ok_or(USAGE)?),
                "--picture" => plan.picture = Some(arguments.next().ok_or(USAGE)?),
                _ => return Err(USAGE),
            }
        }
        Ok(plan)
    }

    /// Whether only streams were asked for, of which this bench has none; then it says so.
    #[must_use]
    pub fn leaves_out(&self, bench: &str) -> bool {
        if self.only.is_some() {
            println!("{bench}: left out, since only some streams were asked for");
        }
        self.only.is_some()
    }
}

const USAGE: &str = "there are --quick, --only LETTERS and --picture FILE";

/// What a reader needs to know to measure the same.
#[must_use]
pub fn machine() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let compiler = Command::new("rustc").arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    format!(
        "mcp-sse {}; {}; {}",
        env!("CARGO_PKG_VERSION"),
        String::from_utf8_lossy(&compiler).trim(),
        model.map_or("processor not known", |(_, model)| model)
    )
}
