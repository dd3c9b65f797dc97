//! The options of the `call` program, and the lines of a batch.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};
use mcp_sse_core::client::{CallOptions, ClientConfig, Protocol, ReissuePolicy};
use mcp_sse_core::exchange::TailRule;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::{object_members, string};
use mcp_sse_core::recording::{Bodies, RecordingConfig};

pub(super) const HELP: &str = "\
usage: call [OPTIONS] URL METHOD [PARAMS-JSON]     one call
       call --batch [OPTIONS]                      one JSON object per line on standard input, one line per call
       call                                        the demonstration

--deadline-ms N       overall deadline of the call, every attempt included     (default 60000)
--max-reissues N      replacements after a lost stream                         (default 1)
--reissue POLICY      always | replay-safe | never                             (default always)
--protocol VERSION    2026-07-28 (default), an earlier revision, or auto (find out)
--header 'K: V'       an extra request header; may be repeated
--cacert FILE         trust these PEM certificates (SSL_CERT_FILE is honoured too)
--strict-tail         HTML's reading of an unfinished last event
--record FILE         write down what happens, to the exchange's end, as a recording that can be replayed
--bodies SHOWN        what a recording shows of them: redacted | whole | sized   (default redacted)
--replay FILE         no call: play a recording, print what it comes to, and tell whether that is what was recorded

A line of a batch: {\"url\": ..., \"method\": ..., \"params\": ..., \"deadline_ms\": ...}; params and deadline_ms are optional.
Exit status: 0 a result, 1 a JSON-RPC error, 2 a usage error, 3 a transport error; of a batch, the highest. Of a replay, that
of the call; 2 if it cannot be played or comes to anything else.";

/// What the arguments ask for.
#[derive(Debug)]
pub enum Invocation {
    /// The demonstration.
    Demonstration,
    /// One call.
    One(Job, Settings),
    /// A call for each line of standard input.
    Batch(Settings),
    /// A recording to be played.
    Replay(PathBuf),
    /// To be told the options.
    Help,
}

/// One call to make.
#[derive(Clone, Debug)]
pub struct Job {
    /// The endpoint.
    pub url: String,
    /// The method.
    pub method: String,
    /// The parameters, as JSON text.
    pub params: Option<String>,
    /// The deadline of this call, instead of the settings'.
    pub deadline: Option<Duration>,
}

/// The options.
#[derive(Clone, Debug)]
pub struct Settings {
    deadline: Duration,
    max_reissues: u32,
    reissue: ReissuePolicy,
    protocol: Protocol,
    headers: Vec<(String, String)>,
    /// A file with certificates to trust.
    pub cacert: Option<PathBuf>,
    tail: TailRule,
    /// How long a stream may stay open after its answer; `None` is the adapter's default.
    pub drain: Option<Duration>,
    /// Whether the server is the program's own, to which no proxy leads.
    pub is_own_server: bool,
    /// The file that is written with what happened.
    pub record: Option<PathBuf>,
    /// What that shows of bodies.
    pub bodies: Bodies,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(60_000),
            max_reissues: 1,
            reissue: ReissuePolicy::Always,
            protocol: Protocol::Fixed(ProtocolVersion::LATEST),
            headers: Vec::new(),
            cacert: None,
            tail: TailRule::Salvage,
            drain: None,
            is_own_server: false,
            record: None,
            bodies: Bodies::default(),
        }
    }
}

impl Settings {
    /// The client's configuration.
    ///
    /// # Errors
    /// A sentence, if a header cannot be sent.
    pub fn config(&self) -> Result<ClientConfig, String> {
        let mut config = ClientConfig::default().with_protocol(self.protocol).with_tail(self.tail);
        config.recording = self.record.as_ref().map(|_| RecordingConfig::default());
        self.headers.iter().try_fold(config, |config, (name, value)| {
            config.with_header(name, value).map_err(|error| format!("--header {name}: {error}"))
        })
    }

    /// These settings, with streams read for so long after their answers.
    #[must_use]
    pub fn with_own_server(self, drain: Duration) -> Self {
        Self { drain: Some(drain), is_own_server: true, ..self }
    }

    /// The options of this job's call.
    #[must_use]
    pub fn options(&self, job: &Job) -> CallOptions {
        CallOptions::default()
            .with_timeout(job.deadline.unwrap_or(self.deadline))
            .with_max_reissues(self.max_reissues)
            .with_reissue(self.reissue)
    }
}

