#!/bin/bash
# Point 1: four folders and a few files at the top, nothing else. What git does
# not track is not looked at; without git everything is.
. tests/shape/lib.sh

allowed=' Makefile src api openapi.yaml tests deploy Dockerfile README.md LICENSE '
ignored=' build kindex-data node_modules '

# Files and folders at the top, of which folders end with a slash.
top() {
    local tracked
    tracked=$(git ls-files 2>/dev/null | sed 's|/.*|/|; /^\./d' | sort -u)
    if [ -n "$tracked" ]; then echo "$tracked"; else ls -p; fi |
        while read -r entry; do
            case $ignored in *" ${entry%/} "*) ;; *) echo "$entry" ;; esac
        done
}

folders=$(top | grep -c /)
row 1 "folders at the top" "$folders" 4 "$(within "$folders" 4)"

top | while read -r entry; do
    case $allowed in
    *" ${entry%/} "*) ;;
    *) echo "${entry%/}: does not belong at the top" ;;
    esac
done | blamed 1 "strangers at the top" 0

lines=$(wc -l <Makefile)
row 1 "lines of the Makefile" "$lines" 130 "$(within "$lines" 130)"

# What `make help` says is kept by hand.
for target in $(sed -n '/^\.PHONY/,$p' Makefile | sed 's/^\.PHONY://' | tr -d '\\'); do
    grep -q "^make $target  *[^ ]" deploy/help.sh || echo "$target: make help does not say what it does"
done | blamed 1 "targets without help" 0
