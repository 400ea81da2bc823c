#!/bin/bash
# The packages of api/clients, each by its run.sh here. BUILD says where the program
# was built. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")"
passed=0
failed=0
for package in */; do
    output=$("./${package}run.sh" 2>&1)
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' <<<"$output" | tail -1)
    read -r ok _ bad _ <<<"${line:-0 passed, 1 failed}"
    passed=$((passed + ok))
    failed=$((failed + bad))
    echo "== ${package%/}: $ok passed, $bad failed"
    [ "$bad" -eq 0 ] || echo "$output"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
