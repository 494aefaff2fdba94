//! The book is embedded into the library, which cargo does not see by itself: a changed case is a changed library.

fn main() {
    println!("cargo::rerun-if-changed=.");
}
