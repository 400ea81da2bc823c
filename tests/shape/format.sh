#!/bin/sh
# The format of every C file is what clang-format makes of it.
#   format.sh FILES          says which differ
#   format.sh --write FILES  formats them
set -u
clang-format --version >/dev/null || exit 1
if [ "${1:-}" = --write ]; then
    shift
    exec clang-format -i "$@"
fi
differ=$(clang-format --dry-run "$@" 2>&1 |
    sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: .*clang-format-violations.*/\1/p' |
    sort -u)
failed=$(printf '%s' "$differ" | grep -c .)
[ -z "$differ" ] || printf '%s: make format would change it\n' $differ
echo "$(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
