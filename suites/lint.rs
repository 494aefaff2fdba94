//! Checks that judges and readings do not define tolerances: a time, a margin or a factor must be a tolerance of its
//! clause or a mechanism of `probity_model::mechanisms`. A constant here must belong to a protocol and name its source.
//!
//! Other checks here: clauses and judges name the same tolerances, and no chapter imports from another one.
//!
//! The checks read the source text of all chapters and readings, without their tests.

#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::disallowed_methods, reason = "the text of judges is what these tests are about")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The exceptions, by file and code, with the reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("probe_grpc/call.rs", "nanos / 1000", "from nanoseconds to microseconds"),
    ("probe_config/schedule.rs", "spans.len() / 2", "the place of the median"),
    ("scenario/overload.rs", "good * 1000", "the report shows rates in thousandths"),
];

/// Numbers from this value on are quantities; smaller ones may be indexes or counts in code.
const LARGE: u64 = 1000;

/// The doc comment of a constant must contain one of these: the source of the number.
const SOURCES: [&str; 8] =
    ["RFC ", "IANA", "Kubernetes", "kubelet's prober", "gRPC", "`net/http`", "Linux", "the documentation"];

/// Functions that turn their argument into a time or a multiple.
const MAKERS: [&str; 5] = ["whole_seconds", "saturating_mul", "checked_mul", "from_secs", "from_millis"];

