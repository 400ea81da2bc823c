# Functions for stories about data of an earlier program: tests/data/$version.tar.gz, made
# by tests/http/upgrade_data.js.
#
#   unpack                unpacks it into $old
#   same_answers FILE     checks that the server answers what that program answered
#   proves WHAT VERSION   the case so far has shown it: deploy/compatibility.md has its row
#   wrong                 prints the names of indexes in which a verification finds damage
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../http" && pwd)

unpack() {
    old=$work/$version
    mkdir "$old"
    tar -xzf "$here/../data/$version.tar.gz" -C "$old"
}
# Indexes of other rules are rebuilt, each once.
rebuilt() {
    sed -n 's/.*event=index-outdated index=\([^ ]*\).*/\1/p' "$log" | sort -u
}
names() {
    request GET /indexes
    jq -r '.indexes[].name' "$answer"
}
ready() {
    request GET /indexes
    jq -e '[.indexes[].state] - ["ready", "conflicted"] == []' "$answer" >"$work/null"
}
# same_answers ANSWERS: asks what the earlier program was asked.
same_answers() {
    wait_until ready
    # shellcheck disable=SC2046 # names of indexes
    is "answers, $version" "$(node "$here/upgrade_data.js" compare "$url" "$1" $(rebuilt))" \
        "$(wc -l <"$1") asked, 0 differ"
}
# What verification finds wrong in all indexes that can be verified.
wrong() {
    local name
    for name in $(names); do
        request POST "/indexes/$name/verify"
        [ "$status" = 202 ] || continue
        until_field .state done GET "/indexes/$name/verify"
        jq -r 'select(.missing + .dangling + .stale + .duplicate + .miscounted > 0) | .index' "$answer"
    done
}
# The row that is missing is what `is` shows.
proves() {
    local row
    row="| $1 | $2 | \`$(basename "$0" .sh)\` |"
    is 'the row in deploy/compatibility.md' "$(grep -cxF "$row" "$here/../../deploy/compatibility.md") $row" "1 $row"
}
