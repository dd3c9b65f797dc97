//! What is done for each scenario, and what must come back.
//!
//! Rules: through the library's ordinary calls; nothing that it has to do by itself (handshake, headers, retries,
//! resumption) is done here. Every answer is compared with what the mock server is known to say.

use std::sync::Arc;

use serde_json::{Value, json};

use super::peer::{Handler, Peer, Settings};
use super::{Task, elicitation, rounds};

/// Carries out a scenario.
pub(super) fn run<P: Peer>(task: &Task) -> Result<(), String> {
    let client = Scenario::<P>::new(task)?;
    match task.scenario.as_str() {
        "initialize" => client.list_tools().map(|_| ()),
        "tools_call" => client.tools_call(),
        "sse-retry" => client.one_tool("test_reconnection", "Reconnection test completed successfully"),
        "request-metadata" => client.request_metadata(),
        "http-standard-headers" => client.standard_headers(),
        "http-custom-headers" => client.custom_headers(&task.context),
        "http-invalid-tool-headers" => client.invalid_tool_headers(),
        // The tool is not called, and nothing else is fetched.
        "json-schema-ref-no-deref" => client.list_tools().and_then(|tools| equal(&names(&tools), &["lookup_user"])),
        "json-schema-2020-12-preservation" => client.schema_preservation(),
        "sep-2322-client-request-state" => client.request_state(),
        "elicitation-sep1034-client-defaults" => client.elicitation_defaults(),
        unknown => Err(format!("no scenario {unknown}")),
    }?;
    // Some of the suite's servers end no session by request.
    if let Err(error) = client.peer.close() {
        eprintln!("conformance client: the session is not ended: {error}");
    }
    Ok(())
}

struct Scenario<P> {
    peer: P,
}

