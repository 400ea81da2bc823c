#!/bin/bash
# What other tools find in the code. Each form ends with "N passed, N failed".
#
#   run.sh cppcheck   static analysis of src and api (part of `make test`)
#   run.sh tidy       that, and clang-tidy with .clang-tidy
#   run.sh tsan       unit tests, and stories that load the server, under the
#                     thread sanitizer. Not its deadlock detector: that reports
#                     Berkeley DB's own locks
#   run.sh valgrind   unit tests under memcheck
#
# The *.txt here say what is left out, and why. KX_ANALYSIS_ONLY="key_test"
# takes these unit tests only.
set -u
shopt -s lastpipe
cd "$(dirname "$0")/../.." || exit
here=tests/analysis
build=${BUILD:-build}
work=$build/analysis
passed=0
failed=0

# Its standard input is what a tool has to say: nothing is wanted.
verdict() {
    local said
    said=$(cat)
    if [ -z "$said" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '== %s\n%s\n' "$1" "$said"
    fi
}

cppcheck_sources() {
    mkdir -p "$work/cppcheck"
    cppcheck -q -j"$(nproc)" --enable=warning,performance,portability \
        --std=c11 --library=posix --cppcheck-build-dir="$work/cppcheck" \
        --suppressions-list=$here/cppcheck.txt --inline-suppr -D_GNU_SOURCE \
        -Isrc -Iapi --template='{file}:{line}: {severity} {id}: {message}' \
        "$@" 2>&1
}

# A flaw that the tool must see, so that its silence means something.
cppcheck_sees() {
    mkdir -p "$work/planted"
    printf 'int planted(void)\n{\n    int a[2] = {0};\n    return a[2];\n}\n' \
        >"$work/planted/planted.c"
    cppcheck_sources "$work/planted" | grep -q arrayIndexOutOfBounds ||
        echo 'it does not see an index out of bounds'
}

tidy_one() {
    clang-tidy --quiet "$1" -- -std=gnu11 -D_GNU_SOURCE -pthread -Isrc \
        -I"$2/api" 2>/dev/null
}
export -f tidy_one

# make TARGET...: another build, with the thread sanitizer
threads() {
    ${MAKE:-make} -s --no-print-directory -j"${JOBS:-2}" BUILD="$build/tsan" \
        HARDEN= CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=thread' "$@"
}

# programs DIRECTORY: the unit tests
programs() {
    local file
    for file in tests/unit/*_test.c tests/unit/api/*_test.c; do
        file=${file#tests/}
        file=${file%.c}
        [[ " ${KX_ANALYSIS_ONLY:-${file##*/}} " == *" ${file##*/} "* ]] &&
            echo "$1/$file"
    done
}

# sees WORDS FLAGS COMMAND...: a program with a race and a value that was never
# set, compiled with the flags and run by the command, must be told of.
sees() {
    local words=$1 flags=$2
    shift 2
    mkdir -p "$work/planted"
    cat >"$work/planted/run.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
static int shared;
static void *add(void *argument)
{
    for (int i = 0; i < 10000; i++)
        shared++;
    return argument;
}
int main(void)
{
    pthread_t thread;
    int *unset = malloc(sizeof *unset);
    pthread_create(&thread, NULL, add, NULL);
    add(NULL);
    pthread_join(thread, NULL);
    return *unset > 0 ? shared : 1;
}
END
    # shellcheck disable=SC2086 # a list of words
    gcc -O0 -g $flags -w -pthread -o "$work/planted/run" "$work/planted/run.c" &&
        "$@" "$work/planted/run" 2>&1 | grep -q "$words" ||
        echo 'it does not see what is planted'
}

case ${1:-} in
cppcheck | tidy)
    cppcheck_sources src api | verdict 'cppcheck'
    cppcheck_sees | verdict 'cppcheck sees what is planted'
    [ "$1" = cppcheck ] || for file in src/*.c api/*.c; do
        tidy_one "$file" "$build" | verdict "clang-tidy: $file"
    done ;;
tsan)
    export TSAN_OPTIONS="detect_deadlocks=0 exitcode=66 \
suppressions=$PWD/$here/tsan.txt"
    sees 'data race' -fsanitize=thread env | verdict 'a race is seen'
    mapfile -t tests < <(programs "$build/tsan")
    threads "${tests[@]}" 2>&1 | verdict 'the unit tests compile'
    for test in "${tests[@]}"; do
        "$test" 2>&1 </dev/null | grep -A 40 'WARNING: ThreadSanitizer' |
            verdict "${test##*/}"
    done
    [ -n "${KX_ANALYSIS_ONLY:-}" ] || {
        threads "$build/tsan/kindex" 2>&1 | verdict 'the server compiles'
        for story in 01-server 10-first-steps 40-atomic 45-kv-watch 46-watch \
                60-index-build 64-index-figures 65-conflicts 66-adopt \
                67-migration 68-verify 73-tokens 75-tls 85-backup; do
            BUILD=$build/tsan tests/http/run.sh "tests/http/$story.sh" 2>&1 |
                grep -v '^[0-9]* passed, 0 failed$' | verdict "$story"
        done
    } ;;
valgrind)
    sees 'uninitialised' '' valgrind -q | verdict 'a value not set is seen'
    mapfile -t tests < <(programs "$build")
    ${MAKE:-make} -s --no-print-directory -j"${JOBS:-2}" "${tests[@]}" 2>&1 |
        verdict 'the unit tests compile'
    for test in "${tests[@]}"; do
        valgrind -q --error-exitcode=66 --suppressions=$here/valgrind.txt \
            --leak-check=no "$test" 2>&1 </dev/null |
            grep -A 20 '^==[0-9]*== [A-Z]' | verdict "${test##*/}"
    done ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
