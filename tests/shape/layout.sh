#!/bin/bash
# Point 1: four folders and a few files at the top, nothing else.
. tests/shape/lib.sh

allowed=' Makefile src api openapi.yaml tests deploy Dockerfile README.md LICENSE '
ignored=' build kindex-data node_modules '

folders=$(for d in */; do
    case $ignored in *" ${d%/} "*) ;; *) echo "$d" ;; esac
done | wc -l)
row 1 "folders at the top" "$folders" 4 "$(within "$folders" 4)"

for entry in *; do
    case $ignored$allowed in
    *" $entry "*) ;;
    *) echo "$entry: does not belong at the top" ;;
    esac
done | blamed 1 "strangers at the top" 0

lines=$(wc -l <Makefile)
row 1 "lines of the Makefile" "$lines" 120 "$(within "$lines" 120)"

# What `make help` says is kept by hand.
for target in $(sed -n '/^\.PHONY/,$p' Makefile | sed 's/^\.PHONY://' | tr -d '\\'); do
    grep -q "^make $target  *[^ ]" deploy/help.sh || echo "$target: make help does not say what it does"
done | blamed 1 "targets without help" 0
