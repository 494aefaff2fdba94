//! Reads enough of an ELF file to determine whether the program can run in an image without other files, and on which
//! architecture.
//!
//! An image without a loader and libraries can run only static programs. Any other program fails inside the container
//! with a "no such file or directory" error that names the wrong file, so it is rejected here.

use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use oci_spec::image::Arch;

use crate::Error;

/// A static Linux program and its architecture.
#[derive(Clone, Debug)]
pub struct Program {
    bytes: Vec<u8>,
    architecture: Arch,
}

impl Program {
    /// Accepts a program that needs no loader. Rejects everything else, with a hint on how to build a static program.
    pub fn new(bytes: Vec<u8>) -> Result<Self, Error> {
        let architecture = inspect(&bytes).map_err(|problem| Error::Program { problem })?;
        Ok(Self { bytes, architecture })
    }

    /// The file as it goes into the image.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The architecture, in the words of image platforms (`amd64`, `arm64`).
    #[must_use]
    pub fn architecture(&self) -> &Arch {
        &self.architecture
    }
}

/// Checks kind, machine and loader, and that the file is complete.
fn inspect(bytes: &[u8]) -> Result<Arch, String> {
    if !bytes.starts_with(b"\x7fELF") {
        return Err("is not an ELF file; images hold Linux programs".to_owned());
    }
    if bytes.get(4..6) != Some(&[elf::ELFCLASS64, elf::ELFDATA2LSB]) {
        return Err(
            "is not a 64-bit little-endian ELF file; only amd64, arm64 and riscv64 are known here".to_owned()
        );
    }
    let cut_off = |_: object::Error| "is cut off: its headers point past its end".to_owned();
    let header = elf::FileHeader64::<LittleEndian>::parse(bytes).map_err(cut_off)?;
    if !matches!(header.e_type(LittleEndian), elf::ET_EXEC | elf::ET_DYN) {
        return Err("is an object file or a core dump, not a program; link it first".to_owned());
    }
    let architecture = match header.e_machine(LittleEndian) {
        elf::EM_X86_64 => Arch::Amd64,
        elf::EM_AARCH64 => Arch::ARM64,
        elf::EM_RISCV => Arch::Other("riscv64".to_owned()),
        other => {
            return Err(format!("is for ELF machine {other}; only amd64, arm64 and riscv64 are known here"));
        }
    };
    for part in header.program_headers(LittleEndian, bytes).map_err(cut_off)? {
        let content =
            part.data(LittleEndian, bytes).map_err(|()| "is cut off: its headers point past its end")?;
        if part.p_type(LittleEndian) == elf::PT_INTERP {
            let loader = String::from_utf8_lossy(content);
            return Err(format!(
                "is linked dynamically: it needs the loader {}, which the image does not contain; \
                 build it with RUSTFLAGS='-C target-feature=+crt-static' and an explicit --target, as ci/image does",
                loader.trim_end_matches('\0')
            ));
        }
    }
    Ok(architecture)
}

/// The smallest file that passes the checks: a header, one table entry of the given type, and `tail`.
#[cfg(test)]
pub(crate) fn sample(machine: u16, entry_type: u32, tail: &[u8]) -> Vec<u8> {
    let mut file = vec![0u8; 120];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    file[16..18].copy_from_slice(&elf::ET_DYN.to_le_bytes());
    file[18..20].copy_from_slice(&machine.to_le_bytes());
    file[20] = 1;
    file[32..40].copy_from_slice(&64u64.to_le_bytes());
    file[54..56].copy_from_slice(&56u16.to_le_bytes());
    file[56..58].copy_from_slice(&1u16.to_le_bytes());
    file[64..68].copy_from_slice(&entry_type.to_le_bytes());
    file[72..80].copy_from_slice(&120u64.to_le_bytes());
    file[96..104].copy_from_slice(&(tail.len() as u64).to_le_bytes());
    file.extend_from_slice(tail);
    file
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests")]

    use super::*;

    use elf::{PT_INTERP, PT_LOAD};

    #[test]
    fn a_static_program_tells_its_architecture() {
        for (machine, architecture) in [(62, Arch::Amd64), (183, Arch::ARM64)] {
            let program = Program::new(sample(machine, PT_LOAD, b"code")).unwrap();
            assert_eq!(program.architecture(), &architecture);
            assert!(program.bytes().ends_with(b"code"));
        }
    }

    #[test]
    fn what_would_fail_in_the_container_is_refused_with_the_remedy() {
        let dynamic = sample(62, PT_INTERP, b"/lib64/ld-linux-x86-64.so.2\0");
        let mut object = sample(62, PT_LOAD, b"");
        object[16] = 1;
        let mut beyond = sample(62, PT_LOAD, b"");
        beyond[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        for (file, word) in [
            (dynamic, "/lib64/ld-linux-x86-64.so.2, which"),
            (object, "object file"),
            (beyond, "cut off"),
            (sample(62, PT_LOAD, b"")[..100].to_vec(), "cut off"),
            (sample(62, PT_LOAD, b"code")[..122].to_vec(), "cut off"),
            (sample(40, PT_LOAD, b""), "machine 40"),
            (b"#!/bin/sh\n".to_vec(), "not an ELF"),
            (b"\x7fELF\x01\x01".to_vec(), "64-bit"),
        ] {
            let said = Program::new(file).unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
    }

    #[test]
    fn this_very_test_is_a_program_that_asks_for_a_loader() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let said = Program::new(own).unwrap_err().to_string();
        assert!(said.contains("crt-static"), "{said}");
    }
}
