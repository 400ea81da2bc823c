#!/bin/sh
# Clang has nothing to say about any C file, and each header compiles alone
# with both compilers.
#   clang.sh "FLAGS" FILES
set -u
flags=$1
shift
passed=0
failed=0
for file in "$@"; do
    ok=yes
    # shellcheck disable=SC2086 # the flags are a list of words
    case $file in
    *.h)
        for compiler in gcc clang; do
            $compiler $flags -fsyntax-only -x c -include "$file" /dev/null \
                || ok=no
        done ;;
    *) clang $flags -fsyntax-only "$file" || ok=no ;;
    esac
    if [ $ok = yes ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$file: does not compile cleanly"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
