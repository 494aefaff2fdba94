//! The text with which a target fills files.

/// How many bytes of text a file has before the text repeats: a file grows in steps of this size.
pub const FILE_BLOCK: usize = 1 << 20;

/// The characters of a file.
const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The first characters of each file that a target fills, before the text repeats. It is text, so that it can be shown if the
/// file is a termination message. It is pseudo-random (Marsaglia's xorshift), because a file system that compresses its files
/// would need almost no space for the same character again and again.
#[must_use]
pub fn file_text(length: usize) -> String {
    let mut number = 0x9E37_79B9_7F4A_7C15_u64;
    let next = || {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        // Six bits choose one of 64 characters.
        char::from(CHARACTERS[usize::try_from(number >> 58).unwrap_or_default()])
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_same_in_every_target() {
        assert_eq!(file_text(24), "3ZeMLlm23jCLVDuxNo/kVvDg");
        assert_eq!(file_text(0), "");
    }
}
