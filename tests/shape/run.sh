#!/bin/bash
# The shape of the code, measured: one row for each point, with its cap.
# Ends with "N passed, N failed"; below a row that failed stands what is to
# blame.
set -u
cd "$(dirname "$0")/../.."

checks='layout sizes seams complexity contracts fan-in rooms libraries symbols errors macros words readmes console flaws threats'
for check in $checks; do
    bash "tests/shape/$check.sh" || echo "row|?|$check.sh|exit $?|0|FAIL"
done 2>&1 | awk -F'|' '
    BEGIN { format = "%-5s %-54s %12s  %-10s %s\n"
            printf format, "point", "what", "measured", "cap", "" }
    $1 == "row" { printf format, $2, $3, $4, $5, $6
                  if ($6 == "ok") passed++; else failed++; next }
    $1 == "blame" { print "        " substr($0, 7); next }
    { print "        " $0 }
    END { printf "%d passed, %d failed\n", passed, failed; exit failed > 0 }'
