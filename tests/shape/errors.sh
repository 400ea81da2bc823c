#!/bin/bash
# Point 11: every status of the one list has its row in the table of
# api/http/problem.c, and the hints of the command line are for codes of that table.
. tests/shape/lib.sh

sed -nE 's/^ *X\((KX_[A-Z_]+),.*/\1/p' src/kindex/status.h | while read -r status; do
    grep -q "^    \[$status\] = PROBLEM_" api/http/problem.c ||
        echo "api/http/problem.c: has no line for $status"
done | blamed 11 "statuses without a line in problem.c" 0

grep -oE '^        \{"[a-z-]+",' api/cli/cli_http.c | tr -d ' {",' | while read -r code; do
    grep -q "{\"$code\"," api/http/problem.c ||
        echo "api/cli/cli_http.c: has a hint for $code, which is no code"
done | blamed 11 "hints of the command line for no code" 0
