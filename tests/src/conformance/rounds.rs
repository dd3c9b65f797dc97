//! Multi round-trip requests (2026-07-28, "Multi Round-Trip Requests"): a result that asks for input is answered by the
//! same request again, with the input and the server's state.
//!
//! Rules: the state is echoed as it came and never looked at; without one, none is sent; a result that does not say its
//! type is complete; what was asked for in one request goes into no other.

use serde_json::{Map, Value};

use super::elicitation;

/// The request that answers `result`, or none if it asks for nothing.
///
/// # Errors
/// If the server asks for what is not a request, or for what nobody here can answer.
pub fn next(params: &Value, result: &Value) -> Result<Option<Value>, String> {
    if result["resultType"] != "input_required" {
        return Ok(None);
    }
    let mut next = params.as_object().cloned().ok_or("the parameters are no object")?;
    // What an earlier round said holds for that round alone.
    next.remove("inputResponses");
    next.remove("requestState");
    if let Some(asked) = result.get("inputRequests") {
        let asked = asked.as_object().ok_or("inputRequests is no object")?;
        let answer = |(key, request): (&String, &Value)| {
            let method = request["method"].as_str().ok_or("an input request without a method")?;
            Ok((key.clone(), elicitation::answer(method, &request["params"])?))
        };
        let answers: Map<String, Value> = asked.iter().map(answer).collect::<Result<_, String>>()?;
        next.insert("inputResponses".to_owned(), Value::Object(answers));
    }
    if let Some(state) = result.get("requestState") {
        next.insert("requestState".to_owned(), state.clone());
    }
    Ok(Some(Value::Object(next)))
}
