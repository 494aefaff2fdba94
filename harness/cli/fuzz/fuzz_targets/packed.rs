//! Any bytes as the archive of a packed run, or of an image.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = probity_image::Tree::from_tar(bytes, "run");
});
