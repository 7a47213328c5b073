//! The description of the endpoints.

use serde_json::{Value, json};

use crate::client::start;

#[test]
fn every_described_endpoint_is_there_and_has_no_other_members() {
    let server = start();
    let description = server.get("/openapi.json").json();
    assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
    let paths = description["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 18);
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let answer = match method.as_str() {
                "get" => server.get(path),
                _ => server.post(path, r#"{"no such member": 1}"#),
            };
            let status = answer.status.to_string();
            let described = &operation["responses"][&status];
            assert!(described.is_object(), "{method} {path} answers {status}");
            if method == "post" {
                assert!(answer.status == 400 || answer.status == 422, "{path} {status}");
            }
        }
    }
}

/// The members that a request is described to have, by the name of its schema.
fn members<'a>(description: &'a Value, schema: &str) -> Vec<&'a String> {
    let properties = &description["components"]["schemas"][schema]["properties"];
    properties.as_object().unwrap().keys().collect()
}

/// The server lists the members that it knows when it refuses another.
#[test]
fn members_are_those_that_the_server_knows() {
    let server = start();
    let description = server.get("/openapi.json").json();
    for (path, methods) in description["paths"].as_object().unwrap() {
        let schema = &methods["post"]["requestBody"]["content"]["application/json"]["schema"];
        let Some(schema) = schema["$ref"].as_str() else { continue };
        let members = members(&description, schema.rsplit('/').next().unwrap());
        let refused = server.post(path, r#"{"no such member": 1}"#).json();
        let message = [&refused["error"]["message"], &refused["error"]];
        let message = message.into_iter().find_map(Value::as_str).unwrap();
        let known = message.split("expected ").nth(1).unwrap();
        let known: Vec<&str> =
            known.split('`').skip(1).step_by(2).filter(|it| *it != "name").collect();
        assert_eq!(json!(members.len()), json!(known.len()), "{path}: {message}");
        assert!(members.iter().all(|member| known.contains(&member.as_str())), "{path}: {message}");
    }
}
