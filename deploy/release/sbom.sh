#!/bin/bash
# Prints what the built program is made of, as SPDX 2.3: the shared libraries that it
# needs, and what is compiled into it.
#   sbom.sh PROGRAM VERSION REVISION
set -eu
cd "$(dirname "$0")/../.."
. deploy/release/libraries.sh
program=$1 version=$2 revision=$3

# Lines "relation package version source".
parts() {
    packages_of "$program" | sed 's/^/DYNAMIC_LINK /'
    dpkg-query -W -f 'STATIC_LINK ${Package} ${Version} ${source:Package}\n' \
        "libmicrohttpd-dev:$(dpkg --print-architecture)" uthash-dev | LC_ALL=C sort
}

parts | jq -R -s --arg version "$version" --arg revision "$revision" \
    --arg created "$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)" \
    --arg architecture "$(dpkg --print-architecture)" '
    [split("\n")[] | select(. != "") | split(" ") |
        { relation: .[0], name: .[1], version: .[2], source: .[3] }] as $parts |
    def id: "SPDXRef-Package-" + gsub("[^A-Za-z0-9.-]"; "-");
    { spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT",
      name: "kindex-\($version)-\($architecture)",
      documentNamespace: "https://kindex.example/spdx/\($version)-\($architecture)-\($revision)",
      creationInfo: { created: $created, creators: ["Tool: kindex-release"] },
      packages: ([{ SPDXID: ("kindex" | id), name: "kindex", versionInfo: $version,
          downloadLocation: "NOASSERTION", filesAnalyzed: false, sourceInfo: "git \($revision)",
          licenseConcluded: "MIT", licenseDeclared: "MIT", copyrightText: "NOASSERTION" }] +
        [$parts[] | { SPDXID: (.name | id), name: .name, versionInfo: .version,
          downloadLocation: "NOASSERTION", filesAnalyzed: false,
          sourceInfo: "Debian source package \(.source)", supplier: "Organization: Debian",
          licenseConcluded: "NOASSERTION", licenseDeclared: "NOASSERTION",
          copyrightText: "NOASSERTION",
          externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl",
            referenceLocator: ("pkg:deb/debian/\(.name)@\(.version | @uri)?arch=\($architecture)") }] }]),
      relationships: ([{ spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES",
          relatedSpdxElement: ("kindex" | id) }] +
        [$parts[] | { spdxElementId: ("kindex" | id), relationshipType: .relation,
          relatedSpdxElement: (.name | id) }]) }'
