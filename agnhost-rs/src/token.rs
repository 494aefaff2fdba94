//! The bearer token of the program's own ports: the control port and the recorder's query port. It is never printed,
//! and comparing takes the same time however much of it is right.

use std::fmt;
use std::hint::black_box;

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// A secret that a request has to show.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token; none if it is empty or could not be sent in a header.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let sendable = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        sendable.then(|| Self(text.to_owned()))
    }

    /// Whether the headers show it; otherwise what is wrong, for people.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), &'static str> {
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        let (Some(shown), None) = (shown.next(), shown.next()) else {
            return Err("this needs exactly one header `authorization: Bearer TOKEN`");
        };
        let shown = shown.as_bytes();
        let Some((scheme, rest)) = shown.split_at_checked("bearer ".len()) else {
            return Err("the authorization is no bearer token");
        };
        if !scheme.eq_ignore_ascii_case(b"bearer ") {
            return Err("the authorization is no bearer token");
        }
        if same(self.0.as_bytes(), rest) { Ok(()) } else { Err("the token is not the right one") }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Compares in a time that depends only on the length of what was shown.
fn same(secret: &[u8], shown: &[u8]) -> bool {
    let mut difference = secret.len() ^ shown.len();
    for (index, byte) in shown.iter().enumerate() {
        difference |= usize::from(black_box(secret[index % secret.len()] ^ byte));
    }
    black_box(difference) == 0
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
        assert_eq!(check(&["Bearer s3cret"]), Ok(()));
        assert_eq!(check(&["bearer s3cret"]), Ok(()));
        for wrong in ["Bearer s3cre", "Bearer s3crets", "Bearer s3cretS3cret", "Bearer ", "Bearer S3cret"] {
            assert_eq!(check(&[wrong]), Err("the token is not the right one"), "{wrong}");
        }
        assert_eq!(check(&["Basic s3cret"]), Err("the authorization is no bearer token"));
        assert!(check(&[]).is_err() && check(&["Bearer s3cret", "Bearer s3cret"]).is_err());
    }

    #[test]
    fn a_token_is_neither_empty_nor_printed() {
        assert!(Token::new("").is_none() && Token::new("a b").is_none() && Token::new("a\n").is_none());
        assert_eq!(format!("{:?}", Token::new("s3cret").unwrap()), "Token(…)");
    }
}
