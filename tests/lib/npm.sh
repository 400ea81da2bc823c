#!/bin/bash
# Installs the locked npm packages of a directory, once for each state of its
# lock file.  npm.sh DIRECTORY
set -eu
cd "$1"
cmp -s package-lock.json node_modules/.locked && exit 0
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
cp package-lock.json node_modules/.locked
