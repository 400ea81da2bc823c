# The manual page as the tools for such pages see it.
page=$work/kindex.1
"$BUILD/kindex" man >"$page"

linted() {
    mandoc -T lint -W warning "$1"
}
check 'mandoc has no warning' linted "$page"
formatted() {
    local said
    said=$(groff -man -ww -z -Tutf8 "$1" 2>&1) && [ -z "$said" ] ||
        { echo "$said"; return 1; }
}
check 'groff has no warning' formatted "$page"
{ cat "$page"; printf '.SH\n.XY nonsense\n\\fQx\n'; } >"$work/flawed.1"
refuses 'mandoc finds a flaw' linted "$work/flawed.1"
refuses 'groff finds a flaw' formatted "$work/flawed.1"
complete() {
    mandoc -T utf8 "$page" | sed 's/.\x08//g' >"$work/page"
    "$BUILD/kindex" serve --help | sed -nE 's/^  (--[a-z0-9-]+).*/\1/p' |
        while read -r flag; do
            grep -qE -- "^ +$flag( |$)" "$work/page" ||
                { echo "$flag is missing"; exit 1; }
        done
}
check 'the page has all options of the server' complete
