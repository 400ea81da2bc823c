#!/bin/bash
# Runs every part of the test, two more at a time than there are processors, for
# they wait now and then; shows name, result and time of each, that of the
# processors as well, and ends with the sum: "N passed, N failed". A part is a make
# target; the last line "N passed, N failed" that it prints is its count. A part
# that fails, or that counts nothing, fails the whole; what it printed is shown and kept
# in $BUILD/test-logs, and the lines that say why come once more at the end of all. With
# arguments: these parts.
#
# Unit tests and stories run under sanitizers here. With the optimized program
# that users get run some stories, and all that follows; `make unit` and
# `make http`, which are part of `make prove`, run all of them with it.
set -u
cd "$(dirname "$0")/.."
. tests/lib/path.sh
. tests/lib/spent.sh
. tests/lib/sums.sh
export make=${MAKE:-make} jobs=${JOBS:-2} logs=${BUILD:-build}/test-logs
mkdir -p "$logs"

# Target, its minutes of one processor (measured on a machine with much other load; less
# without), and what it shows. With half an hour of one processor for all of them, two
# take a quarter of an hour; what is longer belongs into `make prove`. The longest come
# first: they are not left alone at the end. Each works on separate files once the
# programs are built. Those of faults go before the others where processors are short: a
# disk, a lease or a reader that is late is what they are about, and must not be late for
# another reason.
# fuzz-short finds the second compiler's warnings about src, api and tests/fuzz.
parts='
fault-server      3    killed and restarted, nothing acknowledged is lost
fault-nodes       2    nor when nodes end, freeze or are cut off
asan-http         8    the service over HTTP, under sanitizers
asan-unit         4    modules, under sanitizers
fuzz-short        2.5  what random input finds
console           2.5  the console in a real browser
clients           2    the client packages against the service
deno              1    unmodified Deno and @deno/kv programs
packaging         1.5  the Debian package, its unit, the manual page
http-broad        1    memory, and clients that hold what they get, optimized
http-postgresql-14 1   stories on the PostgreSQL engine, its oldest version
http-postgresql-18 1   the same on the newest
openapi-check     0.5  openapi.yaml, routes and errors agree
instructions      0.5  instructions per request
shape-self-test   1    each shape check finds a planted violation
clang-rest        0.5  the second compiler has no warning about the rest
cppcheck          0.5  static analysis has nothing to say
quick-self-test   0.2  make quick finds a planted failure, in its room alone
http-self-test    0.1  a failing story or unit test is a failure, one that is late is not
shape             0.1  layers, sizes, contracts
format-check      0.1  the code has one format
'
[ $# -eq 0 ] || parts=$(printf '%s - chosen\n' "$@")

# run_part 'PART MINUTES SHOWS': shows how it went, and leaves its count beside its log.
run_part() {
    local part minutes shows ok bad spent started=$SECONDS mark=ok
    read -r part minutes shows <<<"$1"
    local log=$logs/$part.log
    [[ $part = fault* ]] || renice -n 10 $BASHPID >/dev/null
    $make -s --no-print-directory -j"$jobs" "$part" >"$log" 2>&1 </dev/null
    read_count $? "$log"
    [ $((ok + bad)) -gt 0 ] || { bad=1 && echo "$part: ran no test" >>"$log"; }
    read_spent "$logs/$part.times"
    echo "$ok $bad" >"$logs/$part.count"
    [ "$bad" -eq 0 ] || mark=FAILED
    (
        flock 9
        printf '%-6s %-18s %-24s %4d s, %4d s of CPU (%s min)  %s\n' $mark "$part" \
            "$ok passed, $bad failed" $((SECONDS - started)) "$spent" "$minutes" "$shows"
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
    xargs -d '\n' -n 1 -P $(($(nproc) + 2)) bash -c 'run_part "$1"' run_part
for count in "$logs"/*.count; do
    read -r _ bad <"$count"
    [ "$bad" -eq 0 ] || { echo "${count%.count}.log:" && reasons "${count%.count}.log"; }
done
read_spent "$logs/all.times"
echo "in $SECONDS s, $spent s of CPU"
cat "$logs"/*.count | awk -v parts="$(grep -c . <<<"$parts")" '
    { passed += $1; failed += $2 }
    END { failed += parts - NR; print passed " passed, " failed " failed"
          exit failed > 0 || passed == 0 }'
