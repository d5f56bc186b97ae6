//! `mindhost keys …`

use clap::{Args, Subcommand};
use mindhost_base::{
    config::Config,
    names,
    policy::{Attribute, Scalar},
};
use mindhost_core::{
    audit,
    auth::{
        Compat, Role,
        keys::{self, Key, NewKey},
    },
    minds, workspaces,
};
use mindhost_store::{DEFAULT_WORKSPACE, Store};

use super::open;
use crate::commands::say::{self, say};

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Make a key and print it once.
    Create {
        /// What the key is for.
        name: String,
        /// Its role.
        #[arg(long, value_enum, default_value_t = Role::User)]
        role: Role,
        /// When it expires, such as 2027-01-31T00:00:00Z.
        #[arg(long)]
        expires_at: Option<jiff::Timestamp>,
        /// Adapt responses to a client: with `minds-sdk`, Minds list their datasources as objects with name and tables,
        /// not as names, and have one word as their status.
        #[arg(long, value_enum)]
        compat: Option<Compat>,
        /// Limit the key to this Mind. Can be repeated.
        #[arg(long = "mind")]
        minds: Vec<String>,
        /// Set an attribute for policies: NAME=TEXT. Can be repeated.
        #[arg(long = "attribute", value_parser = attribute)]
        attributes: Vec<(String, Attribute)>,
        #[command(flatten)]
        of: WorkspaceOption,
    },
    /// List the keys, each by its first characters.
    List {
        #[command(flatten)]
        of: WorkspaceOption,
    },
    /// Give a key a new text and print it. The old text becomes invalid.
    Rotate {
        /// The id of the key, from `keys list`.
        id: String,
        /// A new expiry, such as 2027-01-31T00:00:00Z. An expired key needs one.
        #[arg(long)]
        expires_at: Option<jiff::Timestamp>,
        #[command(flatten)]
        of: WorkspaceOption,
    },
    /// Revoke a key. This cannot be undone.
    Revoke {
        /// The id of the key, from `keys list`.
        id: String,
        #[command(flatten)]
        of: WorkspaceOption,
    },
}

/// The workspace option.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceOption {
    /// The workspace that the key belongs to.
    #[arg(long, default_value = DEFAULT_WORKSPACE)]
    workspace: String,
}

impl WorkspaceOption {
    async fn id(&self, store: &Store) -> anyhow::Result<String> {
        Ok(workspaces::find(store, &self.workspace).await?.id)
    }
}

pub(super) async fn run(command: Keys, config: &Config) -> anyhow::Result<()> {
    let opened = open::store(config).await?;
    match command {
        Keys::Create {
            name,
            role,
            expires_at,
            compat,
            minds,
            attributes,
            of,
        } => {
            let workspace = of.id(&opened.store).await?;
            let limited = !minds.is_empty();
            let minds = minds::ids(&opened.store, &workspace, &minds).await?;
            let new = NewKey {
                name,
                role,
                minds: limited.then_some(minds),
                expires_at,
                compat,
                attributes: attributes.into_iter().collect(),
                policies: Default::default(),
            };
            let secret = open::secret_keys(config, &opened).await?;
            let (key, text) = keys::create(&opened.store, &secret, &workspace, new).await?;
            say!("{}", *text);
            let (action, resource) = ("mindhost keys create", "/keys".to_owned());
            let id = Some(key.id.clone());
            audit::record(&opened.store, &workspace, action, resource, id).await?;
            if let Some(error) = say::unheard() {
                anyhow::bail!(
                    "the text of the key could not be printed ({error}) and is lost, but the key is valid; `mindhost \
                     keys revoke {} --workspace {}` ends it",
                    key.id,
                    of.workspace
                );
            }
        }
        Keys::List { of } => {
            let keys = keys::list(&opened.store, &of.id(&opened.store).await?).await?;
            keys.iter().for_each(|key| say!("{}", line(key)));
        }
        Keys::Rotate { id, expires_at, of } => {
            let workspace = of.id(&opened.store).await?;
            let ends = expires_at.map(Some);
            let secret = open::secret_keys(config, &opened).await?;
            let store = &opened.store;
            let (_, text) = keys::rotate(store, &secret, None, &workspace, &id, ends).await?;
            say!("{}", *text);
            let (action, resource) = ("mindhost keys rotate", format!("/keys/{id}"));
            audit::record(&opened.store, &workspace, action, resource, None).await?;
            if let Some(error) = say::unheard() {
                anyhow::bail!(
                    "the new text of the key could not be printed ({error}) and is lost; rotate it once more"
                );
            }
        }
        Keys::Revoke { id, of } => {
            let workspace = of.id(&opened.store).await?;
            keys::revoke(&opened.store, None, &workspace, &id).await?;
            say!("revoked; servers that run notice within seconds");
            let (action, resource) = ("mindhost keys revoke", format!("/keys/{id}"));
            audit::record(&opened.store, &workspace, action, resource, None).await?;
        }
    }
    opened.store.close().await;
    Ok(())
}

/// Reads `NAME=TEXT`.
fn attribute(text: &str) -> Result<(String, Attribute), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=TEXT")?;
    let value = Attribute::One(Scalar::Text(value.to_owned()));
    Ok((name.to_owned(), value))
}

fn line(key: &Key) -> String {
    let state = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => format!("revoked {at:.0}"),
        (None, Some(at)) if key.has_expired() => format!("expired {at:.0}"),
        (None, Some(at)) => format!("expires {at:.0}"),
        (None, None) => "valid".to_owned(),
    };
    let used = key
        .last_used_at
        .map_or("never used".to_owned(), |at| format!("used {at:.0}"));
    let role = key.role.as_str();
    format!(
        "{}  {:<11}  {role:<8}  {state}, {used}  {}",
        key.id,
        key.prefix,
        names::escaped(&key.name)
    )
}
