//! The channel binding of a server's certificate.

use rustls::crypto::ring;

/// The certificate, hashed as its signature was; none for hashes that RFC 5929 does not cover here.
pub(super) fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let suite = match signature_hash(certificate)? {
        SignatureHash::Sha256 => ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
        SignatureHash::Sha384 => ring::cipher_suite::TLS13_AES_256_GCM_SHA384,
    };
    let hash = suite.tls13()?.common.hash_provider.hash(certificate);
    Some(hash.as_ref().to_vec())
}

#[derive(Debug, PartialEq)]
enum SignatureHash {
    Sha256,
    Sha384,
}

/// `Certificate ::= SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE { OID, … }, … }`
fn signature_hash(der: &[u8]) -> Option<SignatureHash> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    let (certificate, _) = element(der, 0x30)?;
    let (_, rest) = element(certificate, 0x30)?;
    let (algorithm, _) = element(rest, 0x30)?;
    let (oid, _) = element(algorithm, 0x06)?;
    let (family, last) = oid.split_at_checked(oid.len().checked_sub(1)?)?;
    match (family, last) {
        // MD5 and SHA-1 stand for SHA-256 here.
        (RSA, [4 | 5 | 11]) | (ECDSA_SHA2, [2]) => Some(SignatureHash::Sha256),
        (RSA, [12]) | (ECDSA_SHA2, [3]) => Some(SignatureHash::Sha384),
        _ => None,
    }
}

/// The content of the DER element at the front, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = der.split_first_chunk()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (
                bytes
                    .iter()
                    .fold(0, |length, byte| length << 8 | usize::from(*byte)),
                rest,
            )
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_certificate_is_that_of_its_signature() {
        let certificate = |last: u8| {
            let oid = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, last];
            [&[0x30, 0x0f, 0x30, 0x00, 0x30, 0x0b, 0x06, 0x09][..], &oid].concat()
        };
        assert_eq!(
            signature_hash(&certificate(11)),
            Some(SignatureHash::Sha256)
        );
        assert_eq!(signature_hash(&certificate(5)), Some(SignatureHash::Sha256));
        assert_eq!(
            signature_hash(&certificate(12)),
            Some(SignatureHash::Sha384)
        );
        assert_eq!(signature_hash(&certificate(13)), None);
        for cut in 0..certificate(11).len() {
            assert_eq!(signature_hash(&certificate(11)[..cut]), None);
        }
    }
}
