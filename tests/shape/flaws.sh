#!/bin/bash
# Point 17: each flaw that the tests of faults and of fuzzing plant still changes one
# line, so that a change of that line is noticed here and not in an hour.
. tests/shape/lib.sh

# fits NAME FILE SED-SCRIPT
fits() {
    [ -e "$2" ] && [ "$(sed "$3" "$2" | diff "$2" - | grep -c '^>')" -eq 1 ] ||
        echo "$2: the flaw $1 does not change one line of it"
}

{
    grep '^[a-z]' tests/fault/FLAWS | while read -r _ name file script; do
        fits "$name" "src/$file.c" "$script"
    done
    grep '^[a-z]' tests/fuzz/FLAWS | while read -r name file script; do
        fits "$name" "$file.c" "$script"
    done
} | blamed 17 "flaws that plant nothing" 0
