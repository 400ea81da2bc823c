#!/bin/bash
# Pictures of the console, by hand (screenshots.js): screenshots.sh [NAME]. BUILD says where
# the program was built; the pictures are in the folder screenshots there.
set -eu
cd "$(dirname "$0")/../.."
build=$(realpath "${BUILD:-build}")
tests/lib/npm.sh tests/console
. tests/lib/path.sh
KINDEX=$build/kindex node tests/console/screenshots.js "$build/screenshots" "$@"
