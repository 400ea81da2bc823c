#!/bin/sh
# Prints the compilation database that editors and clangd read: how each of the
# given C files is compiled.
#   compile_commands.sh "COMPILER FLAGS" FILE...
set -eu
flags=$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')
shift
separator='['
for file in "$@"; do
    printf '%s\n{"directory": "%s", "file": "%s", "command": "%s -c %s"}' \
        "$separator" "$PWD" "$file" "$flags" "$file"
    separator=,
done
printf '\n]\n'
