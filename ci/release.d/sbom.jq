# From the lines of `cargo tree` and Cargo.lock to CycloneDX. Called by ci/release.d/sbom.

# name@version to digest; our own crates have none.
def checksums:
    [$lock | split("[[package]]\n")[1:][]
        | { id: (capture("name = \"(?<n>[^\"]+)\"\nversion = \"(?<v>[^\"]+)\"") | .n + "@" + .v),
            sum: (capture("checksum = \"(?<c>[0-9a-f]{64})\"").c // null) }
        | select(.sum != null) | { (.id): .sum }] | add;

# "3\tserde v1.0.0 (/path) (*)\tMIT" to an object.
def line:
    split("\t") as [$depth, $package, $license]
    | ($package | capture("^(?<name>[^ ]+) v(?<version>[^ ]+)")) + { depth: ($depth | tonumber) }
    | . + { id: "\(.name)@\(.version)", license: ($license | sub(" \\(\\*\\)$"; "") | gsub("/"; " OR ")) };

# Every package of the tree with the packages that it needs: the parent is the last line above whose depth is one less.
def packages:
    reduce (inputs | select(. != "") | line) as $each ({ path: [], found: {} };
        .path = .path[:$each.depth] + [$each.id]
        | .found[$each.id].package = $each
        | if $each.depth > 0 then .found[.path[$each.depth - 1]].needs[$each.id] = true else . end)
    | .found;

def component($sums):
    { type: (if .name == "agnhost-rs" then "application" else "library" end), "bom-ref": .id, name, version }
    + (if .license == "" then {} else { licenses: [{ expression: .license }] } end)
    + (if $sums[.id] then
        { hashes: [{ alg: "SHA-256", content: $sums[.id] }], purl: "pkg:cargo/\(.name)@\(.version)" }
       else {} end);

# What is linked into both programs but is not a crate of Cargo.lock.
def runtime:
    { type: "library", "bom-ref": "rust-std@\($rust)", name: "rust-std", version: $rust, licenses: [{ expression: "MIT OR Apache-2.0" }] },
    ($libc | select(. != "") | split(" ") as [$name, $number]
        | { type: "library", "bom-ref": "\($name)@\($number)", name: $name, version: $number, licenses: [{ expression: "LGPL-2.1-or-later" }] });

checksums as $sums
| packages as $packages
| [runtime] as $runtime
| ($packages | to_entries | sort_by(.key)) as $sorted
| {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
        timestamp: $time,
        component: {
            type: "application", "bom-ref": "probity@\($version)", name: "probity", version: $version,
            licenses: [{ expression: "Apache-2.0" }], properties: [{ name: "probity:target", value: $triple }]
        }
    },
    components: ([$sorted[].value.package | component($sums)] + $runtime),
    dependencies: (
        [{ ref: "probity@\($version)", dependsOn: ([$sorted[].value.package | select(.depth == 0) | .id] + [$runtime[]["bom-ref"]] | sort) }]
        + [$sorted[] | { ref: .key, dependsOn: (.value.needs // {} | keys) }]
        + [$runtime[] | { ref: .["bom-ref"] }])
}
