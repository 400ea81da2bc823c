#!/bin/bash
# Point 11: every status of the one list has its line in api/problem.c, and no
# switch there has a default that could hide a missing one.
. tests/shape/lib.sh

sed -nE 's/^ *X\((KX_[A-Z_]+),.*/\1/p' src/kindex/status.h | while read -r status; do
    grep -qw "$status" api/problem.c || echo "api/problem.c: has no line for $status"
done | blamed 11 "statuses without a line in problem.c" 0

grep -nE '^ *default:' api/problem.c | sed 's/^/api\/problem.c:/' |
    blamed 11 "defaults in problem.c" 0
