//! The book is embedded into the library, which cargo does not see by itself: a changed case is a changed library.

#[expect(clippy::print_stdout, reason = "this is how a build script speaks")]
fn main() {
    println!("cargo::rerun-if-changed=.");
}
