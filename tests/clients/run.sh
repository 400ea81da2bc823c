#!/bin/bash
# The packages of api/clients, each by its run.sh here. BUILD says where the program
# was built. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")"
. ../lib/sums.sh
output=$(mktemp)
trap 'rm -f "$output"' EXIT
passed=0
failed=0
for package in */; do
    "./${package}run.sh" >"$output" 2>&1
    add_count $? "$output"
    echo "== ${package%/}: $ok passed, $bad failed"
    [ "$bad" -eq 0 ] || cat "$output"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