/// A usage error: what was expected.
#[derive(Debug)]
pub struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<lexopt::Error> for Usage {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Invocation, Usage> {
    let mut settings = Settings::default();
    let (mut is_batch, mut has_options) = (false, false);
    let mut replay: Option<PathBuf> = None;
    let mut positional: Vec<String> = Vec::new();
    let mut parser = Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        has_options |= !matches!(argument, Arg::Value(_));
        match argument {
            Arg::Long("deadline-ms") => {
                settings.deadline = Duration::from_millis(number(&mut parser, "--deadline-ms")?);
            }
            Arg::Long("max-reissues") => settings.max_reissues = number(&mut parser, "--max-reissues")?,
            Arg::Long("reissue") => settings.reissue = policy(&parser.value()?.string()?)?,
            Arg::Long("protocol") => settings.protocol = protocol(&parser.value()?.string()?)?,
            Arg::Long("header") => settings.headers.push(header(&parser.value()?.string()?)?),
            Arg::Long("cacert") => settings.cacert = Some(parser.value()?.into()),
            Arg::Long("record") => settings.record = Some(parser.value()?.into()),
            Arg::Long("bodies") => settings.bodies = bodies(&parser.value()?.string()?)?,
            Arg::Long("replay") => replay = Some(parser.value()?.into()),
            Arg::Long("strict-tail") => settings.tail = TailRule::Strict,
            Arg::Long("batch") => is_batch = true,
            Arg::Long("help") | Arg::Short('h') => return Ok(Invocation::Help),
            Arg::Value(value) => positional.push(value.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    // A header that cannot be sent is a usage error, before anything is.
    settings.config().map_err(Usage)?;
    if let Some(file) = replay {
        let is_alone = !is_batch && positional.is_empty() && settings.record.is_none();
        return if is_alone {
            Ok(Invocation::Replay(file))
        } else {
            Err(Usage("with --replay no call is made; no URL, --batch or --record is expected".into()))
        };
    }
    if is_batch && settings.record.is_some() {
        return Err(Usage("--record writes one call down, and not a batch".into()));
    }
    let mut positional = positional.into_iter();
    match (is_batch, positional.next(), positional.next(), positional.next(), positional.next()) {
        (true, None, ..) => Ok(Invocation::Batch(settings)),
        (true, Some(_), ..) => Err(Usage("with --batch the calls come on standard input; no URL is expected".into())),
        (false, None, ..) if !has_options => Ok(Invocation::Demonstration),
        (false, Some(url), Some(method), params, None) => {
            if let Some(params) = &params {
                object_members(params)
                    .map_err(|error| Usage(format!("PARAMS-JSON: expected a JSON object; it is {error}")))?;
            }
            Ok(Invocation::One(Job { url, method, params, deadline: None }, settings))
        }
        (false, _, _, _, Some(_)) => Err(Usage("expected URL METHOD [PARAMS-JSON], got more".into())),
        (false, ..) => Err(Usage("expected URL METHOD [PARAMS-JSON]".into())),
    }
}

/// One line of a batch.
pub(super) fn batch_job(line: &[u8]) -> Result<Job, Usage> {
    let expected = |what: &str| Usage(format!("batch line: expected {what}"));
    let line = std::str::from_utf8(line).map_err(|_| expected("UTF-8"))?;
    let members = object_members(line).map_err(|error| Usage(format!("batch line: expected an object: {error}")))?;
    let (mut url, mut method, mut params, mut deadline) = (None, None, None, None);
    for (key, value) in members {
        match string(key).as_deref() {
            Some("url") => url = Some(string(value).ok_or_else(|| expected("a string as url"))?.into_owned()),
            Some("method") => method = Some(string(value).ok_or_else(|| expected("a string as method"))?.into_owned()),
            Some("params") if value != "null" => params = Some(value.to_owned()),
            Some("deadline_ms") if value != "null" => {
                let millis = value.parse().map_err(|_| expected("a whole number as deadline_ms"))?;
                deadline = Some(Duration::from_millis(millis));
            }
            Some("params" | "deadline_ms") => {}
            _ => return Err(expected("no other members than url, method, params and deadline_ms")),
        }
    }
    Ok(Job {
        url: url.ok_or_else(|| expected("url"))?,
        method: method.ok_or_else(|| expected("method"))?,
        params,
        deadline,
    })
}

fn number<N: std::str::FromStr>(parser: &mut Parser, option: &str) -> Result<N, Usage> {
    let value = parser.value()?.string()?;
    value.parse().map_err(|_| Usage(format!("{option}: expected a whole number, got {value:?}")))
}

fn policy(name: &str) -> Result<ReissuePolicy, Usage> {
    match name {
        "always" => Ok(ReissuePolicy::Always),
        "replay-safe" => Ok(ReissuePolicy::ReplaySafe),
        "never" => Ok(ReissuePolicy::Never),
        other => Err(Usage(format!("--reissue: expected always, replay-safe or never, got {other:?}"))),
    }
}

fn bodies(name: &str) -> Result<Bodies, Usage> {
    let expected = || Usage(format!("--bodies: expected redacted, whole or sized, got {name:?}"));
    Bodies::from_name(name).ok_or_else(expected)
}

fn protocol(name: &str) -> Result<Protocol, Usage> {
    if name == "auto" {
        return Ok(Protocol::Auto);
    }
    let expected = || Usage(format!("--protocol: expected a revision such as 2026-07-28, or auto, got {name:?}"));
    name.parse().map(Protocol::Fixed).map_err(|_| expected())
}

fn header(line: &str) -> Result<(String, String), Usage> {
    let (name, value) =
        line.split_once(':').ok_or_else(|| Usage(format!("--header: expected 'Name: value', got {line:?}")))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Invocation, String> {
        parse(arguments.iter().map(OsString::from)).map_err(|usage| usage.to_string())
    }

    #[test]
    fn no_argument_is_the_demonstration() {
        assert!(matches!(parsed(&[]), Ok(Invocation::Demonstration)));
    }

    #[test]
    fn a_call_with_all_options() {
        let arguments = [
            "--deadline-ms",
            "250",
            "--max-reissues=3",
            "--reissue",
            "never",
            "--protocol",
            "2025-06-18",
            "--header",
            "Authorization: Bearer x:y",
            "--cacert",
            "ca.pem",
            "--strict-tail",
            "http://localhost/mcp",
            "tools/call",
            r#"{"name":"a"}"#,
        ];
        let Ok(Invocation::One(job, settings)) = parsed(&arguments) else { panic!("a call was expected") };
        assert_eq!((job.method.as_str(), job.params.as_deref()), ("tools/call", Some(r#"{"name":"a"}"#)));
        let options = settings.options(&job);
        assert_eq!(options.timeout, Some(Duration::from_millis(250)));
        assert_eq!((options.max_reissues, options.reissue), (3, ReissuePolicy::Never));
        assert_eq!(settings.protocol, Protocol::Fixed(ProtocolVersion::V2025_06_18));
        assert_eq!(settings.headers, [("Authorization".to_owned(), "Bearer x:y".to_owned())]);
        assert_eq!(settings.tail, TailRule::Strict);
    }

    #[test]
    fn usage_errors_say_what_was_expected() {
        let cases: [(&[&str], &str); 16] = [
            (&["http://localhost/"], "expected URL METHOD"),
            (&["--strict-tail"], "expected URL METHOD"),
            (&["u", "m", "{}", "more"], "got more"),
            (&["u", "m", "[1]"], "expected a JSON object"),
            (&["u", "m", "{"], "expected a JSON object"),
            (&["--deadline-ms", "soon", "u", "m"], "--deadline-ms: expected a whole number"),
            (&["--max-reissues", "-1", "u", "m"], "--max-reissues: expected a whole number"),
            (&["--reissue", "perhaps", "u", "m"], "expected always, replay-safe or never"),
            (&["--protocol", "automatic", "u", "m"], "--protocol: expected a revision"),
            (&["--header", "no colon", "u", "m"], "expected 'Name: value'"),
            (&["--header", "Accept: x", "u", "m"], "the client writes this header itself"),
            (&["--unknown"], "--unknown"),
            (&["--bodies", "some", "u", "m"], "expected redacted, whole or sized"),
            (&["--replay", "f", "u", "m"], "no call is made"),
            (&["--replay", "f", "--record", "g"], "no call is made"),
            (&["--batch", "--record", "f"], "not a batch"),
        ];
        for (arguments, expected) in cases {
            match parsed(arguments) {
                Err(usage) => assert!(usage.contains(expected), "{arguments:?}: {usage}"),
                Ok(other) => panic!("{arguments:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn batch_lines() {
        let job = batch_job(br#"{"url":"http://h/","method":"tools/call","params":{"n":1e400},"deadline_ms":5}"#);
        let job = job.unwrap_or_else(|usage| panic!("{usage}"));
        assert_eq!((job.params.as_deref(), job.deadline), (Some(r#"{"n":1e400}"#), Some(Duration::from_millis(5))));
        assert!(batch_job(b"\xff").is_err_and(|usage| usage.to_string().contains("expected UTF-8")));
        for (line, expected) in [
            ("[]", "expected an object"),
            (r#"{"method":"m"}"#, "expected url"),
            (r#"{"url":"u"}"#, "expected method"),
            (r#"{"url":1,"method":"m"}"#, "a string as url"),
            (r#"{"url":"u","method":"m","deadline_ms":-1}"#, "a whole number as deadline_ms"),
            (r#"{"url":"u","method":"m","x":1}"#, "no other members"),
        ] {
            match batch_job(line.as_bytes()) {
                Err(usage) => assert!(usage.to_string().contains(expected), "{line}: {usage}"),
                Ok(job) => panic!("{line}: {job:?}"),
            }
        }
    }
}
