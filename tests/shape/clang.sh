#!/bin/bash
# Clang has nothing to say about any C file, and each header compiles alone (sources,
# which both compilers compile, include them all).
#   clang.sh "FLAGS" FILES
set -u
flags=$1
shift

# Silent when the file is clean.
compile() {
    # shellcheck disable=SC2086 # the flags are a list of words
    case $2 in
    *.h) gcc $1 -fsyntax-only -x c -include "$2" /dev/null ;;
    *) clang $1 -fsyntax-only "$2" ;;
    esac 2>&1
}

# What the compilers say about each file, then that it is not clean.
judge() {
    local said file
    for file in "$@"; do
        said=$(compile "$flags" "$file") && [ -z "$said" ] ||
            printf '%s\n%s: does not compile cleanly\n' "$said" "$file"
    done
}
export -f compile judge
export flags

said=$(printf '%s\0' "$@" | xargs -0 -n 32 -P "$(nproc)" bash -c 'judge "$@"' judge)
failed=$(grep -c ': does not compile cleanly$' <<<"$said")
[ -z "$said" ] || echo "$said"
echo "$(($# - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
