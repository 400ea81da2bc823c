#!/bin/bash
# Point 4: cyclomatic complexity of functions.
. tests/shape/lib.sh

# Lines "complexity file line name".
all=$(pmccabe "${units[@]}" | awk -F'\t' '{
    split($6, at, "[(]"); sub(/[)].*/, "", at[2]); sub(/^.*: */, "", $6)
    print $1, at[1], at[2], $6 }')

read -r median p90 max count < <(awk '{ print $1 }' <<<"$all" | spread)
row 4 "complexity: p90, max ($count)" "$p90 $max" "6 12" \
    "$(within "$p90 $max" "6 12")"
awk '$1 > 12 { print "blame|" $2 ":" $3 ": " $4 " has complexity " $1 }' <<<"$all"
