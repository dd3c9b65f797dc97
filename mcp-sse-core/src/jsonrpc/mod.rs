//! JSON-RPC envelope.
