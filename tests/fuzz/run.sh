#!/bin/bash
# Fuzzing with libFuzzer under the address and undefined behaviour sanitizers.
# Each file NAME.c here is a target, but for fuzz.c and house.c, which help them;
# corpus/NAME.txt is what it begins with.
#
#   run.sh short      each corpus, then more inputs made of it (below), and
#                     programs with a planted flaw, which must be found
#   run.sh fuzz       a million inputs for each target (`make fuzz`)
#   run.sh grow       adds to the corpora what that has found
#
# KX_FUZZ_SEED=n other inputs; KX_FUZZ_ONLY="key v8" these targets. What is found
# lies in found/ beside the programs, in $BUILD/fuzz or $BUILD/fuzz-short, and the
# command that repeats it is shown.
set -u
cd "$(dirname "$0")/../.." || exit
. tests/lib/path.sh
form=${1:-short}
top=${BUILD:-build}/fuzz
optimized=-O1
# To compile takes longer than so few inputs.
[ "$form" != short ] || { top=$top-short; optimized=-O0; }
seed=${KX_FUZZ_SEED:-20240229}
# NULL + 0 is no error any more (C2y), and an empty buffer has it.
sanitized="$optimized -g1 -fno-omit-frame-pointer
    -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize=pointer-overflow -fno-sanitize-recover=all"
read -r -d '' -a sanitized <<<"$sanitized" || true
clang=${CLANG:-clang}
passed=0
failed=0

# Target, and inputs of the short form.
targets='
key 10000
keytext 15000
json 10000
merge 10000
patch 10000
v8 10000
typed 10000
record 15000
cursor 10000
declaration 5000
jwt 10000
schema 10000
pattern 10000
framing 15000
message 1000
request 1000
wire 1000
steps 100
restore 100
'

chosen() {
    local name count
    while read -r name count; do
        [ -n "$name" ] && [[ " ${KX_FUZZ_ONLY:-$name} " == *" $name "* ]] &&
            echo "$name $count"
    done <<<"$targets"
}

# ---- Programs ---------------------------------------------------------------

# Everything but main.o, by the Makefile's own rules.
compile() {
    local objects=("$top/api/kvconnect/datapath.pb-c.o") file
    while read -r file; do
        [ "$file" = api/main.c ] || objects+=("$top/${file%.c}.o")
    done < <(find api -name '*.c')
    for file in tests/fuzz/*.c; do
        targets_of+=("$top/${file%.c}.o")
    done
    ${MAKE:-make} -s --no-print-directory -j"${JOBS:-2}" BUILD="$top" \
        CC="$clang" HARDEN= CFLAGS="${sanitized[*]}" \
        "$top/libkindex.a" "$top/tests/libtest.a" "${objects[@]}" "${targets_of[@]}" || return
    rm -f "$top/libdoors.a" "$top/libfuzz.a"
    ar rcs "$top/libdoors.a" "${objects[@]}" &&
        ar rcs "$top/libfuzz.a" "$top/tests/fuzz/fuzz.o" "$top/tests/fuzz/house.o"
}

# program NAME TO [OBJECT...]: the objects come before those of the same name.
# The lists of words are the Makefile's.
# shellcheck disable=SC2086
program() {
    local name=$1 to=$2
    shift 2
    $clang "${sanitized[@]/fuzzer-no-link/fuzzer}" $LINK -fuse-ld=gold -o "$to" \
        "$top/tests/fuzz/$name.o" "$@" -Wl,--start-group "$top/libfuzz.a" "$top/tests/libtest.a" \
        "$top/libdoors.a" "$top/libkindex.a" -Wl,--end-group $DOORLIBS $CORELIBS
}

programs() {
    local name
    while read -r name _; do
        [ "$top/$name" -nt "$top/libdoors.a" ] &&
            [ "$top/$name" -nt "$top/libfuzz.a" ] &&
            [ "$top/$name" -nt "$top/libkindex.a" ] &&
            [ "$top/$name" -nt "$top/tests/libtest.a" ] &&
            [ "$top/$name" -nt "$top/tests/fuzz/$name.o" ] ||
            program "$name" "$top/$name" || return
    done < <(chosen)
}

# ---- Runs --------------------------------------------------------------------

# fuzz PROGRAM RUNS DIRECTORY...: found inputs go to found/ beside the program
fuzz() {
    local program=$1 runs=$2 leaks=1
    shift 2
    # A look for leaks after an input does not see what Berkeley DB holds; the
    # one at the end, when the store is closed, is made all the same.
    grep -qE '"(house|store|index_run)\.h"' "tests/fuzz/${program##*/}.c" && leaks=0
    UBSAN_OPTIONS=print_stacktrace=1 nice "$program" -runs="$runs" \
        -seed="$seed" -max_len=4096 -timeout=120 -rss_limit_mb=2048 \
        -detect_leaks=$leaks -print_final_stats=1 -artifact_prefix="${program%/*}/found/" "$@" 2>&1
}

