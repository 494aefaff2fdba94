//! The content type that Go's server detects from the first bytes: the algorithm of the WHATWG's "MIME
//! Sniffing" standard, as implemented in Go.

/// Go looks at this many bytes.
const LOOKED_AT: usize = 512;

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Tags that make the content HTML if a space or `>` follows.
const TAGS: [&[u8]; 17] = [
    b"<!DOCTYPE HTML",
    b"<HTML",
    b"<HEAD",
    b"<SCRIPT",
    b"<IFRAME",
    b"<H1",
    b"<DIV",
    b"<FONT",
    b"<TABLE",
    b"<A",
    b"<STYLE",
    b"<TITLE",
    b"<B",
    b"<BODY",
    b"<BR",
    b"<P",
    b"<!--",
];

/// Beginnings that determine the type.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x00\x00\x02\x00", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\x00", "application/ogg"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"\x00\x01\x00\x00", "font/ttf"),
    (b"OTTO", "font/otf"),
    (b"ttcf", "font/collection"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x1f\x8b\x08", "application/x-gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07\x00", "application/x-rar-compressed"),
    (b"Rar!\x1a\x07\x01\x00", "application/x-rar-compressed"),
    (b"\x00asm", "application/wasm"),
];

/// Byte order marks. The content must have at least as many bytes as the second number says.
const MARKS: [(&[u8], usize, &str); 3] = [
    (b"\xfe\xff", 4, "text/plain; charset=utf-16be"),
    (b"\xff\xfe", 4, "text/plain; charset=utf-16le"),
    (b"\xef\xbb\xbf", 4, TEXT),
];

/// Container formats: four fixed bytes, four bytes of any value, and the name of the format inside.
const CONTAINERS: [(&[u8], &[u8], &str); 4] = [
    (b"RIFF", b"WEBPVP", "image/webp"),
    (b"FORM", b"AIFF", "audio/aiff"),
    (b"RIFF", b"AVI ", "video/avi"),
    (b"RIFF", b"WAVE", "audio/wave"),
];

/// The type of some content, determined from its beginning.
pub(crate) fn content_type(data: &[u8]) -> &'static str {
    let data = &data[..data.len().min(LOOKED_AT)];
    let blank = data.iter().take_while(|byte| matches!(byte, b'\t' | b'\n' | 0xc | b'\r' | b' ')).count();
    let text = &data[blank..];
    if TAGS.iter().any(|tag| opens_with(text, tag)) {
        return HTML;
    }
    if text.starts_with(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    if let Some((.., kind)) =
        MARKS.iter().find(|(mark, room, _)| data.len() >= *room && data.starts_with(mark))
    {
        return kind;
    }
    if let Some((.., kind)) = CONTAINERS.iter().find(|(outer, inner, _)| is_container(data, outer, inner)) {
        return kind;
    }
    if let Some((_, kind)) = BEGINNINGS.iter().find(|(beginning, _)| data.starts_with(beginning)) {
        return kind;
    }
    if is_mp4(data) {
        return "video/mp4";
    }
    if data.get(34..36) == Some(b"LP") {
        return "application/vnd.ms-fontobject";
    }
    if text.iter().any(|byte| matches!(byte, 0..=8 | 0xb | 0xe..=0x1a | 0x1c..=0x1f)) {
        return "application/octet-stream";
    }
    TEXT
}

fn opens_with(text: &[u8], tag: &[u8]) -> bool {
    let Some((head, rest)) = text.split_at_checked(tag.len()) else { return false };
    head.eq_ignore_ascii_case(tag) && matches!(rest.first(), Some(b' ' | b'>'))
}

fn is_container(data: &[u8], outer: &[u8], inner: &[u8]) -> bool {
    data.starts_with(outer) && data.get(8..).is_some_and(|rest| rest.starts_with(inner))
}

fn is_mp4(data: &[u8]) -> bool {
    let Some((size, rest)) = data.split_first_chunk::<4>() else { return false };
    let size = usize::try_from(u32::from_be_bytes(*size)).unwrap_or(usize::MAX);
    if data.len() < size.max(12) || size % 4 != 0 || !rest.starts_with(b"ftyp") {
        return false;
    }
    // The version of the major brand, at offset 12, is not a brand.
    (8..size).step_by(4).any(|at| at != 12 && data.get(at..at + 3) == Some(b"mp4"))
}

#[cfg(test)]
mod tests {
    use super::content_type;

    #[test]
    fn the_beginning_tells_the_type() {
        let cases: [(&[u8], &str); 9] = [
            (b"ok", "text/plain; charset=utf-8"),
            (b"", "text/plain; charset=utf-8"),
            (b" \n<html>", "text/html; charset=utf-8"),
            (b"<bx>", "text/plain; charset=utf-8"),
            (b"<?xml version", "text/xml; charset=utf-8"),
            (b"\x89PNG\r\n\x1a\n..", "image/png"),
            (b"a\x01", "application/octet-stream"),
            (b"RIFF....WAVE", "audio/wave"),
            (b"\0\0\0\x10ftypmp42\0\0\0\0", "video/mp4"),
        ];
        for (data, kind) in cases {
            assert_eq!(content_type(data), kind, "{data:?}");
        }
    }
}
