//! The content types of file names: the extensions that Go knows without a system table.

const TYPES: &[(&str, &[&str])] = &[
    ("application/gzip", &["gz"]),
    ("application/json", &["json"]),
    ("application/msword", &["doc"]),
    ("application/octet-stream", &["bin", "com", "exe"]),
    ("application/pdf", &["pdf"]),
    ("application/postscript", &["ai", "eps", "ps"]),
    ("application/rdf+xml", &["rdf"]),
    ("application/rtf", &["rtf"]),
    ("application/vnd.android.package-archive", &["apk"]),
    ("application/vnd.ms-excel", &["xls"]),
    ("application/vnd.ms-powerpoint", &["ppt"]),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", &["pptx"]),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", &["xlsx"]),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", &["docx"]),
    ("application/wasm", &["wasm"]),
    ("application/xhtml+xml", &["xht", "xhtml"]),
    ("application/zip", &["zip"]),
    ("audio/flac", &["flac"]),
    ("audio/mp4", &["m4a"]),
    ("audio/mpeg", &["mp3"]),
    ("audio/ogg", &["oga", "ogg", "opus"]),
    ("audio/wav", &["wav"]),
    ("audio/webm", &["webm"]),
    ("image/apng", &["apng"]),
    ("image/avif", &["avif"]),
    ("image/bmp", &["bmp"]),
    ("image/gif", &["gif"]),
    ("image/jpeg", &["jfif", "jpeg", "jpg", "pjp", "pjpeg"]),
    ("image/png", &["png"]),
    ("image/svg+xml", &["svg"]),
    ("image/tiff", &["tif", "tiff"]),
    ("image/vnd.microsoft.icon", &["ico"]),
    ("image/webp", &["webp"]),
    ("image/x-xbitmap", &["xbm"]),
    ("message/rfc822", &["eml"]),
    ("text/calendar; charset=utf-8", &["ics"]),
    ("text/css; charset=utf-8", &["css"]),
    ("text/csv; charset=utf-8", &["csv"]),
    ("text/html; charset=utf-8", &["ehtml", "htm", "html", "shtml"]),
    ("text/javascript; charset=utf-8", &["js", "mjs"]),
    ("text/plain; charset=utf-8", &["text", "txt"]),
    ("text/vtt; charset=utf-8", &["vtt"]),
    ("text/xml; charset=utf-8", &["xbl", "xml", "xsl"]),
    ("video/mp4", &["mp4"]),
    ("video/ogg", &["ogv"]),
];

/// The type for a file name, if its ending is known.
pub(super) fn by_name(name: &[u8]) -> Option<&'static str> {
    let name = std::str::from_utf8(name).ok()?;
    let (_, ending) = name.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    TYPES.iter().find(|(_, endings)| endings.contains(&ending.as_str())).map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::by_name;

    #[test]
    fn the_ending_tells_the_type_in_any_case() {
        assert_eq!(by_name(b"a.tar.GZ"), Some("application/gzip"));
        assert_eq!(by_name(b"index.html"), Some("text/html; charset=utf-8"));
        assert_eq!(by_name(b"hostname"), None);
        assert_eq!(by_name(b"a.unknown"), None);
    }
}