told() {
    sed -n "s/^stat::$1: *//p" "$top/output" | tail -1
}

verdict() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok      $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $1"
        grep -vE '^(stat::|INFO:|#[0-9]+)|^\s+#1?[0-9] .*fuzzer::' "$top/output" |
            tail -60
    fi
}

unpack() {
    node tests/fuzz/corpus.js unpack "tests/fuzz/corpus/$1.txt" "$top/corpus/$1"
}

# one NAME INPUTS
one() {
    local name=$1 begun=$SECONDS status inputs="$top/corpus/$1"
    unpack "$name"
    if [ "$form" = short ]; then
        fuzz "$top/$name" "$2" "$inputs" >"$top/output"
    else
        mkdir -p "$top/grown/$name"
        fuzz "$top/$name" 1000000 "$top/grown/$name" "$inputs" \
            >"$top/output"
    fi
    status=$?
    verdict "$name: $(told number_of_executed_units) inputs in \
$((SECONDS - begun)) s, seed $seed" $status
    [ $status -eq 0 ] ||
        sed -n "s|.*Test unit written to |again:  $top/$name |p" "$top/output"
}

# planted TARGET SOURCE SED-SCRIPT: a program in which one line is another one. The
# short form must find an input on which that program fails and the true one does not;
# which of their assertions, or of the sanitizers, speaks first is left open.
planted() {
    local target=$1 source=$2 to=$top/planted/$1
    [ -n "$(chosen | grep "^$target ")" ] || return
    rm -rf "$to/found"
    mkdir -p "$to/found"
    unpack "$target"
    sed "$3" "$source.c" >"$to/planted.c"
    if [ "$(diff "$source.c" "$to/planted.c" | grep -c '^>')" -ne 1 ]; then
        echo "nothing is planted in $source.c" >"$top/output"
        verdict "a flaw in $source.c is found" 1
        return
    fi
    $clang $STD "${sanitized[@]}" -Isrc -Iapi -I"$top/api" -c \
        -o "$to/planted.o" "$to/planted.c" >"$top/output" 2>&1 &&
        program "$target" "$to/$target" "$to/planted.o" >>"$top/output" 2>&1 &&
        tells_apart "$to/$target" "$top/$target"
    verdict "a flaw in $source.c is found" $?
}

# tells_apart FLAWED TRUE: the targets, by an input that the flawed one finds
tells_apart() {
    local input
    fuzz "$1" 200000 "$top/corpus/${2##*/}" >"$top/output"
    input=$(find "${1%/*}/found" -name 'crash-*' | head -1)
    [ -n "$input" ] && ! fuzz "$1" 1 "$input" >>"$top/output" &&
        fuzz "$2" 1 "$input" >>"$top/output"
}

# To the corpus of the tree: the smallest inputs that reach a branch which none
# before them has reached.
grow() {
    local name
    while read -r name _; do
        rm -rf "$top/least"
        mkdir -p "$top/grown/$name"
        node tests/fuzz/corpus.js unpack "tests/fuzz/corpus/$name.txt" \
            "$top/least"
        cp -r "$top/least/." "$top/corpus/$name"
        "$top/$name" -set_cover_merge=1 -use_counters=0 -max_len=300 "$top/least" \
            "$top/grown/$name" >"$top/output" 2>&1 || tail -5 "$top/output"
        node tests/fuzz/corpus.js pack "$top/least" \
            "tests/fuzz/corpus/$name.txt" "$top/corpus/$name"
        wc -lc "tests/fuzz/corpus/$name.txt"
    done < <(chosen)
}

mkdir -p "$top/found"
targets_of=()
compile >"$top/output" 2>&1 && programs >"$top/output" 2>&1
verdict 'the targets compile' $?
if [ $failed -eq 0 ] && [ "$form" = grow ]; then
    grow
elif [ $failed -eq 0 ]; then
    rm -f "$top/found/"*
    while read -r name count; do
        one "$name" "$count"
    done < <(chosen)
    while read -r name file script; do
        planted "$name" "$file" "$script"
    done < <(grep '^[a-z]' tests/fuzz/FLAWS)
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
