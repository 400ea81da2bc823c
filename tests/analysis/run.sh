#!/bin/bash
# What other tools find in the code. Each form ends with "N passed, N failed".
#
#   run.sh cppcheck   static analysis of src and api (part of `make test`)
#   run.sh tidy       that, and clang-tidy with .clang-tidy
#   run.sh tsan       all unit tests and stories (tests/http) under the thread
#                     sanitizer. Not its deadlock detector: that reports
#                     Berkeley DB's own locks
#   run.sh valgrind   the same under memcheck: what is lost at the end counts
#
# The *.txt here say what is left out, and why. KX_ANALYSIS_ONLY="key_test
# 60-index-build" takes these tests only. A report of any process counts, also of
# those that a story starts and looks no further at; they lie in $BUILD/analysis.
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

# Flaws that the tools must see, so that their silence means something.
plant() {
    mkdir -p "$work/planted"
    cat >"$work/planted/planted.c" <<'END'
#include <stdlib.h>
int planted(char *block)
{
    int pair[2] = {0};
    free(block);
    return *block + pair[2];
}
END
}

cppcheck_sees() {
    plant
    cppcheck_sources "$work/planted" | grep -q arrayIndexOutOfBounds ||
        echo 'it does not see an index out of bounds'
}

# tidy DIRECTORY BUILD FILE: leaves what clang-tidy says in DIRECTORY, and what
# it was said of, so that it is not asked again of what is still the same.
tidy() {
    local to=$1/${3//\//_} flags sum
    flags="-std=gnu11 -D_GNU_SOURCE -pthread -Isrc -Iapi -I$2/api"
    # shellcheck disable=SC2086 # a list of words
    sum=$({ cat .clang-tidy && clang -E -C $flags "$3"; } 2>/dev/null | sha256sum)
    [ "$sum" != "$(cat "$to.sum" 2>&1)" ] || return 0
    # shellcheck disable=SC2086
    clang-tidy --quiet "$3" -- $flags >"$to" 2>/dev/null
    [ $? -gt 1 ] || echo "$sum" >"$to.sum"
}
export -f tidy

tidy_sources() {
    local file to=$work/tidy
    ${MAKE:-make} -s --no-print-directory "$build/api/kvconnect/datapath.pb-c.h" 2>&1 |
        verdict 'a header is made'
    mkdir -p "$to"
    plant
    rm -f "$to/"*planted.c*
    tidy "$to" "$build" "$work/planted/planted.c"
    { grep -q unix.Malloc "$to/"*planted.c ||
        echo 'it does not see a use of what was freed'; } |
        verdict 'clang-tidy sees what is planted'
    find src api -name '*.c' -print0 | xargs -0 -n 1 -P "${JOBS:-2}" \
        bash -c 'tidy "$0" "$1" "$2"' "$to" "$build"
    for file in $(find src api -name '*.c' | sort); do
        verdict "clang-tidy: $file" <"$to/${file//\//_}"
    done
}

# make TARGET...: another build, with the thread sanitizer
threads() {
    ${MAKE:-make} -s --no-print-directory -j"${JOBS:-2}" BUILD="$build/tsan" \
        HARDEN= CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=thread' "$@"
}

# tests FILE...: those that are wanted
tests() {
    local file name
    for file in "$@"; do
        name=$(basename "${file%.*}")
        [[ " ${KX_ANALYSIS_ONLY:-$name} " == *" $name "* ]] && echo "$file"
    done
}

# wrapper PROGRAM TO: a program that is the other one under memcheck. Where
# KX_BARE is said, only its servers are, and so where the standard output is
# closed: the report would come in its place.
wrapper() {
    cat >"$2" <<END
#!/bin/sh
{ [ -z "\${KX_BARE-}" ] && [ -e /proc/self/fd/1 ]; } || [ "\$1" = serve ] ||
    exec "$(realpath "$1")" "\$@"
[ -w /tmp ] || export TMPDIR="\${KX_REPORT%/*}" # of another user
[ -z "\${KX_PRELOAD-}" ] || export LD_PRELOAD=\$KX_PRELOAD
exec $UNDER "$(realpath "$1")" "\$@"
END
    chmod +x "$2"
}

# observe DIRECTORY TEST: a story, or else a program. Leaves what it says, and
# a file of each process that has something to report, in DIRECTORY/NAME.
observe() {
    local to verdict begun=$SECONDS
    to=$1/$(basename "${2%.sh}")
    mkdir -p "$to"
    chmod 1777 "$to" # 88 starts servers of another user
    # Two that are slow do not shake hands within the ten seconds of a command.
    [[ $UNDER != valgrind* || $2 != */75-tls.sh ]] || export KX_BARE=yes
    # There the library panics, and frees nothing after that.
    [[ ! $2 =~ /(87-promote.sh|87-archive-sync.sh|88-damage.sh|78-disk-floor.sh|failed_sync_test|directory_read_fails_test|open_with_failing_calls_test)$ ]] ||
        export VALGRIND_OPTS=--suppressions=$PWD/tests/analysis/panic.txt
    KX_REPORT=$(realpath "$to")/report # some stories change the directory
    export KX_REPORT TSAN_OPTIONS="$TSAN_OPTIONS log_path=$KX_REPORT"
    if [[ $2 == *.sh ]]; then
        timeout --kill-after=10 $((KX_LIMIT * 4)) bash "$2" >"$to/said" 2>&1 </dev/null
        verdict=$(tail -n 1 "$to/said")
    else
        # shellcheck disable=SC2086 # a list of words
        timeout --kill-after=10 $((KX_LIMIT * 4)) $UNDER "$2" >"$to/said" 2>&1 </dev/null && verdict='1 passed, 0 failed'
    fi
    find "$to" -name 'report*' -empty -delete
    echo "${verdict:-0 passed, 1 failed}" >"$to/verdict"
    echo "$(basename "$to"): $(cat "$to/verdict"), $((SECONDS - begun)) s"
}
export -f observe

# found DIRECTORY: what is to say of a test that was observed
found() {
    local reports=("$1/report"*)
    [ ! -e "${reports[0]}" ] || head -n 60 "${reports[@]}"
    grep -q '^[1-9][0-9]* passed, 0 failed$' "$1/verdict" ||
        tail -n 60 "$1/said"
}

# everything DIRECTORY TEST...: all of them, some beside each other
everything() {
    local to=$1 test name
    shift
    printf '%s\0' "$@" |
        xargs -0 -n 1 -P "${JOBS:-2}" bash -c 'observe "$0" "$1"' "$to"
    for test in "$@"; do
        name=$(basename "${test%.sh}")
        found "$to/$name" | verdict "$name"
    done
}

# sees FLAGS WORDS...: a program with a race, a value that was never set and a
# block that it loses, run by a story that does not look at it, must be told of.
sees() {
    local flags=$1 words to=$work/planted
    shift
    rm -rf "$to"
    mkdir -p "$to"
    printf '"$KINDEX"\necho "1 passed, 0 failed"\n' >"$to/story.sh"
    cat >"$to/run.c" <<'END'
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
    gcc -O0 -g $flags -w -pthread -o "$to/run" "$to/run.c"
    wrapper "$to/run" "$to/wrapper"
    KINDEX=$to/wrapper observe "$to" "$to/story.sh" >"$to/line"
    for words in "$@"; do
        found "$to/story" | grep -q "$words" || echo "it does not see: $words"
    done
}

# A tool makes a program slow, and large. patiently FORM
patiently() {
    local to=$work/$1
    export KX_PATIENCE=${KX_PATIENCE:-900} KX_LIMIT=${KX_LIMIT:-1500} KX_TIMES=20
    export KX_SHARE=${KX_SHARE:-20}
    rm -rf "$to"
    mkdir -p "$to"
    KINDEX=$(realpath "$to")/kindex
    export KINDEX
    mapfile -t stories < <(tests tests/http/[0-9]*.sh)
    # shellcheck disable=SC2046 # a list of names
    mapfile -t units < <(tests $(find tests/unit -name '*_test.c' | sort))
    units=("${units[@]#tests/}")
    units=("${units[@]%.c}")
}

case ${1:-} in
cppcheck | tidy)
    cppcheck_sources src api | verdict 'cppcheck'
    cppcheck_sees | verdict 'cppcheck sees what is planted'
    [ "$1" = cppcheck ] || tidy_sources ;;
