#!/bin/bash
# Measures which lines and branches of src and api unit tests, stories and tests of faults run,
# by room, in a separate build (gcov). Ends with "N passed, N failed", which counts the parts and
# the rooms that have a minimum (rooms.js).
#
# Runs only those tests of faults whose processes end by themselves, because a process that such
# a test kills writes no counts. KX_COVER_PARTS lists the parts to run ("unit"; "": none). Counts
# of earlier runs stay until the build is removed. `node tests/cover/rooms.js build/cover src/plan`
# lists each line and branch of a room that nothing has run.
set -u
cd "$(dirname "$0")/../.." || exit
. tests/lib/path.sh
. tests/lib/sums.sh
top=${BUILD:-build}/cover
passed=0
failed=0
# A program that counts is slower, and merges its counts into files when it ends.
export KX_PATIENCE=${KX_PATIENCE:-300} KX_LIMIT=${KX_LIMIT:-900}
export KX_FAULT_ONLY=${KX_FAULT_ONLY:-^each allocation|^[0-9]+ schedules}
mkdir -p "$top"

counting() {
    ${MAKE:-make} -s --no-print-directory -j"${JOBS:-2}" BUILD="$top" HARDEN= \
        CFLAGS='-O0 -g --coverage -fprofile-update=atomic' "$@" >"$top/output" 2>&1 </dev/null
}

# Only the server has killed.c, and stories end it by its signal in place of KILL.
export KX_KILL=-RTMIN+5
counting "$top/tests/cover/killed.o" "$top/libkindex.a" &&
    counting LINK="$LINK $top/tests/cover/killed.o" "$top/kindex" ||
    { cat "$top/output" && echo '0 passed, 1 failed' && exit 1; }
for part in ${KX_COVER_PARTS-unit http fault-server}; do
    counting "$part"
    add_count $? "$top/output"
    [ "$bad" -eq 0 ] || reasons "$top/output"
    echo "$part: $ok passed, $bad failed"
done
node tests/cover/rooms.js "$top" >"$top/rooms"
status=$?
cat "$top/rooms"
add_count $status "$top/rooms"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