impl<P: Peer> Scenario<P> {
    fn new(task: &Task) -> Result<Self, String> {
        let handler = |method: &'static str| -> (&'static str, Handler) {
            (method, Arc::new(move |params: &Value| elicitation::answer(method, params)))
        };
        let peer = P::new(&Settings {
            url: task.url.clone(),
            protocol: task.protocol,
            capabilities: elicitation::capabilities(),
            // With handlers a session's listening stream is read as well, and the server of `sse-retry` answers on
            // whichever GET it has.
            handlers: match &*task.scenario {
                "sse-retry" => Vec::new(),
                _ => ["elicitation/create", "roots/list", "sampling/createMessage"].map(handler).into(),
            },
        })?;
        Ok(Self { peer })
    }

    fn call(&self, method: &str, params: &Value) -> Result<Value, String> {
        let reply = self.peer.call(method, params).map_err(|error| format!("{method}: {error}"))?;
        if let Err(error) = reply.result() {
            return Err(format!("{method}: the server refused: {} {}", error.code, error.message));
        }
        reply.parse_result().map_err(|error| format!("{method}: {error}"))
    }

    fn list_tools(&self) -> Result<Vec<Value>, String> {
        let list = self.call("tools/list", &Value::Null)?;
        list["tools"].as_array().cloned().ok_or_else(|| "tools/list: no tools".to_owned())
    }

    /// Calls a tool and compares the text that comes back.
    fn tool(&self, name: &str, arguments: &Value, text: &str) -> Result<(), String> {
        let result = self.call("tools/call", &json!({"name": name, "arguments": arguments}))?;
        says(name, &result, text)
    }

    fn one_tool(&self, name: &str, text: &str) -> Result<(), String> {
        equal(&names(&self.list_tools()?), &[name])?;
        self.tool(name, &json!({}), text)
    }

    fn tools_call(&self) -> Result<(), String> {
        equal(&names(&self.list_tools()?), &["add_numbers"])?;
        self.tool("add_numbers", &json!({"a": 2, "b": 3}), "The sum of 2 and 3 is 5")
    }

    /// The first request is refused with -32022, once; what follows is the library's.
    fn request_metadata(&self) -> Result<(), String> {
        let found = self.call("server/discover", &Value::Null)?;
        equal(&found["supportedVersions"], &json!(["2026-07-28"]))?;
        equal(&self.list_tools()?.len(), &0)
    }

    fn standard_headers(&self) -> Result<(), String> {
        equal(&names(&self.list_tools()?), &["test_headers", "my-hyphenated-tool"])?;
        for tool in ["test_headers", "my-hyphenated-tool"] {
            self.tool(tool, &json!({}), "Headers test completed")?;
        }
        let resources = self.call("resources/list", &Value::Null)?;
        let resources = resources["resources"].as_array().ok_or("no resources")?;
        equal(&resources.len(), &2)?;
        for resource in resources {
            let contents = self.call("resources/read", &json!({"uri": resource["uri"]}))?;
            equal(&contents["contents"], &json!([]))?;
        }
        let prompts = self.call("prompts/list", &Value::Null)?;
        equal(&prompts["prompts"][0]["name"], &json!("test_prompt"))?;
        let prompt = self.call("prompts/get", &json!({"name": "test_prompt"}))?;
        equal(&prompt["messages"], &json!([]))
    }

    fn custom_headers(&self, context: &Value) -> Result<(), String> {
        let calls = context["toolCalls"].as_array().ok_or("no tool calls in the context")?;
        equal(&names(&self.list_tools()?), &["test_custom_headers", "test_custom_headers_null"])?;
        equal(&calls.len(), &2)?;
        for call in calls {
            let name = call["name"].as_str().ok_or("a tool call without a name")?;
            self.tool(name, &call["arguments"], "Custom headers test completed")?;
        }
        Ok(())
    }

    /// A tool whose headers cannot be right must not be called: the library refuses to, and sends nothing.
    /// The list is given without the tools that may not be used; one bad tool is no reason not to use the others.
    fn invalid_tool_headers(&self) -> Result<(), String> {
        equal(&names(&self.list_tools()?), &["valid_tool"])?;
        self.tool("valid_tool", &json!({"region": "us-west1"}), "Tool call received")
    }

    fn schema_preservation(&self) -> Result<(), String> {
        let tools = self.list_tools()?;
        let tool = tools.iter().find(|tool| tool["name"] == "json_schema_2020_12_tool").ok_or("no such tool")?;
        self.tool("json_schema_echo", &json!({"schema": tool["inputSchema"]}), "echoed")
    }

    /// Between two rounds of one request, another is made: it must carry nothing of the first.
    fn request_state(&self) -> Result<(), String> {
        let tools = self.list_tools()?;
        equal(&tools.len(), &4)?;
        self.rounds("test_mrtr_echo_state", "echo-state-ok", 2, || {
            self.tool("test_mrtr_unrelated", &json!({}), "unrelated-ok")
        })?;
        self.rounds("test_mrtr_no_state", "no-state-ok", 2, || Ok(()))?;
        self.rounds("test_mrtr_no_result_type", "no-result-type-test-ok", 1, || Ok(()))
    }

    fn rounds(
        &self,
        tool: &str,
        text: &str,
        expected: usize,
        between: impl Fn() -> Result<(), String>,
    ) -> Result<(), String> {
        let mut params = json!({"name": tool, "arguments": {}});
        for round in 1..=expected {
            let result = self.call("tools/call", &params)?;
            match rounds::next(&params, &result)? {
                Some(next) => params = next,
                None => return equal(&round, &expected).and_then(|()| says(tool, &result, text)),
            }
            between()?;
        }
        Err(format!("{tool}: more than {expected} rounds"))
    }

    fn elicitation_defaults(&self) -> Result<(), String> {
        let name = "test_client_elicitation_defaults";
        equal(&names(&self.list_tools()?), &[name])?;
        let result = self.call("tools/call", &json!({"name": name, "arguments": {}}))?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let content = text.strip_prefix("Elicitation completed: ").ok_or_else(|| format!("{name}: {text}"))?;
        let content: Value = serde_json::from_str(content).map_err(|error| format!("{name}: {error}"))?;
        let defaults = json!({"name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": true});
        equal(&content, &defaults)
    }
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

fn says(tool: &str, result: &Value, text: &str) -> Result<(), String> {
    if result["isError"] == true {
        return Err(format!("{tool} failed: {result}"));
    }
    equal(&result["content"][0]["text"], &json!(text))
}

fn equal<A: PartialEq<B> + std::fmt::Debug + ?Sized, B: std::fmt::Debug + ?Sized>(
    got: &A,
    expected: &B,
) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{got:?} instead of {expected:?}")) }
}