tsan)
    patiently tsan
    export UNDER=env TSAN_OPTIONS="detect_deadlocks=0 exitcode=66 history_size=7 \
suppressions=$PWD/$here/tsan.txt"
    sees -fsanitize=thread 'data race' | verdict 'a race is seen'
    threads "$build/tsan/kindex" "${units[@]/#/$build/tsan/}" 2>&1 |
        verdict 'it compiles'
    wrapper "$build/tsan/kindex" "$KINDEX"
    everything "$work/tsan" "${stories[@]}" "${units[@]/#/$build/tsan/}" ;;
valgrind)
    patiently valgrind
    export TSAN_OPTIONS='' UNDER="valgrind -q --error-exitcode=66 \
--fair-sched=yes --num-callers=30 --leak-check=full \
--show-leak-kinds=definite --errors-for-leak-kinds=definite \
--suppressions=$PWD/$here/valgrind.txt --log-file=%q{KX_REPORT}.%p"
    sees '' uninitialised 'definitely lost' | verdict 'what is planted is seen'
    ${MAKE:-make} -s --no-print-directory -j"${JOBS:-2}" "$build/kindex" \
        "${units[@]/#/$build/}" 2>&1 | verdict 'it compiles'
    wrapper "$build/kindex" "$KINDEX"
    gcc -shared -fPIC -w -D_GNU_SOURCE -o "$work/again.so" $here/again.c 2>&1 | verdict 'what begins again compiles'
    export KX_PRELOAD=$PWD/$work/again.so KX_AGAIN=$KINDEX KX_PARTIAL=yes
    everything "$work/valgrind" "${stories[@]}" "${units[@]/#/$build/}" ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
