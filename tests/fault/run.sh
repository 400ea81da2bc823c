#!/bin/bash
# What must hold when things go wrong: the server is killed, a reader is slow.
# Each test is also shown to find what it looks for; for the crash test this is
# a server from the same sources whose flush does nothing. Compiler and options
# are those of the Makefile, BUILD says where the program was built.
set -u
cd "$(dirname "$0")/../.." || exit
program=$BUILD/kindex
flawed=$BUILD/noflush
passed=0
failed=0

# Runs one test, shows what it says, and adds its last line to the sums.
part() {
    local name=$1 output=$BUILD/fault.output line ok bad status
    shift
    echo "== $name"
    timeout --kill-after=10 200 "$@" >"$output" 2>&1 </dev/null
    status=$?
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$output" | tail -1)
    read -r ok _ bad _ <<<"${line:-0 passed, 1 failed}"
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + ok))
    failed=$((failed + bad))
    cat "$output"
}

# The words of $CC and the others are the Makefile's.
# shellcheck disable=SC2086
build_flawed() {
    local doors
    mkdir -p "$flawed"
    sed 's/env->db->log_flush(env->db, NULL)/0/' src/env.c >"$flawed/env.c"
    [ "$(diff src/env.c "$flawed/env.c" | grep -c '^>')" -eq 1 ] || return 1
    doors=$(printf "$BUILD/%s " api/*.c | sed 's/\.c /.o /g')
    $CC $STD $CFLAGS -Isrc -c -o "$flawed/env.o" "$flawed/env.c" &&
        $CC $CFLAGS $LINK -o "$flawed/kindex" $doors "$flawed/env.o" \
            "$BUILD/libkindex.a" $DOORLIBS $CORELIBS
}

# The crash test must fail because acknowledged commits are gone.
finds_lost_commits() {
    local said
    build_flawed || { echo 'the flawed server could not be built'; return 1; }
    if said=$(node tests/fault/kill.js "$flawed/kindex" 10); then
        echo 'a server that does not flush passed'
    elif ! grep -q 'not as acknowledged' <<<"$said"; then
        echo 'a server that does not flush failed for another reason'
    else
        grep -m 1 'not as acknowledged' <<<"$said"
        echo '1 passed, 0 failed'
        return 0
    fi
    echo "$said"
    return 1
}
export -f build_flawed finds_lost_commits
export flawed

part 'killed 60 times' node tests/fault/kill.js "$program" 60
part 'a flush that does nothing is found' bash -c finds_lost_commits
part 'wrong index entries are found' \
    node tests/fault/indexes-self-test.js "$program"
part 'a million entries, a slow reader' node tests/fault/stream.js "$program"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
