#!/bin/bash
# Point 15: each room has a README.md of at most 60 lines, unless it is a chapter
# for users as well, and the one at the top has at most 250. A tag of a struct,
# an enum or a union names one thing in the tree.
. tests/shape/lib.sh

for tree in src api; do
    sed -E '/^#/d; s/:.*//' $tree/ROOMS | while read -r room; do
        file=$tree/$room/README.md
        case $file in
        src/indexes/*) cap=220 ;;
        api/rest/*) cap=110 ;;
        src/backup/* | api/access/*) cap=75 ;;
        *) cap=60 ;;
        esac
        [ -e "$file" ] || { echo "$file: does not exist"; continue; }
        lines=$(wc -l <"$file")
        [ "$lines" -le "$cap" ] || echo "$file: has $lines lines, more than $cap"
    done
done | blamed 15 "rooms without a README, or with a long one" 0

lines=$(wc -l <README.md)
row 15 "lines of README.md" "$lines" 250 "$(within "$lines" 250)"

# A test may call its own struct as another test does, but not as src or api do.
mapfile -t helpers < <(find tests -name node_modules -prune -o -name '*.[ch]' -print)
ctags -x --languages=C --langmap=C:+.h --kinds-C=sgu --_xformat='%N %F:%n' "${sources[@]}" "${helpers[@]}" |
    grep -v '^__anon' | LC_ALL=C sort | awk '
        $1 == tag && at !~ /^tests/ { print at ": " tag " is also at " $2; next }
        { tag = $1; at = $2 }' |
    blamed 15 "tags of structs, enums and unions with two meanings" 0
