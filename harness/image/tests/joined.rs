//! Archives of two architectures, joined into one: how they are read back, and which archives are rejected.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{archive, elf, facts};
use probity_image::{Archive, Entry, Error, Joined, Program, Tree, Variant, agnhost, is_joined};

/// The archive as a machine of another architecture writes it. 183 is the number of aarch64 in ELF files.
fn arm64(variants: &[Variant]) -> Archive {
    let mut file = elf(1);
    file[18] = 183;
    agnhost::archive(&Program::new(file).unwrap(), &facts(), variants, agnhost::REPOSITORY, agnhost::TAG)
        .unwrap()
}

fn joined() -> Joined {
    Joined::new(vec![arm64(&Variant::ALL), archive()]).unwrap()
}

/// The joined archive with one text replaced by another wherever it occurs in a file.
fn replaced(old: &str, new: &str) -> Vec<u8> {
    let (honest, mut damaged, mut found) =
        (Tree::from_tar(&joined().to_tar().unwrap(), "test").unwrap(), Tree::new(), false);
    for (path, entry) in honest.iter() {
        let text = honest.file(path).map(|content| String::from_utf8_lossy(content).into_owned());
        let entry = match text {
            Some(text) if text.contains(old) => {
                found = true;
                Entry::file(entry.mode, text.replace(old, new).as_bytes())
            }
            _ => entry.clone(),
        };
        damaged.insert(path, entry).unwrap();
    }
    assert!(found, "no file has {old}");
    damaged.to_tar().unwrap()
}

fn complaint(done: Result<Joined, Error>) -> String {
    done.unwrap_err().to_string()
}

#[test]
fn each_architecture_comes_back_as_it_was() {
    let tar = joined().to_tar().unwrap();
    let read = Joined::from_tar(&tar).unwrap();
    let found: Vec<_> = read.archives().collect();
    assert_eq!(found, [("amd64", &archive()), ("arm64", &arm64(&Variant::ALL))]);
    let names: Vec<_> = read.names().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["dev", "dev-2", "dev-sigusr1"].map(|tag| format!("probity.local/agnhost-rs:{tag}")));
}

#[test]
fn the_order_in_which_they_are_named_does_not_matter() {
    let other = Joined::new(vec![archive(), arm64(&Variant::ALL)]).unwrap();
    assert_eq!(other.to_tar().unwrap(), joined().to_tar().unwrap());
}

#[test]
fn the_two_kinds_of_archives_are_told_apart() {
    let (one, several) = (archive().to_tar().unwrap(), joined().to_tar().unwrap());
    assert_eq!((is_joined(&one).unwrap(), is_joined(&several).unwrap()), (false, true));
    assert!(Archive::from_tar(&several).is_err() && Joined::from_tar(&one).is_err());
}

#[test]
fn what_would_lack_an_architecture_is_refused() {
    for (archives, word) in [
        (vec![], "no archive"),
        (vec![archive()], "not enough"),
        (vec![archive(), archive()], "two of the archives are for amd64"),
        (vec![archive(), arm64(&[Variant::Plain])], "the names differ: amd64 has"),
    ] {
        let said = complaint(Joined::new(archives));
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn damage_is_found() {
    let image = archive();
    let image = image.find(&"probity.local/agnhost-rs:dev".parse().unwrap()).unwrap();
    let other = image.manifest().hex().replace(|c: char| c.is_ascii_digit(), "0");
    for (old, new, word) in [
        (image.manifest().hex(), other.as_str(), "its content has the digest"),
        ("\"architecture\":\"arm64\"", "\"architecture\":\"amd64\"", "its content has the digest"),
        ("\"org.opencontainers.image.ref.name\":\"dev-2\"", "\"x\":\"dev-2\"", "annotation"),
        ("\"imageLayoutVersion\":\"1.0.0\"", "\"imageLayoutVersion\":\"2.0.0\"", "version"),
    ] {
        let said = complaint(Joined::from_tar(&replaced(old, new)));
        assert!(said.contains(word), "{old} → {new}: {said}");
    }
}
