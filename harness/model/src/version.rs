//! Versions of Kubernetes, as clusters report them.

/// `1.36` of `1.36.3-vendor.7`; the plus sign that vendors add to the minor version is left out.
#[must_use]
pub fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let major = parts.next()?.parse().ok()?;
    let digits: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    Some((major, digits.parse().ok()?))
}

/// `3` of `1.36.3-vendor.7`.
#[must_use]
pub fn patch(version: &str) -> Option<u32> {
    let digits: String = version.split('.').nth(2)?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
