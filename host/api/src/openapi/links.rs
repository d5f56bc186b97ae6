//! Where an answer leads: what can be called next with what is in it.

use serde_json::{Map, Value, json};

/// Operations, those that follow them, and where their parameters come from.
type Link = (
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

const ID: &[(&str, &str)] = &[("id", "$response.body#/id")];
const NAME: &[(&str, &str)] = &[("name", "$response.body#/name")];

const LINKS: &[Link] = &[
    (
        "create_datasource",
        &[
            "get_datasource",
            "update_datasource",
            "patch_datasource",
            "delete_datasource",
            "get_catalog",
            "refresh_catalog",
            "cancel_catalog",
            "delete_catalog",
        ],
        NAME,
    ),
    (
        "create_provider",
        &[
            "get_provider",
            "update_provider",
            "patch_provider",
            "delete_provider",
        ],
        NAME,
    ),
    (
        "create_mind",
        &["get_mind", "update_mind", "delete_mind", "get_model"],
        NAME,
    ),
    (
        "create_workspace",
        &["get_workspace", "create_workspace_key", "delete_workspace"],
        NAME,
    ),
    ("create_key", &["rotate_key", "revoke_key"], ID),
    (
        "create_conversation",
        &[
            "get_conversation",
            "update_conversation",
            "list_items",
            "add_items",
            "delete_conversation",
        ],
        ID,
    ),
    (
        "add_items",
        &["get_item", "delete_item"],
        &[
            ("id", "$request.path.id"),
            ("item_id", "$response.body#/first_id"),
        ],
    ),
    (
        "create_response",
        &["get_response", "cancel_response", "delete_response"],
        ID,
    ),
    (
        "create_response",
        &["get_item", "get_result", "export_result"],
        &[
            ("id", "$response.body#/conversation/id"),
            ("item_id", "$response.body#/output/0/id"),
        ],
    ),
];

/// Adds them to the answer of an operation that went well.
pub fn add(id: &str, responses: &mut Value) {
    let status = ["201", "200"]
        .into_iter()
        .find(|status| responses.get(status).is_some());
    let links: Map<String, Value> = LINKS
        .iter()
        .filter(|link| link.0 == id)
        .flat_map(|(_, next, parameters)| next.iter().map(move |next| (next, parameters)))
        .map(|(next, parameters)| {
            let parameters: Map<String, Value> = parameters
                .iter()
                .map(|(name, from)| ((*name).to_owned(), json!(from)))
                .collect();
            let link = json!({"operationId": next, "parameters": parameters});
            ((*next).to_owned(), link)
        })
        .collect();
    if let Some(status) = status
        && !links.is_empty()
    {
        responses[status]["links"] = links.into();
    }
}
