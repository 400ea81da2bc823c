#!/bin/sh
# Compiles targets of a tree so that they are the same wherever the tree is.
#   compile.sh TREE TARGETS...
set -eu
tree=$(realpath "$1")
shift
exec env -u MAKEFLAGS -u MAKELEVEL LC_ALL=C "${MAKE:-make}" -s -C "$tree" -j"${JOBS:-$(nproc)}" \
    "$@" BUILD=build CC=gcc CFLAGS="-O2 -g -ffile-prefix-map=$tree=."
