#!/bin/bash
# Point 8, by the linker: the names that the core shows, and that it stands
# without the libraries of HTTP. One name is a library's, which calls it
# (src/bdb/page_checksum.h). CORELIBS comes from the Makefile.
. tests/shape/lib.sh
archive=${BUILD:-build}/libkindex.a
: "${CORELIBS:?comes from the Makefile: make shape}"

nm -g --defined-only "$archive" | awk '
    /^[^ ]+\.o:$/ { file = $1; sub(/\.o:$/, "", file); next }
    NF == 3 && $3 !~ "^kx_" && $3 != "__ham_func4" {
        noun = file
        while ($3 != noun && $3 !~ "^" noun "_" && sub(/_[^_]*$/, "", noun)) { }
        if ($3 != noun && $3 !~ "^" noun "_")
            print "src/" file ".c: shows " $3
    }' |
    blamed 8 "names of the core without prefix" 0

program=$(mktemp)
trap 'rm -f "$program"' EXIT
# shellcheck disable=SC2086 # a list of words
echo 'int main(void) { return 0; }' |
    gcc -pthread -o "$program" -x c - -x none -Wl,--whole-archive "$archive" \
        -Wl,--no-whole-archive $CORELIBS 2>&1 | grep -E 'undefined|cannot find' |
    sed 's/.*\(undefined\|cannot\)/\1/; s/references to/reference to/; s/ follow$//' |
    sort -u |
    blamed 8 "missing when the core is linked alone" 0