/// The sources of chapters and readings, by their paths below `suites/`.
fn sources() -> Vec<(String, String)> {
    fn add(root: &Path, folder: &Path, sources: &mut Vec<(String, String)>) {
        let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let tests = ["tests", "tests.rs", "scene.rs", "lint.rs", "coverage.rs"].contains(&name.as_str());
            if path.is_dir() && !tests {
                add(root, &path, sources);
            } else if path.extension().is_some_and(|end| end == "rs") && !tests {
                let below = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                sources.push((below, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let (root, mut sources) = (Path::new(env!("CARGO_MANIFEST_DIR")), Vec::new());
    add(root, root, &mut sources);
    sources
}

/// The text before its tests, with comments, strings and characters replaced by blanks.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut code, mut chars) = (String::new(), text.chars().peekable());
    let mut line_comment = false;
    let mut string: Option<usize> = None;
    while let Some(char) = chars.next() {
        let kept = if char == '\n' {
            line_comment = false;
            '\n'
        } else if line_comment {
            ' '
        } else if let Some(hashes) = string {
            let closes = char == '"' && {
                let ahead: String = chars.clone().take(hashes).collect();
                ahead == "#".repeat(hashes)
            };
            match (char, closes) {
                ('\\', _) if hashes == 0 => {
                    chars.next();
                }
                (_, true) => string = None,
                _ => {}
            }
            ' '
        } else if char == '/' && chars.peek() == Some(&'/') {
            line_comment = true;
            ' '
        } else if char == '"' {
            let hashes = code.chars().rev().take_while(|char| *char == '#').count();
            string = Some(hashes);
            ' '
        } else if char == '\'' && (chars.clone().nth(1) == Some('\'') || chars.peek() == Some(&'\\')) {
            for _ in 0..if chars.peek() == Some(&'\\') { 3 } else { 2 } {
                chars.next();
            }
            ' '
        } else {
            char
        };
        code.push(kept);
    }
    code
}

/// Words, numbers and operators, each with its line number.
fn tokens(code: &str) -> Vec<(usize, String)> {
    let mut tokens: Vec<(usize, String)> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let word = |char: char| char.is_alphanumeric() || char == '_';
        let mut open = false;
        for char in line.chars() {
            match tokens.last_mut() {
                Some((_, last)) if open && word(char) => last.push(char),
                _ if char.is_whitespace() => {}
                _ => tokens.push((number, char.to_string())),
            }
            open = word(char);
        }
    }
    tokens
}

fn is_number(token: &str) -> bool {
    token.starts_with(|char: char| char.is_ascii_digit())
}

fn is_large(token: &str) -> bool {
    let digits: String = token.chars().take_while(|char| char.is_ascii_digit() || *char == '_').collect();
    let value = digits.replace('_', "").parse().unwrap_or(u64::MAX);
    is_number(token) && (digits.trim_end_matches('_').contains('_') || value >= LARGE)
}

/// The lines whose numbers look like tolerances.
fn findings(text: &str) -> BTreeSet<usize> {
    let (code, lines) = (code(text), text.lines().collect::<Vec<_>>());
    let tokens = tokens(&code);
    let (mut found, mut constant, mut import) = (BTreeSet::new(), None, false);
    let at = |place: usize| tokens.get(place).map_or("", |(_, token)| token.as_str());
    for (place, (line, token)) in tokens.iter().enumerate() {
        let before = |back: usize| place.checked_sub(back).map_or("", at);
        match token.as_str() {
            "const" if !["fn", "*"].contains(&at(place + 1)) => constant = Some((*line, false)),
            "=" => constant = constant.map(|(line, _)| (line, true)),
            "use" if at(place + 1) != "<" => import = true,
            ";" if import => import = false,
            ";" if constant.is_some_and(|(_, value)| value) => constant = None,
            _ => {}
        }
        let second = token == "SECOND" && !import;
        if let Some((from, value)) = constant {
            let above = |line: &&&str| line.trim_start().starts_with("//") || line.contains("const ");
            let doc = lines[..from].iter().rev().take_while(above);
            let doc: String = doc.copied().collect();
            if value && (is_number(token) || second) && !SOURCES.iter().any(|source| doc.contains(source)) {
                found.insert(from);
            }
            continue;
        }
        let factor = |sign: &str| ["*", "/"].contains(&sign);
        let assigned = before(1) == "=" && factor(before(2));
        let made = before(1) == "(" && MAKERS.contains(&before(2));
        let factor = factor(before(1)) || factor(at(place + 1)) || assigned || made;
        if second || is_large(token) || is_number(token) && factor {
            found.insert(*line);
        }
    }
    found
}

#[test]
fn judges_have_no_number_of_their_own() {
    let (mut found, mut used) = (Vec::new(), BTreeSet::new());
    for (path, text) in sources() {
        for line in findings(&text) {
            let code = text.lines().nth(line).unwrap_or_default();
            let allowed = ALLOWED.iter().position(|(file, part, _)| *file == path && code.contains(part));
            match allowed {
                Some(entry) => {
                    used.insert(entry);
                }
                None => found.push(format!("suites/{path}:{}: {}", line + 1, code.trim())),
            }
        }
    }
    assert!(
        found.is_empty(),
        "these numbers look like tolerances: name each in `tolerances` of its clause or in mechanisms.rs; \
         a constant of a protocol names its source in its doc comment\n{}",
        found.join("\n")
    );
    assert_eq!(used.len(), ALLOWED.len(), "an entry of ALLOWED no longer allows anything");
}

#[test]
fn a_planted_tolerance_is_found() {
    for planted in [
        "fn late() -> i64 { 300_000 }",
        "fn late() -> i64 { 1500 }",
        "fn late() -> i64 { SECOND }",
        "fn late(period: i64) -> i64 { 3 * period }",
        "fn late(period: i64) -> i64 { period * 9 / 10 }",
        "fn late(period: i64) -> i64 { period\n / 2 }",
        "fn late(period: i64) -> i64 { period.saturating_mul(3) }",
        "fn late() -> i64 { whole_seconds(5) }",
        "fn late(mut period: i64) { period *= 2; }",
        "const MANY: usize = 8;",
        "/// So many say enough.\nconst MANY: usize = 8;",
        "/// A second is enough.\nconst LATE: i64 = SECOND;",
    ] {
        assert_eq!(findings(planted).len(), 1, "{planted}");
    }
}

#[test]
fn what_only_counts_or_names_its_source_is_not() {
    for fine in [
        "use probity_model::measure::{\n    SECOND, seconds,\n};",
        "fn first(all: &[u8]) -> bool { all.len() > 1 && all[0] == 2 }",
        "fn part(of: i64) -> i64 { QUICK.of(of) * other }",
        "fn text() -> &'static str { \"at 3 * period, 10_000\" } // 4 * this",
        "fn raw() -> &'static str { r#\"a \"5000\" b\"# }",
        "fn sign(one: char) -> bool { one == '\\'' || one == '\"' && 1 < 2 }",
        "/// The default port of HTTP: RFC 9110, section 4.2.1.\nconst PORT: u16 = 8000;",
        "#[cfg(test)]\nmod other;\n\n#[cfg(test)]\nmod tests {\n fn t() { 5_000 } }",
    ] {
        assert!(findings(fine).is_empty(), "{fine}: {:?}", findings(fine));
    }
}

/// The text in which a chapter can use a tolerance: its own files and the readings.
fn of_chapter(name: &str) -> String {
    let own = |path: &str| path == format!("{name}.rs") || path.starts_with(&format!("{name}/"));
    let texts = sources().into_iter().filter(|(path, _)| own(path) || path.starts_with("reading"));
    texts.map(|(_, text)| text).collect()
}

/// The lines of a file of one chapter that name another chapter, each with the name of that chapter.
fn other_chapters(own: &str, text: &str) -> Vec<(usize, &'static str)> {
    let code = code(text);
    let tokens = tokens(&code);
    let named = tokens.windows(4).filter_map(|words| {
        let [(line, first), (_, colon), (_, another), (_, name)] = words else { return None };
        if (first.as_str(), colon.as_str(), another.as_str()) != ("crate", ":", ":") || name == own {
            return None;
        }
        let chapter = crate::CHAPTERS.iter().find(|chapter| chapter.name == name.as_str())?;
        Some((*line, chapter.name))
    });
    named.collect()
}

#[test]
fn chapters_and_readings_import_from_no_other_chapter() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let own = path.split(['/', '.']).next().unwrap_or_default();
        if own == "reading" || crate::CHAPTERS.iter().any(|chapter| chapter.name == own) {
            let lines = other_chapters(own, &text).into_iter();
            found.extend(lines.map(|(line, other)| format!("suites/{path}:{}: {other}", line + 1)));
        }
    }
    assert!(
        found.is_empty(),
        "what several chapters use belongs in suites/reading (docs/adr/0011): a change in one chapter must not \
         change verdicts in another\n{}",
        found.join("\n")
    );
}

