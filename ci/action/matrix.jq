# The matrix of a workflow, generated from kind.json: each release of kind with each of its node images.
{ include: [.releases | to_entries[] | .key as $kind | .value.images | keys[] | { kind: $kind, kubernetes: . }] }
