#!/bin/bash
# A verification compares an index with its entries, both ways, while they are
# written. What it finds when there is something to find is tested in
# tests/unit/src/indexes/verify_test.c, which can plant it.
. "$(dirname "$0")/../lib/http.sh"
start_server

for i in {0..4}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | {type: "set", key: ["u", . + 1000 * $i],
        value: {email: "user\(. + 1000 * $i)@x.org", tags: ["a", "b", (. % 7)]}}]}')"
done
request POST /indexes '{"name":"by_email","prefix":["u"],"fields":["/email"],"unique":true}'
request POST /indexes '{"name":"by_tag","prefix":["u"],"fields":[{"path":"/tags","each":true}],"store":{"fields":["/email"]}}'
until_field .state ready GET /indexes/by_email
until_field .state ready GET /indexes/by_tag

test_case 'an index that was never verified has no verification to show'
answers 404 no-verification GET /indexes/by_email/verify
field .index by_email

test_case 'verification reads every index entry and every entry'
request POST /indexes/by_email/verify
[ "$status" = 202 ] || expect 200
field '[.index, .repair]' '["by_email",false]'
until_field .state done GET /indexes/by_email/verify
expect 200
field '[.done, .total, .percent]' '[10000,10000,100]'
field '[.missing, .dangling, .stale, .duplicate, .mended, .samples]' '[0,0,0,0,0,[]]'
field '.endedAt >= .startedAt' true

test_case 'an index with several entries for each is verified'
request POST /indexes/by_tag/verify?repair=true
[ "$status" = 202 ] || expect 200
until_field .state done GET /indexes/by_tag/verify
field '[.repair, .done, .missing, .dangling, .stale, .mended]' '[true,20000,0,0,0,0]'

test_case 'the report of a verification survives a restart'
request GET /indexes/by_email/verify
cp "$answer" "$work/before"
stop_server
start_server
request GET /indexes/by_email/verify
body_is "$(cat "$work/before")"

test_case 'a running verification shows how far it is, and another request joins it'
request POST /indexes/by_email/pause
answers 202 POST /indexes/by_email/verify
field '[.state, .done, .endedAt]' '["running",0,null]'
answers 202 POST /indexes/by_email/verify
answers 202 POST /indexes/by_email/verify?repair
field .repair true
gives .repair true POST /indexes/by_email/verify

test_case 'a write during verification is not reported as damage'
for i in {1..60}; do
    echo next
    echo "url = $url/kv/u/=$((i * 80))"
    echo 'request = PUT'
    echo "data = \"{\\\"email\\\":\\\"new$i\\\",\\\"tags\\\":[$i]}\""
    echo "output = $work/null"
done | tail -n +2 >"$work/writes"
request POST /indexes/by_tag/verify
curl -s -K "$work/writes" &
writer=$!
request POST /indexes/by_email/throttle '{"perSecond":40000}'
request POST /indexes/by_email/resume
until_field .state done GET /indexes/by_email/verify
field '[.missing, .dangling, .stale, .duplicate, .mended]' '[0,0,0,0,0]'
wait $writer
until_field .state done GET /indexes/by_tag/verify
field '[.missing, .dangling, .stale, .duplicate, .mended]' '[0,0,0,0,0]'

test_case 'totals are computed again from the entries'
request POST /indexes '{"name":"tags","prefix":["u"],"fields":[{"path":"/tags","each":true}],"store":{"aggregate":{"count":true}}}'
until_field .state ready GET /indexes/tags
request POST /indexes/tags/verify?repair=true
[ "$status" = 202 ] || expect 200
request GET /indexes/tags
groups=$(value .entries)
until_field .state done GET /indexes/tags/verify
field '[.missing, .dangling, .stale, .duplicate]' '[0,0,0,0]'
field .done $((5000 + groups))

# On PostgreSQL a story can plant what the store never writes; for other engines
# tests/unit/src/indexes/verify_totals_test.c does.
plant() {
    stop_server
    postgres_query "$(basename "$work")" "$1" >"$work/null"
    start_server
}
totals() {
    request GET '/list?index=tags&limit=1000'
    value '.entries[] | [.key, .value]'
}
if [ "$ENGINE" = postgresql ]; then
    test_case 'a wrong total and a group that is missing are found and repaired while entries change'
    totals >"$work/before"
    plant "UPDATE kindex.entries SET v = overlay(v placing convert_to('9', 'UTF8') from
            position(convert_to('count\":', 'UTF8') in v) + 7 for 1)
            WHERE position(convert_to('tags', 'UTF8') in k) = 2
            AND position(convert_to('count\":', 'UTF8') in v) > 0
            AND position(convert_to('b', 'UTF8') in k) > 0;
        DELETE FROM kindex.entries WHERE position(convert_to('tags', 'UTF8') in k) = 2
            AND position(convert_to('a', 'UTF8') in substr(k, 6)) > 0"
    is 'the lists differ' "$(totals | cmp -s - "$work/before" || echo yes)" yes
    request POST /indexes/tags/verify
    until_field .state done GET /indexes/tags/verify
    field '[.missing, .dangling, .stale]' '[1,0,1]'
    curl -s -K "$work/writes" &
    writer=$!
    request POST /indexes/tags/verify?repair=true
    until_field .state done GET /indexes/tags/verify
    field '[.missing, .dangling, .stale]' '[1,0,1]'
    wait $writer
    is 'the lists are equal' "$(totals | cmp - "$work/before" && echo yes)" yes
    request POST /indexes/tags/verify
    until_field .state done GET /indexes/tags/verify
    field '[.missing, .dangling, .stale]' '[0,0,0]'
fi

test_case 'an index that is not ready cannot be verified'
request PUT /kv/d/1 '{"v":1}'
request PUT /kv/d/2 '{"v":1}'
request POST /indexes '{"name":"by_v","prefix":["d"],"fields":["/v"],"unique":true}'
until_field .state conflicted GET /indexes/by_v
answers 409 index-not-ready POST /indexes/by_v/verify
field .detail 'index by_v cannot be verified while it is being built, is conflicted or failed, adopts entries or is migrating'

test_case 'an invalid verification is refused'
answers 404 index-not-found POST /indexes/nothing/verify
answers 404 index-not-found GET /indexes/nothing/verify
answers 400 bad-parameter POST /indexes/by_email/verify?repair=perhaps
answers 400 unknown-parameter POST /indexes/by_email/verify?mend=true
answers 400 unknown-parameter GET /indexes/by_email/verify?repair=true
answers 405 method-not-allowed DELETE /indexes/by_email/verify

finish
