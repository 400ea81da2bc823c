#!/bin/bash
# Packs the npm package kindex-server: the sources of api/clients/server with the
# programs of Debian packages.
#   npm_server.sh DIRECTORY NODE_ARCHITECTURE=PROGRAM...
# Prints the name of the package, which is then in DIRECTORY.
set -eu
cd "$(dirname "$0")/../.."
out=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp api/clients/server/*.js* api/clients/server/*.ts api/clients/server/README.md "$work"
chmod 755 "$work/command.js"
for program in "$@"; do
    install -D -m 755 "${program#*=}" "$work/programs/linux-${program%%=*}"
done
cd "$work"
npm pack --silent --pack-destination "$out"
