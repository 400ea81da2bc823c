#!/bin/bash
# Installs the locked npm packages, once for each state of the lock file.
set -eu
cd "$(dirname "$0")"
cmp -s package-lock.json node_modules/.locked && exit 0
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
cp package-lock.json node_modules/.locked
