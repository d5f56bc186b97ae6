//! What a new project begins with.

use anyhow::{bail, ensure};
use clap::ValueEnum;

use super::{Kind, Language};

/// A template: of one kind, in each language whose SDK can do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Template {
    /// A SQL engine over HTTP: rows as they arrive, a bearer token. What a connector begins with by default.
    SqlHttp,
    /// A SQL engine over TCP in a protocol of its own, upgraded to TLS. In Rust only: the other SDKs have no sockets.
    SqlTcp,
    /// A file of JSON lines as a table. What a scanner begins with by default.
    FileScanner,
    /// A REST API as tables: pages by cursor and by link, a bearer token, a filter, waits while it is busy.
    RestScanner,
    /// A model that repeats the question. What a model begins with by default.
    EchoModel,
    /// A model vendor with the API of OpenAI: streamed text, tool calls, usage, refusals.
    StreamingModel,
}

impl Template {
    /// The one that was asked for, else the default of the kind.
    pub(super) fn chosen(
        template: Option<Template>,
        kind: Option<Kind>,
        language: Language,
    ) -> anyhow::Result<Self> {
        let template = match (template, kind) {
            (Some(template), _) => template,
            (None, Some(Kind::Connector)) => Template::SqlHttp,
            (None, Some(Kind::Scanner)) => Template::FileScanner,
            (None, Some(Kind::Model)) => Template::EchoModel,
            (None, None) => bail!(
                "say what the plugin is, with `--kind connector`, `--kind scanner` or `--kind model`, or what the \
                 project begins with: `--template {}`",
                name(Template::RestScanner)
            ),
        };
        ensure!(
            kind.is_none_or(|kind| kind == template.kind()),
            "`{}` is a template of the kind `{}`; leave `--kind` out, or choose another template",
            name(template),
            name(template.kind())
        );
        ensure!(
            template.languages().contains(&language),
            "there is no template `{}` in {}, whose SDK has no sockets; use `--language rust`, or \
             `--template sql-http` if the engine speaks HTTP",
            name(template),
            name(language)
        );
        Ok(template)
    }

    /// The kind of its plugin.
    pub(super) fn kind(self) -> Kind {
        match self {
            Template::SqlHttp | Template::SqlTcp => Kind::Connector,
            Template::FileScanner | Template::RestScanner => Kind::Scanner,
            Template::EchoModel | Template::StreamingModel => Kind::Model,
        }
    }

    /// The languages in which it is there.
    pub(super) fn languages(self) -> &'static [Language] {
        match self {
            Template::SqlTcp => &[Language::Rust],
            _ => Language::value_variants(),
        }
    }
}

/// A value as it is typed: `rest-scanner`.
fn name(value: impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}
