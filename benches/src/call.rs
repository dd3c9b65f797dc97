//! One request of a client's and what is answered, for what measures servers.

/// A call of 2026-07-28.
pub const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// Its headers, but for `Host` and `Content-Length`.
pub const HEADERS: [(&str, &str); 5] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "tools/call"),
    ("Mcp-Name", "echo"),
];

/// What the server says of itself.
pub const SERVER_INFO: &str = r#"{"name":"load","version":"1.0.0"}"#;

/// What the handler gives.
pub const RESULT: &str = r#"{"content":[{"type":"text","text":"hello"}]}"#;

/// What is answered, to the byte.
pub const ANSWER: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"hello"}],"#,
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"load","version":"1.0.0"}}}}"#
);
