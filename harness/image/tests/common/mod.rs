//! Data that the tests of this crate share: the smallest file that is accepted as a static program, and facts about an
//! invented build.
#![allow(dead_code, reason = "each test file uses its part")]
#![expect(clippy::unwrap_used, reason = "tests")]

use probity_image::{Archive, Facts, Program, Variant, agnhost};

/// An ELF file for amd64 with one table entry. With type 1 (load), it is static. With type 3, it needs a loader.
pub(crate) fn elf(entry_type: u8) -> Vec<u8> {
    let mut file = vec![0u8; 120];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (file[16], file[18], file[32], file[54], file[56], file[64]) = (3, 62, 64, 56, 1, entry_type);
    (file[20], file[72], file[96]) = (1, 120, 11);
    file.extend_from_slice(b"/lib/ld.so\0");
    file
}

pub(crate) fn program() -> Program {
    Program::new(elf(1)).unwrap()
}

pub(crate) fn facts() -> Facts {
    Facts { version: "1.2.3".to_owned(), revision: "c0ffee".to_owned(), created: 1_700_000_000, source: None }
}

pub(crate) fn archive() -> Archive {
    agnhost::archive(&program(), &facts(), &Variant::ALL, agnhost::REPOSITORY, agnhost::TAG).unwrap()
}
