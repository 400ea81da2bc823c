#!/bin/sh
# The format of every C file is what clang-format makes of it.
#   format.sh FILES          says which differ
#   format.sh --write FILES  mends them
set -u
if [ "${1:-}" = --write ]; then
    shift
    exec clang-format -i "$@"
fi
passed=0
failed=0
for file in "$@"; do
    if clang-format --dry-run --Werror "$file" 2>/dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$file: make format would change it"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
