#!/bin/bash
# Clang has nothing to say about any C file, and each header compiles alone
# with both compilers.
#   clang.sh "FLAGS" FILES
set -u
flags=$1
shift

# Silent when the file is clean.
compile() {
    # shellcheck disable=SC2086 # the flags are a list of words
    case $2 in
    *.h)
        gcc $1 -fsyntax-only -x c -include "$2" /dev/null
        clang $1 -fsyntax-only -x c -include "$2" /dev/null ;;
    *) clang $1 -fsyntax-only "$2" ;;
    esac 2>&1
}

# What the compilers say about one file, then that it is not clean.
judge() {
    local said
    said=$(compile "$flags" "$1") && [ -z "$said" ] ||
        printf '%s\n%s: does not compile cleanly\n' "$said" "$1"
}
export -f compile judge
export flags

said=$(printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" bash -c 'judge "$0"')
failed=$(grep -c ': does not compile cleanly$' <<<"$said")
[ -z "$said" ] || echo "$said"
echo "$(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
