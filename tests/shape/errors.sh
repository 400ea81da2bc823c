#!/bin/bash
# Point 11: every status of the one list has its row in the table of
# api/problem.c.
. tests/shape/lib.sh

sed -nE 's/^ *X\((KX_[A-Z_]+),.*/\1/p' src/kindex/status.h | while read -r status; do
    grep -q "^    \[$status\] = PROBLEM_" api/problem.c ||
        echo "api/problem.c: has no line for $status"
done | blamed 11 "statuses without a line in problem.c" 0
