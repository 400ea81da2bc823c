#!/bin/bash
# Runs every part of the test, one more at a time than there are processors, for
# they wait now and then; shows name, result and time of each, that of the
# processors as well, and ends with the sum: "N passed, N failed". A part is a make
# target; the last line "N passed, N failed" that it prints is its count. A part
# that fails, or that counts nothing, fails the whole; what it printed is shown, its
# end once more at the end of all, and kept in $BUILD/test-logs. With arguments:
# these parts.
#
# Unit tests and stories run under sanitizers here. With the optimized program
# that users get run some stories, and all that follows; `make unit` and
# `make http`, which are part of `make prove`, run all of them with it.
set -u
cd "$(dirname "$0")/.."
. tests/lib/path.sh
. tests/lib/spent.sh
export make=${MAKE:-make} jobs=${JOBS:-2} logs=${BUILD:-build}/test-logs
mkdir -p "$logs"

# Target, and what it shows. The longest come first: they are not left alone at
# the end. Each works on separate files once the programs are built. Those of faults
# go before the others where processors are short: a disk, a lease or a reader that is
# late is what they are about, and must not be late for another reason.
# fuzz-short finds the second compiler's warnings about src, api and tests/fuzz.
parts='
fault-server      killed and restarted, nothing acknowledged is lost
fault-nodes       nor when nodes end, freeze or are cut off
asan-http         the service over HTTP, under sanitizers
asan-unit         modules, under sanitizers
fuzz-short        what random input finds
openapi-check     openapi.yaml, routes and errors agree
http-broad        memory and the rough, optimized
http-postgresql   stories on the PostgreSQL engine
deno              unmodified Deno and @deno/kv programs
clients           the client packages against the service
console           the console in a real browser
instructions      instructions per request
packaging         the Debian package, its unit, the manual page
clang-rest        the second compiler has no warning about the rest
shape-self-test   each shape check finds a planted violation
quick-self-test   make quick finds a planted failure, in its room alone
http-self-test    a failing story or unit test is a failure, one that is late is not
cppcheck          static analysis has nothing to say
shape             layers, sizes, contracts
format-check      the code has one format
'
[ $# -eq 0 ] || parts=$(printf '%s\n' "$@")

# The count of a part, checked: read_count PART STATUS LOG sets ok and bad.
read_count() {
    local line
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$3" | tail -1)
    read -r ok _ bad _ <<<"${line:-0 passed, 0 failed}"
    if [ $((ok + bad)) -eq 0 ]; then
        bad=1
        echo "$1: ran no test (exit code $2)" >>"$3"
    elif [ "$2" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        echo "$1: exit code $2" >>"$3"
    fi
}

# run_part 'PART SHOWS': shows how it went, and leaves its count beside its log.
run_part() {
    local part shows ok bad spent started=$SECONDS mark=ok
    read -r part shows <<<"$1"
    local log=$logs/$part.log
    [[ $part = fault* ]] || renice -n 10 $BASHPID >/dev/null
    $make -s --no-print-directory -j"$jobs" "$part" >"$log" 2>&1 </dev/null
    read_count "$part" $? "$log"
    read_spent "$logs/$part.times"
    echo "$ok $bad" >"$logs/$part.count"
    [ "$bad" -eq 0 ] || mark=FAILED
    (
        flock 9
        printf '%-6s %-16s %-24s %4d s, %4d s of CPU  %s\n' $mark "$part" \
            "$ok passed, $bad failed" $((SECONDS - started)) "$spent" "$shows"
        if [ $mark = ok ]; then grep -E '^unsteady: ' "$log"; else sed 's/^/    /' "$log"; fi
    ) 9>"$logs/lock"
}
export -f run_part read_count read_spent

echo "building"
for target in all asan-all; do
    $make -s --no-print-directory -j"$jobs" $target </dev/null ||
        { echo "0 passed, 1 failed"; exit 1; }
done

rm -f "$logs"/*.count
sed '/^$/d' <<<"$parts" |
    xargs -d '\n' -n 1 -P $(($(nproc) + 1)) bash -c 'run_part "$1"' run_part
for count in "$logs"/*.count; do
    read -r _ bad <"$count"
    [ "$bad" -eq 0 ] || { echo "the end of ${count%.count}.log:" && tail -n 40 "${count%.count}.log"; }
done
read_spent "$logs/all.times"
echo "in $SECONDS s, $spent s of CPU"
cat "$logs"/*.count | awk -v parts="$(grep -c . <<<"$parts")" '
    { passed += $1; failed += $2 }
    END { failed += parts - NR; print passed " passed, " failed " failed"
          exit failed > 0 || passed == 0 }'
