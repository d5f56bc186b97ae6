//! Messages for registry errors, without the text of their answers.

use oci_client::errors::{OciDistributionError, OciErrorCode};

/// The registry does not have the name or digest.
#[derive(Debug, thiserror::Error)]
#[error("{0}: the registry has no such plugin")]
pub(super) struct Unknown(String);

/// The error of a reference.
pub(super) fn told(source: &str, error: OciDistributionError) -> anyhow::Error {
    if is_unknown(&error) {
        return Unknown(source.to_owned()).into();
    }
    anyhow::anyhow!("{source}: {}", words(&error))
}

/// Whether the registry does not have the requested item.
fn is_unknown(error: &OciDistributionError) -> bool {
    match error {
        OciDistributionError::ImageManifestNotFoundError(_)
        | OciDistributionError::ServerError { code: 404, .. } => true,
        OciDistributionError::RegistryError { envelope, .. } => envelope.errors.iter().any(|one| {
            matches!(
                one.code,
                OciErrorCode::BlobUnknown
                    | OciErrorCode::ManifestUnknown
                    | OciErrorCode::NameUnknown
                    | OciErrorCode::NotFound
            )
        }),
        _ => false,
    }
}

fn words(error: &OciDistributionError) -> String {
    const DENIED: &str = "the registry refuses; check --registry-user and --registry-password-file, and what that user may do";
    match error {
        OciDistributionError::AuthenticationFailure(_)
        | OciDistributionError::UnauthorizedError { .. }
        | OciDistributionError::ServerError {
            code: 401 | 403, ..
        } => DENIED.to_owned(),
        OciDistributionError::RegistryError { envelope, .. } => {
            let denied = |code: &OciErrorCode| {
                matches!(code, OciErrorCode::Unauthorized | OciErrorCode::Denied)
            };
            if envelope.errors.iter().any(|one| denied(&one.code)) {
                return DENIED.to_owned();
            }
            let said = envelope.errors.iter().map(|one| one.message.as_str());
            let said: Vec<_> = said.filter(|said| !said.is_empty()).collect();
            format!("the registry refuses: {}", plain(&said.join("; ")))
        }
        OciDistributionError::ServerError { code, .. } => {
            format!("the registry answered with the status {code}")
        }
        OciDistributionError::RequestError(error) => {
            let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| {
                error.source()
            });
            let last = causes.last().map(ToString::to_string);
            format!(
                "the registry cannot be reached: {}",
                last.unwrap_or_default()
            )
        }
        other => plain(&other.to_string()),
    }
}

/// The text on one line, cut at a limit.
fn plain(text: &str) -> String {
    text.chars()
        .map(|sign| if sign.is_control() { ' ' } else { sign })
        .take(300)
        .collect()
}
