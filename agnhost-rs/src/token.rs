//! The bearer token for the ports that control and read the program. It is never printed.

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

/// A secret that every request must contain.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token with this text.
    ///
    /// # Errors
    ///
    /// If it is empty or could not be sent in a header.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the token is empty".to_owned());
        }
        if text.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err("the token has characters other than printable ASCII without spaces".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether a text is this token.
    ///
    /// # Errors
    ///
    /// If it is a different text. The error is a sentence for users.
    pub fn compare(&self, text: &[u8]) -> Result<(), &'static str> {
        let same = bool::from(self.0.as_bytes().ct_eq(text));
        if same { Ok(()) } else { Err("the token is wrong") }
    }

    /// The text of the token, to send it to a peer.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Checks that the headers contain the token exactly once.
    ///
    /// # Errors
    ///
    /// If they contain none, several, or a different one. The error is a sentence for users.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), &'static str> {
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        let (Some(shown), None) = (shown.next(), shown.next()) else {
            return Err("there is no token: send exactly one header `Authorization: Bearer TOKEN`");
        };
        let scheme_and_rest = shown.as_bytes().split_at_checked("bearer ".len());
        let Some((_, rest)) = scheme_and_rest.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "))
        else {
            return Err("the authorization is not a bearer token");
        };
        self.compare(rest.trim_ascii())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn check(headers: &[&str]) -> Result<(), &'static str> {
        let headers = headers.iter().map(|value| (AUTHORIZATION, value.parse().unwrap())).collect();
        Token::new("s3cret").unwrap().check(&headers)
    }

    #[test]
    fn only_the_whole_token_passes() {
        for right in ["Bearer s3cret", "bearer s3cret", "Bearer  s3cret "] {
            assert_eq!(check(&[right]), Ok(()), "{right}");
        }
        for wrong in ["Bearer s3cre", "Bearer s3crets", "Bearer s3crets3cret", "Bearer ", "Bearer S3cret"] {
            assert_eq!(check(&[wrong]), Err("the token is wrong"), "{wrong}");
        }
        for wrong in ["Basic s3cret", "s3cret", "Bearer", ""] {
            assert_eq!(check(&[wrong]), Err("the authorization is not a bearer token"), "{wrong}");
        }
        assert!(check(&[]).is_err() && check(&["Bearer s3cret", "Bearer s3cret"]).is_err());
    }

    #[test]
    fn a_token_is_neither_empty_nor_printed() {
        assert!(Token::new("").is_err() && Token::new("a b").is_err() && Token::new("é").is_err());
        assert_eq!(format!("{:?}", Token::new("s3cret").unwrap()), "Token(…)");
    }
}
