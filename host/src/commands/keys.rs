//! `mindhost keys …`

use clap::Subcommand;
use mindhost::{
    auth::{
        Compat, Role,
        keys::{self, NewKey},
    },
    config::Config,
};

use super::open;

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Make a key and print it. It cannot be shown again.
    Create {
        /// What the key is for.
        name: String,
        /// What it may do.
        #[arg(long, value_enum, default_value_t = Role::User)]
        role: Role,
        /// When it ends: 2027-01-31T00:00:00Z.
        #[arg(long)]
        expires_at: Option<jiff::Timestamp>,
        /// A client that reads some answers in another shape: with `minds-sdk`, Minds show their datasources as objects
        /// with name and tables, in place of names.
        #[arg(long, value_enum)]
        compat: Option<Compat>,
    },
    /// List the keys by their first characters.
    List,
    /// Make a key invalid for ever.
    Revoke {
        /// Its id, as `keys list` shows it.
        id: String,
    },
}

pub(super) async fn run(command: Keys, config: &Config) -> anyhow::Result<()> {
    let opened = open::store(config).await?;
    match command {
        Keys::Create {
            name,
            role,
            expires_at,
            compat,
        } => {
            let new = NewKey {
                name,
                role,
                minds: None,
                expires_at,
                compat,
            };
            let (_, text) = keys::create(&opened.store, &opened.workspace, new).await?;
            println!("{}", *text);
        }
        Keys::List => {
            for key in keys::list(&opened.store, &opened.workspace).await? {
                let state = match (key.revoked_at, key.expires_at) {
                    (Some(at), _) => format!("revoked {at:.0}"),
                    (None, Some(at)) => format!("expires {at:.0}"),
                    (None, None) => "valid".to_owned(),
                };
                let used = key
                    .last_used_at
                    .map_or("never used".to_owned(), |at| format!("used {at:.0}"));
                println!(
                    "{}  {:<11}  {:<8}  {state}, {used}  {}",
                    key.id,
                    key.prefix,
                    key.role.as_str(),
                    key.name
                );
            }
        }
        Keys::Revoke { id } => {
            keys::revoke(&opened.store, &opened.workspace, &id, |_| Ok(())).await?;
            println!("revoked; servers that run notice within seconds");
        }
    }
    opened.store.close().await;
    Ok(())
}
