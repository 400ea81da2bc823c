#!/bin/bash
# Installs the locked npm packages of a directory, once for each state of its
# lock file; a second caller waits meanwhile.  npm.sh DIRECTORY
set -eu
cd "$1"
cmp -s package-lock.json node_modules/.locked && exit 0
exec 9<package-lock.json
flock 9
cmp -s package-lock.json node_modules/.locked && exit 0
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2 9<&-
cp package-lock.json node_modules/.locked
