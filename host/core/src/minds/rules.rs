//! Checks of the parameters of a Mind.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::MindDatasource;
use mindhost_base::error::{Error, Result};

/// Most characters of an instruction.
const MAX_PROMPT: usize = 100_000;

pub(super) fn check_model_name(name: Option<&str>) -> Result<()> {
    match name.is_none_or(|name| name.chars().count() <= 256) {
        true => Ok(()),
        false => Err(Error::invalid(
            "model_name",
            "`model_name` may have at most 256 characters",
        )),
    }
}

/// Known parameters must have their types, or be null; others belong to the caller.
pub(super) fn check_parameters(parameters: &Map<String, Value>) -> Result<()> {
    for (name, value) in parameters {
        let fits = match name.as_str() {
            "system_prompt" | "prompt_template" => match value {
                Value::String(text) if text.chars().count() > MAX_PROMPT => {
                    let message =
                        format!("`parameters.{name}` may have at most {MAX_PROMPT} characters");
                    return Err(Error::invalid(format!("parameters.{name}"), message));
                }
                other => ("a string", other.is_string()),
            },
            "is_demo" | "allow_direct_queries" => ("true or false", value.is_boolean()),
            _ => continue,
        };
        if let (kind, false) = fits
            && !value.is_null()
        {
            let message = format!("`parameters.{name}` must be {kind}");
            return Err(Error::invalid(format!("parameters.{name}"), message));
        }
    }
    Ok(())
}

pub(super) fn check_datasources(datasources: &[MindDatasource]) -> Result<()> {
    let mut seen = HashSet::new();
    for (index, datasource) in datasources.iter().enumerate() {
        if !seen.insert(&datasource.id) {
            let message = format!(
                "the datasource '{}' is named twice; put all its tables into one entry",
                datasource.name
            );
            return Err(Error::invalid(format!("datasources[{index}]"), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(parameters: Value, param: Option<&str>) {
        let result = check_parameters(parameters.as_object().unwrap());
        let found = result.as_ref().err().and_then(Error::param_name);
        assert_eq!(found, param, "{parameters}");
    }

    #[test]
    fn known_parameters_have_their_types_and_unknown_ones_are_kept() {
        check(
            json!({"system_prompt": "x", "is_demo": true, "color": [1, 2]}),
            None,
        );
        check(
            json!({"system_prompt": null, "allow_direct_queries": null}),
            None,
        );
        check(
            json!({"system_prompt": 1}),
            Some("parameters.system_prompt"),
        );
        check(
            json!({"prompt_template": ["x"]}),
            Some("parameters.prompt_template"),
        );
        check(json!({"is_demo": "true"}), Some("parameters.is_demo"));
        check(
            json!({"allow_direct_queries": 1}),
            Some("parameters.allow_direct_queries"),
        );
        check(
            json!({"system_prompt": "x".repeat(100_001)}),
            Some("parameters.system_prompt"),
        );
    }
}
