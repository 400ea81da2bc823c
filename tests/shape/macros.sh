#!/bin/bash
# Point 12: the list of statuses and that of the console's files, and what is
# handed to them, are the only function-like macros; uthash is told by macros what to do out of memory.
. tests/shape/lib.sh

grep -nE '^ *# *define +[A-Za-z_][A-Za-z_0-9]*\(' "${sources[@]}" |
    while IFS=: read -r file line text; do
        name=$(sed -E 's/^ *# *define +([A-Za-z_0-9]+)\(.*/\1/' <<<"$text")
        case $name in KX_STATUS_LIST | CONSOLE_FILES | uthash_*) continue ;; esac
        grep -qE "(KX_STATUS_LIST|CONSOLE_FILES)\($name\)" "$file" && continue
        echo "$file:$line: $name"
    done | blamed 12 "function-like macros beside the list" 0
