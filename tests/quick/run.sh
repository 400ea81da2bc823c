#!/bin/bash
# What changed since main, tried in under a minute: the format of the changed
# files, the shape of the code, and the unit tests and HTTP stories of the rooms
# that changed (tests/http/ROOMS says which stories those are). On main itself:
# what is not committed yet. The random tests and the slow stories are left to
# `make test`. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.."
. tests/lib/sums.sh
make=${MAKE:-make}
build=${BUILD:-build}
jobs=${JOBS:-2}

base=$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
mapfile -t changed < <({ git diff --name-only "$base" && git ls-files --others --exclude-standard; } |
    sort -u)
mapfile -t rooms < <(printf '%s\n' "${changed[@]}" |
    sed -nE 's#^(tests/unit/)?((src|api)/([a-z0-9]+/)+)[^/]+$#\2#p' | sed 's#/$##' | sort -u)

# The unit tests of the rooms, without those that try random data.
units() {
    local room
    for room in "${rooms[@]}"; do
        find "tests/unit/$room" -maxdepth 1 -name '*_test.c' ! -name '*random*' 2>/dev/null
    done | sed "s#^tests/#$build/#; s#\.c\$##" | sort -u
}

# The stories of the rooms, and those that changed themselves.
stories() {
    local room
    printf '%s\n' "${changed[@]}" | grep -E '^tests/http/[0-9][^/]*\.sh$'
    for room in "${rooms[@]}"; do
        sed -nE "s#^$room: *##p" tests/http/ROOMS | tr -s ' ' '\n' | sed 's#.*#tests/http/&.sh#'
    done
}

said=$(mktemp)
trap 'rm -f "$said"' EXIT
passed=0
failed=0
# part NAME COMMAND...: runs it, shows it if it fails, adds its count.
part() {
    local name=$1 ok bad
    shift
    "$@" >"$said" 2>&1 </dev/null
    add_count $? "$said"
    printf '%-6s %-10s %s passed, %s failed, %d s\n' \
        "$([ "$bad" -eq 0 ] && echo ok || echo FAIL)" "$name" "$ok" "$bad" $SECONDS
    [ "$bad" -eq 0 ] || cat "$said"
}

echo "changed since ${base:0:10}: ${rooms[*]:-no room}"
$make -s --no-print-directory -j"$jobs" all </dev/null || { echo "0 passed, 1 failed"; exit 1; }
mapfile -t sources < <(printf '%s\n' "${changed[@]}" | grep -E '\.[ch]$' | while read -r file; do
    [ ! -e "$file" ] || echo "$file"
done)
[ ${#sources[@]} -eq 0 ] || part format tests/shape/format.sh "${sources[@]}"
part shape $make -s --no-print-directory shape
mapfile -t programs < <(units)
if [ ${#programs[@]} -gt 0 ]; then
    $make -s --no-print-directory -j"$jobs" "${programs[@]}" </dev/null ||
        failed=$((failed + 1))
    part unit tests/unit/run.sh "${programs[@]}"
fi
mapfile -t scripts < <(stories | sort -u)
[ ${#scripts[@]} -eq 0 ] || part http tests/http/run.sh "${scripts[@]}"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
