#!/bin/bash
# A cursor leads through a list page by page: every entry once, in order.
. "$(dirname "$0")/../lib/http.sh"
start_server

# All values of a list, read in pages; with the number of pages.
paged() {
    local cursor='' pages=0
    : >"$work/paged"
    while [ "$cursor" != null ] && [ $pages -lt 200 ]; do
        request GET "/list?$1${cursor:+&cursor=$cursor}"
        [ "$status" = 200 ] || expect 200
        value '.entries[].key[-1], .cursor' >"$work/page"
        cursor=$(tail -1 "$work/page")
        sed '$d' "$work/page" >>"$work/paged"
        pages=$((pages + 1))
    done
    echo "$pages pages: $(xargs <"$work/paged")"
}

request POST /atomic "$(jq -nc '{mutations: [range(25) | {type: "set", key: ["c", .], value: {n: (. % 3)}}]}')"
request POST /indexes '{"name":"by_n","prefix":["c"],"fields":["/n"]}'
until_field .state ready GET /indexes/by_n

test_case 'the pages of a list together are the whole list'
is 'limit 10' "$(paged 'prefix=c&limit=10')" "3 pages: $(echo {0..24})"
is 'limit 1' "$(paged 'prefix=c&limit=1')" "25 pages: $(echo {0..24})"
is 'limit 25' "$(paged 'prefix=c&limit=25')" "1 pages: $(echo {0..24})"
is 'limit 1000' "$(paged 'prefix=c&limit=1000')" "1 pages: $(echo {0..24})"
is 'reverse' "$(paged 'prefix=c&limit=7&reverse=true')" "4 pages: $(echo {24..0})"
is 'bounded' "$(paged 'start=c/=5&end=c/=15&limit=4')" "3 pages: $(echo {5..14})"
is 'bounded, reverse' "$(paged 'prefix=c&start=c/=20&limit=3&reverse=true')" "2 pages: $(echo {24..20})"
is 'keys' "$(paged 'prefix=c&limit=20&keys=true')" "2 pages: $(echo {0..24})"

test_case 'an index is paged in its own order'
is 'the index' "$(paged 'index=by_n&limit=6')" \
    '5 pages: 0 3 6 9 12 15 18 21 24 1 4 7 10 13 16 19 22 2 5 8 11 14 17 20 23'
is 'one value' "$(paged 'index=by_n&prefix==1&limit=3')" '3 pages: 1 4 7 10 13 16 19 22'
is 'reverse' "$(paged 'index=by_n&prefix==1&limit=5&reverse=true')" '2 pages: 22 19 16 13 10 7 4 1'

test_case 'paging continues at its position, regardless of writes meanwhile'
request GET '/list?prefix=c&limit=10'
cursor=$(value .cursor)
request DELETE /kv/c/=9
request PUT /kv/c/=9.5 '{"n":0}'
request PUT /kv/c/=-1 '{"n":0}'
gives '[.entries[].key[1]]' '[9.5,10]' GET "/list?prefix=c&limit=2&cursor=$cursor"

test_case 'the limit may change from page to page'
gives '.entries | length' 3 GET "/list?prefix=c&limit=3&cursor=$cursor"
gives '[(.entries | length), .cursor]' '[16,null]' GET "/list?prefix=c&cursor=$cursor"

test_case 'a cursor of another list is refused'
for list in prefix=d 'prefix=c&reverse=true' 'prefix=c&start=c/=3' 'index=by_n' ''; do
    answers 400 cursor-mismatch GET "/list?$list&cursor=$cursor"
    field .parameter cursor
done

test_case 'a text that is not a cursor is refused'
for wrong in x AAAA %00 "$cursor=" "${cursor:0:20}" "${cursor}AA" \
    "$(tr 'A-Za-z' 'B-ZAb-za' <<<"$cursor")"; do
    answers 400 cursor-invalid GET "/list?prefix=c&cursor=$wrong"
done

test_case 'a cursor is valid after a restart'
stop_server
start_server
answers 200 GET "/list?prefix=c&limit=1&cursor=$cursor"
field '.entries[0].key[1]' 9.5

test_case 'a page of large values ends early, and no entry is lost'
{ printf '"'; head -c 900000 /dev/zero | tr '\0' 5; printf '"'; } >"$work/large"
for i in {1..12}; do
    curl -s -o "$work/null" -X PUT "$url/kv/large/=$i" --data-binary "@$work/large"
done
is 'the order' "$(paged 'prefix=large' | sed 's/.*: //')" "$(echo {1..12})"

finish
