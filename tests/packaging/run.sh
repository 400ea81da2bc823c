#!/bin/bash
# The Debian package, the systemd unit, the manual page, the manifests: each
# check has a planted flaw that it must find. Nothing is installed and nothing
# needs root; tests/fresh/run.sh deb tries the package in a separate system.
# BUILD says where the program was built.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/path.sh
. tests/lib/sums.sh
BUILD=$(realpath "${BUILD:-build}")
export BUILD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# check SENTENCE COMMAND...: shows what a command that fails has said.
check() {
    local sentence=$1
    shift
    if ("$@") >"$work/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $sentence"
        reasons "$work/said" | sed 's/^/  /'
    fi
}

# refuses SENTENCE COMMAND...: the command must find something.
refuses() {
    local sentence=$1
    shift
    check "$sentence" not "$@"
}
not() {
    ! "$@"
}

. tests/packaging/deb.sh
. tests/packaging/unit.sh
. tests/packaging/syscalls.sh
. tests/packaging/manual.sh
. tests/packaging/libraries.sh
. tests/packaging/release.sh

debians_javascript() {
    [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" != bookworm ] ||
        [[ $(node --version)/$(npm --version) = v18.*/9.2.* ]]
}
check 'node and npm of the tests are those of Debian 12' debians_javascript

tests/lib/npm.sh tests/openapi
check 'image, compose file and Kubernetes manifests agree with the program' \
    node tests/packaging/manifests.js
check 'each check of image and manifests finds a planted flaw' \
    node tests/packaging/manifests.js --self-test
check 'compose file and manifests of several nodes agree with the program' \
    node tests/packaging/manifests_nodes.js
check 'each check of the manifests of several nodes finds a planted flaw' \
    node tests/packaging/manifests_nodes.js --self-test

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
