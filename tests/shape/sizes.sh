#!/bin/bash
# Points 2 and 3: lines of large files and of functions, parameters, nesting.
. tests/shape/lib.sh

# Lines "file line length parameters name" of all functions.
functions() {
    ctags -x --languages=C --kinds-C=f --_xformat='%F|%n|%{end}|%N|%S' \
        "${sources[@]}" | awk -F'|' '{
            depth = 0; n = ($5 == "()" || $5 ~ /^\( *void *\)$/) ? 0 : 1
            for (i = 1; i <= length($5); i++) {
                c = substr($5, i, 1)
                if (c == "(") depth++
                if (c == ")") depth--
                if (c == "," && depth == 1) n++
            }
            print $1, $2, $3 - $2 + 1, n, $4 }'
}

# A file is one noun with all it does, however many lines that takes. Beyond 900
# lines its opening comment says why it is one thing ("One file because ...").
wc -l "${units[@]}" | awk '$2 != "total" && $1 > 900 { print $2 }' |
    while read -r file; do
        head -n 30 "$file" | grep -q 'One file because' || echo "$file: more than 900 lines"
    done |
    blamed 2 "files of more than 900 lines that do not say why" 0

all=$(functions)
read -r median p90 max count < <(awk '{ print $3 }' <<<"$all" | spread)
row 3 "lines of functions: median, p90, max ($count)" "$median $p90 $max" \
    "13 36 60" "$(within "$median $p90 $max" "13 36 60")"
awk '$3 > 60 { print "blame|" $1 ":" $2 ": " $5 " has " $3 " lines" }' <<<"$all"

# What libmicrohttpd and nghttp2 call has the parameters that they want.
awk '$4 > 5 { print $1 ":" $2 ": " $5 " has " $4 " parameters" }' <<<"$all" |
    while IFS= read -r found; do
        IFS=: read -r file line _ <<<"$found"
        sed -n "${line}p" "$file" | grep -qE \
            '^static (enum MHD_Result |[a-z_]+ [a-z_]+\(nghttp2_session )' ||
            echo "$found"
    done |
    blamed 3 "functions with more than 5 parameters" 0

# clang-format is a gate, so the indentation tells the nesting: a control
# statement at the fifth stop is the fourth inside another.
awk '/^                 *(if|for|while|do|switch) *[({]/ {
         print FILENAME ":" FNR ": nested deeper than 3" }' \
    "${sources[@]}" | blamed 3 "nesting deeper than 3" 0
