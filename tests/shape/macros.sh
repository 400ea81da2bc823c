#!/bin/bash
# Point 12: the status list, and what is handed to it, are the only
# function-like macros; uthash is told by macros what to do out of memory.
. tests/shape/lib.sh

grep -nE '^ *# *define +[A-Za-z_][A-Za-z_0-9]*\(' "${sources[@]}" |
    while IFS=: read -r file line text; do
        name=$(sed -E 's/^ *# *define +([A-Za-z_0-9]+)\(.*/\1/' <<<"$text")
        case $name in KX_STATUS_LIST | uthash_*) continue ;; esac
        grep -q "KX_STATUS_LIST($name)" "$file" && continue
        echo "$file:$line: $name"
    done | blamed 12 "function-like macros beside the list" 0
