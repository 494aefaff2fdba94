//! The library embeds the book, which cargo does not know: if a case changes, the library must be rebuilt.

fn main() {
    println!("cargo::rerun-if-changed=.");
}
