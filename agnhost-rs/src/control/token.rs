//! The token of the control port. It is never printed, and comparing takes the same time however much of it is right.

use std::fmt;
use std::hint::black_box;

/// A secret that every control request has to show.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Takes a text for the token.
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

    /// Whether an `Authorization` header shows this token.
    pub(super) fn admits(&self, header: &[u8]) -> bool {
        let Some((scheme, shown)) = header.split_at_checked(7) else { return false };
        if !scheme.eq_ignore_ascii_case(b"bearer ") {
            return false;
        }
        let (own, shown) = (self.0.as_bytes(), shown.trim_ascii());
        let differ = |(at, byte): (usize, &u8)| byte ^ own[at % own.len()];
        let differences = shown.iter().enumerate().map(differ).fold(0, |sum, bits| black_box(sum | bits));
        black_box(differences) == 0 && shown.len() == own.len()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn only_the_whole_token_is_admitted() {
        let token = Token::new("sesame").unwrap();
        for shown in ["Bearer sesame", "bearer sesame", "Bearer  sesame "] {
            assert!(token.admits(shown.as_bytes()), "{shown}");
        }
        for shown in [
            "",
            "sesame",
            "Bearer",
            "Bearer ",
            "Bearer sesam",
            "Bearer sesamesesame",
            "Bearer Sesame",
            "Basic sesame",
        ] {
            assert!(!token.admits(shown.as_bytes()), "{shown}");
        }
    }

    #[test]
    fn a_token_is_not_shown_and_not_empty() {
        assert_eq!(format!("{:?}", Token::new("sesame").unwrap()), "Token(..)");
        assert!(Token::new("").is_err() && Token::new("a b").is_err() && Token::new("é").is_err());
    }
}
