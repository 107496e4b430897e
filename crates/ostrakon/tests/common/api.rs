//! The API as programs read it.

use serde_json::Value;

use super::Server;

/// What the API says, as JSON.
pub(crate) fn ask(server: &Server, path: &str) -> Value {
    let answer = server.get(path);
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    let start = body.find('{').unwrap_or(0);
    let end = body.rfind('}').map_or(0, |at| at + 1);
    serde_json::from_str(&body[start..end]).unwrap_or(Value::Null)
}

/// A list of the API, page by page to its end. It is asked with a limit.
pub(crate) fn items(server: &Server, list: &str) -> Vec<Value> {
    let (mut found, mut path) = (Vec::new(), list.to_owned());
    loop {
        let page = ask(server, &path);
        let items = page["items"].as_array();
        found.extend(items.unwrap_or_else(|| panic!("{path}: {page}")).iter().cloned());
        let Some(next) = page["next"].as_str() else { return found };
        path = format!("{list}&cursor={next}");
    }
}
