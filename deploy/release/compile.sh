#!/bin/sh
# Compiles targets of a tree so that they are the same wherever the tree is.
#   compile.sh TREE TARGETS...
# CROSS=arm64: for that architecture, by Debian's cross compiler.
set -eu
tree=$(realpath "$1")
shift
cc=gcc
[ "${CROSS:-}" != arm64 ] || cc=aarch64-linux-gnu-gcc
exec env -u MAKEFLAGS -u MAKELEVEL LC_ALL=C "${MAKE:-make}" -s -C "$tree" -j"${JOBS:-$(nproc)}" \
    "$@" BUILD=build CC=$cc CFLAGS="-O2 -g -ffile-prefix-map=$tree=."
