//! The API document as a page: everything in it, readable without a script.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::kinds::Kind;
use super::openapi::METHODS;

/// An operation with where it stands.
struct Operation<'a> {
    path: &'a str,
    method: &'static str,
    value: &'a Value,
}

impl Operation<'_> {
    fn text(&self, name: &str) -> &str {
        self.value[name].as_str().unwrap_or_default()
    }

    fn anchor(&self) -> String {
        format!("operation-{}", self.text("operationId"))
    }
}

/// The content of the page: operations by tag, schemas, problems. The product's frame goes around.
#[must_use]
pub fn content(document: &Value, kinds: &[&'static Kind]) -> Markup {
    let groups = grouped(document);
    html! {
        h1 { "API" }
        p.lead { (document["info"]["description"].as_str().unwrap_or_default()) }
        p { a href="/api/openapi.json" { "OpenAPI 3.1" } " · " a href="#problems" { "Problems" }
            " · " a href="#schemas" { "Schemas" } }
        nav.contents aria-label="API" {
            @for (tag, operations) in &groups {
                h2 { (tag) }
                ul {
                    @for operation in operations {
                        li { a href={ "#" (operation.anchor()) } {
                            code { (operation.method.to_uppercase()) " " (operation.path) }
                        } " " (operation.text("summary")) }
                    }
                }
            }
        }
        @for (tag, operations) in &groups {
            section {
                h2 id={ "tag-" (tag) } { (tag) }
                @for operation in operations { (one(document, operation)) }
            }
        }
        section {
            h2 #schemas { "Schemas" }
            @for (name, schema) in object(&document["components"]["schemas"]) {
                h3 id={ "schema-" (name) } { (name) }
                (described(schema))
                (fields(schema))
            }
        }
        (problems(kinds))
    }
}

fn grouped(document: &Value) -> Vec<(&str, Vec<Operation<'_>>)> {
    let mut groups: Vec<(&str, Vec<Operation<'_>>)> = Vec::new();
    for (path, item) in object(&document["paths"]) {
        for method in METHODS {
            let Some(value) = item.get(method) else { continue };
            let tag = value["tags"][0].as_str().unwrap_or("other");
            let operation = Operation { path, method, value };
            match groups.iter_mut().find(|(found, _)| *found == tag) {
                Some((_, operations)) => operations.push(operation),
                None => groups.push((tag, vec![operation])),
            }
        }
    }
    groups.sort_by_key(|(tag, _)| *tag);
    groups
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn one(document: &Value, operation: &Operation<'_>) -> Markup {
    let parameters = operation.value["parameters"].as_array();
    html! {
        article {
            h3 id=(operation.anchor()) {
                code { (operation.method.to_uppercase()) " " (operation.path) }
            }
            p { strong { (operation.text("summary")) } }
            @for paragraph in operation.text("description").split("\n\n") {
                @if !paragraph.is_empty() { p { (paragraph) } }
            }
            @if let Some(parameters) = parameters.filter(|list| !list.is_empty()) {
                table {
                    caption { "Parameters" }
                    thead { tr { th { "Name" } th { "In" } th { "Type" } th { "Meaning" } } }
                    tbody { @for parameter in parameters { (row(parameter)) } }
                }
            }
            @for (kind, body) in object(&operation.value["requestBody"]["content"]) {
                p { "Body: " code { (kind) } " " (shape(&body["schema"])) }
            }
            (answers(document, operation))
            pre { code { (curl(document, operation)) } }
        }
    }
}

fn row(parameter: &Value) -> Markup {
    html! {
        tr {
            td { code { (parameter["name"].as_str().unwrap_or_default()) }
                @if parameter["required"] == true { " (needed)" } }
            td { (parameter["in"].as_str().unwrap_or_default()) }
            td { (shape(&parameter["schema"])) }
            td { (parameter["description"].as_str().unwrap_or_default()) }
        }
    }
}

fn answers(document: &Value, operation: &Operation<'_>) -> Markup {
    html! {
        table {
            caption { "Answers" }
            thead { tr { th { "Status" } th { "Type" } th { "Meaning" } } }
            tbody {
                @for (status, answer) in object(&operation.value["responses"]) {
                    @let answer = resolved(document, answer);
                    tr {
                        td { code { (status) } }
                        td { @for (kind, body) in object(&answer["content"]) {
                            code { (kind) } " " (shape(&body["schema"])) br;
                        } }
                        td { (answer["description"].as_str().unwrap_or_default()) }
                    }
                }
            }
        }
    }
}

/// What a reference inside of the document leads to.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

/// A schema in a few words. Named ones are linked, so this ends.
fn shape(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        return html! { a href={ "#schema-" (name) } { (name) } };
    }
    for several in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[several].as_array() {
            return html! {
                @for (place, choice) in choices.iter().enumerate() {
                    @if place > 0 { " or " } (shape(choice))
                }
            };
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        return html! {
            @for (place, value) in values.iter().enumerate() {
                @if place > 0 { ", " } code { (value.as_str().unwrap_or_default()) }
            }
        };
    }
    if schema["items"].is_object() {
        return html! { "list of " (shape(&schema["items"])) };
    }
    let name = match &schema["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        _ => "any".to_owned(),
    };
    html! { (name) (range(schema)) }
}

/// The bounds of a value.
fn range(schema: &Value) -> Markup {
    let bound = |name: &str| schema.get(name).filter(|value| value.is_number());
    html! {
        @if let Some(low) = bound("minimum") { ", from " (low.to_string()) }
        @if let Some(high) = bound("maximum") { ", up to " (high.to_string()) }
        @if let Some(high) = bound("maxLength") { ", up to " (high.to_string()) " characters" }
        @if let Some(value) = schema.get("default").filter(|value| !value.is_null()) {
            ", else " code { (value.to_string()) }
        }
    }
}

fn described(schema: &Value) -> Markup {
    html! { @if let Some(text) = schema["description"].as_str() { p { (text) } } }
}

fn fields(schema: &Value) -> Markup {
    let needed = schema["required"].as_array();
    html! {
        @if schema["properties"].is_object() {
            table {
                thead { tr { th { "Field" } th { "Type" } th { "Meaning" } } }
                tbody {
                    @for (name, field) in object(&schema["properties"]) {
                        @let always = needed.is_some_and(|names| names.iter().any(|n| n == name));
                        tr {
                            td { code { (name) } @if !always { " (may be absent)" } }
                            td { (shape(field)) }
                            td { (field["description"].as_str().unwrap_or_default()) }
                        }
                    }
                }
            }
        } @else { p { (shape(schema)) } }
    }
}

/// A line to try the operation with.
fn curl(document: &Value, operation: &Operation<'_>) -> String {
    let server = document["servers"][0]["url"].as_str().filter(|url| *url != "/");
    let mut query = Vec::new();
    for parameter in operation.value["parameters"].as_array().into_iter().flatten() {
        if parameter["in"] == "query" && parameter["required"] == true {
            query.push(format!("{}=…", parameter["name"].as_str().unwrap_or_default()));
        }
    }
    let mut url = format!("{}{}", server.unwrap_or("http://localhost:8080"), operation.path);
    if !query.is_empty() {
        url.push_str(&format!("?{}", query.join("&")));
    }
    let mut line = "curl".to_owned();
    if operation.method != "get" {
        line.push_str(&format!(" -X {}", operation.method.to_uppercase()));
    }
    if !operation.path.starts_with("/api/docs") && operation.path.starts_with("/api/") {
        line.push_str(" -H \"Authorization: Bearer $TOKEN\"");
    }
    if operation.value["requestBody"].is_object() {
        line.push_str(" -H 'Content-Type: application/json' -d @body.json");
    }
    if object(&operation.value["responses"]["200"]["content"])
        .any(|(kind, _)| kind == "text/event-stream")
    {
        line.push_str(" -N");
    }
    format!("{line} '{url}'")
}

fn problems(kinds: &[&'static Kind]) -> Markup {
    html! {
        section {
            h2 #problems { "Problems" }
            p { "Every refusal and failure is an object of the type "
                code { "application/problem+json" } ". Programs compare its " code { "code" } "." }
            @for kind in kinds {
                h3 id={ "problem-" (kind.code) } { code { (kind.code) } }
                p { strong { (kind.status.to_string()) " " (kind.title) } }
                p { (kind.meaning) }
            }
        }
    }
}
