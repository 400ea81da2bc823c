#!/bin/bash
# Points 5 and 6: contracts in headers, how much is said in comments, and a
# first comment in every file.
. tests/shape/lib.sh

# Prototypes without a comment. A comment belongs to the lines that follow it
# without a blank one; a preprocessor line or the end of a type ends it.
undocumented() {
    ctags -x --languages=C --langmap=C:+.h --kinds-C=p --_xformat='%F %n %N' \
        "$@" | awk '
        FILENAME == "-" { prototypes[$1, $2] = $3; next }
        FNR == 1 { documented = inside = 0 }
        /^[ \t]*$/ || /^#/ || /^};/ { documented = 0; next }
        /\*\/[ \t]*$/ && (/^[ \t]*\/?\*/ || inside) { documented = 1 }
        /\/\*/ && !/\*\// { inside = 1 }
        /\*\// { inside = 0 }
        (FILENAME, FNR) in prototypes && !documented {
            print FILENAME ":" FNR ": " prototypes[FILENAME, FNR] \
                " has no contract" }
        ' - "$@"
}

prototypes() {
    ctags -x --languages=C --langmap=C:+.h --kinds-C=p --_xformat='%N' "$@" | wc -l
}

undocumented "${public[@]}" | blamed 5 "public prototypes without a contract" 0

mapfile -t inner < <(printf '%s\n' "${sources[@]}" | grep '\.h$' |
                     grep -vE '^src/kindex(/|\.h$)')
bare=$(undocumented "${inner[@]}")
count=$(prototypes "${inner[@]}")
without=$(grep -c . <<<"$bare")
share=$((count ? (count - without) * 100 / count : 100))
verdict=ok
[ $share -ge 95 ] || verdict=FAIL
row 5 "inner prototypes with a contract, % ($count)" $share ">= 95" $verdict
[ $verdict = ok ] || sed 's/^/blame|/' <<<"$bare"

# Lines with a comment to lines with code.
ratio=$(cat "${sources[@]}" | awk '
    {
        line = $0; code = 0; comment = inside
        gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
        while (line != "") {
            if (inside) {
                comment = 1
                if (!(at = index(line, "*/"))) break
                line = substr(line, at + 2); inside = 0
            } else {
                at = index(line, "/*")
                before = at ? substr(line, 1, at - 1) : line
                if (before ~ /[^ \t]/) code = 1
                if (!at) break
                line = substr(line, at + 2); inside = 1; comment = 1
            }
        }
        comments += comment; codes += code
    }
    END { printf "%.2f", codes ? comments / codes : 0 }')
verdict=$(awk -v r="$ratio" 'BEGIN { print (r >= 0.15 && r <= 0.30) ? "ok" : "FAIL" }')
row 6 "lines with comments to lines with code" "$ratio" "0.15-0.30" "$verdict"

# A file is one record here, so that its first bytes can be looked for.
grep -LzP '\A/\*' "${sources[@]}" |
    sed 's/$/: does not say what it is for/' |
    blamed 6 "files without a first comment" 0

grep -nE '\b(TODO|FIXME|XXX|HACK)\b' -r src api tests deploy Makefile \
    --include='*.[ch]' --include='*.sh' --include=Makefile \
    --exclude-dir=shape --exclude-dir=node_modules |
    blamed 6 "notes of unfinished work" 0