#[test]
fn a_planted_import_of_another_chapter_is_found() {
    let planted = "use crate::qos::killed;\nuse crate::reading::ends::End; // not crate::init::order\n";
    assert_eq!(other_chapters("restart", planted), [(0, "qos")]);
    assert_eq!(other_chapters("reading", planted), [(0, "qos")]);
    assert!(other_chapters("qos", planted).is_empty());
}

#[test]
fn every_tolerance_of_a_clause_is_used() {
    for chapter in crate::CHAPTERS {
        let text = of_chapter(chapter.name);
        for clause in chapter.catalogue().unwrap().iter() {
            for name in clause.tolerances.keys() {
                assert!(text.contains(&format!("\"{name}\"")), "{}: nobody uses `{name}`", clause.id);
            }
        }
    }
}

#[test]
fn every_tolerance_that_a_judge_names_is_there() {
    for chapter in crate::CHAPTERS {
        let catalogue = chapter.catalogue().unwrap();
        let names: BTreeSet<&str> =
            catalogue.iter().flat_map(|clause| clause.tolerances.keys().map(String::as_str)).collect();
        let own = sources().into_iter().filter(|(path, _)| path.starts_with(&format!("{}/", chapter.name)));
        for (path, text) in own {
            for call in text.split("clause.tolerance_").skip(1) {
                let name = call.split('"').nth(1).unwrap_or_default();
                assert!(names.contains(name), "suites/{path}: no clause of the chapter has `{name}`");
            }
        }
    }
}
