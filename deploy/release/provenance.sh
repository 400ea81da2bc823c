#!/bin/bash
# Prints the SLSA provenance of the files in a directory as an in-toto statement: the
# commit, the Debian packages that compiled and packed the files, with their versions,
# and the locked npm packages.
#   provenance.sh VERSION REVISION DIRECTORY
set -eu
cd "$(dirname "$0")/../.."
version=$1 revision=$2 directory=$3

# The packages of the rows build and release that are installed here, and the C compiler's own.
tools() {
    awk '$1 == "build" || $1 == "release" { split($2, names, "/"); for (i in names) print names[i] }' deploy/packages
    dpkg-query -W -f '${Depends}\n' gcc | grep -o 'gcc-[0-9]*'
}
materials() {
    tools | LC_ALL=C sort -u | while read -r package; do
        dpkg-query -W -f '${db:Status-Abbrev}|pkg:deb/debian/${Package}@${Version}?arch=${Architecture}\n' "$package" 2>&1 |
            sed -n 's/^ii *|//p'
    done
    find . -name package-lock.json -not -path '*/node_modules/*' | LC_ALL=C sort | xargs sha256sum |
        awk '{ print substr($2, 3) " " $1 }'
}
subjects() {
    (cd "$directory" && sha256sum -- *)
}
jq -n --arg version "$version" --arg revision "$revision" \
    --arg made "$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)" \
    --arg os "$(. /etc/os-release && echo "$PRETTY_NAME")" \
    --rawfile materials <(materials) --rawfile subjects <(subjects) '
    def lines: split("\n")[] | select(. != "");
    { _type: "https://in-toto.io/Statement/v1",
      subject: [$subjects | lines | { name: .[66:], digest: { sha256: .[:64] } }],
      predicateType: "https://slsa.dev/provenance/v1",
      predicate: {
        buildDefinition: {
          buildType: "make release",
          externalParameters: { version: $version },
          internalParameters: { system: $os },
          resolvedDependencies: ([{ name: "sources", digest: { gitCommit: $revision } }] +
            [$materials | lines | split(" ") |
                if .[1] then { name: .[0], digest: { sha256: .[1] } } else { uri: .[0] } end]) },
        runDetails: {
          builder: { id: "deploy/release.sh" },
          metadata: { startedOn: $made, finishedOn: $made } } } }'
