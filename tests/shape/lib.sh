# For the checks of this folder. A check runs in the root of the tree and
# prints one row for each thing it measures, and what is to blame.

# The C files below src and api: all, of each folder, and the public headers.
mapfile -t sources < <(find src api -name '*.[ch]' | LC_ALL=C sort)
mapfile -t core < <(printf '%s\n' "${sources[@]}" | grep '^src/')
mapfile -t doors < <(printf '%s\n' "${sources[@]}" | grep '^api/')
mapfile -t public < <(printf '%s\n' "${core[@]}" | grep -E '^src/kindex(/|\.h$)')
mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep '\.c$')

# row POINT NAME MEASURED CAP ok|FAIL
row() {
    printf 'row|%s|%s|%s|%s|%s\n' "$@"
}

# Lines on standard input name what breaks a rule: a row that counts them, and
# fails when there are more than CAP.  blamed POINT NAME CAP
blamed() {
    local found count verdict
    found=$(cat)
    count=$(grep -c . <<<"$found")
    verdict=$(within "$count" "$3")
    row "$1" "$2" "$count" "$3" "$verdict"
    [ "$verdict" = ok ] || sed 's/^/blame|/' <<<"$found"
}

# Numbers on standard input: "median p90 max count".
spread() {
    sort -n | awk '{ a[NR] = $1 } END {
        p = int(NR * 0.9); if (p < NR * 0.9) p++
        print a[int((NR + 1) / 2)] + 0, a[p] + 0, a[NR] + 0, NR }'
}

# within "MEASURED..." "CAP...": ok when no number is over its cap
within() {
    awk -v m="$1" -v c="$2" 'BEGIN {
        n = split(m, a, " "); split(c, b, " ")
        for (i = 1; i <= n; i++) if (i in b && a[i] > b[i]) { print "FAIL"; exit }
        print "ok" }'
}
