#!/bin/bash
# Reads that a standby answers itself, from the database: what a client has written is
# there for it on each node, and reads are answered while no node is active.
ENGINE=bdb # this story says itself which server has which database
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/nodes.sh"
have_nodes one two

# What curl shows of a header of the last answer.
of_header() {
    sed -n "s/^$1: //Ip" "$head" | tr -d '\r'
}
# read_after POSITION PATH
read_after() {
    request GET "$2" '' --header "Kindex-After: $1"
}

test_case 'a write returns its position, and a standby answers a read that waits for it'
node_start one
node_start two
at one
answers 201 PUT /kv/users/ada '{"email":"a@example.org","color":"blue"}'
first=$(of_header Kindex-At)
is 'its form' "$(grep -cE '^[0-9]+\.[0-9]+$' <<<"$first")" 1
answers 200 GET '/kv/users/ada?consistency=strong'
header Kindex-Node one
at two
for level in session eventual; do
    read_after "$first" "/kv/users/ada?consistency=$level"
    expect 200
    header Kindex-Node two
    header Kindex-At "$first"
    field .color blue
done
read_after "$first" '/kv/users/ada?consistency=strong'
header Kindex-Node one
header Kindex-At ''
request GET /kv/users/ada
header Kindex-Node one

test_case 'a write through a standby returns its position, too'
answers 201 PUT /kv/users/bob '{"email":"b@example.org","color":"red"}'
header Kindex-Node one
read_after "$(of_header Kindex-At)" '/kv/users/bob?consistency=session'
expect 200
header Kindex-Node two

test_case 'a client always reads its own write'
for number in {1..30}; do
    at one
    request PUT /kv/counter "$number"
    position=$(of_header Kindex-At)
    at two
    read_after "$position" '/kv/counter?consistency=session'
    [ "$status $(cat "$answer")" = "200 $number" ] || break
done
body_is 30

test_case 'a standby answers each kind of read'
answers 200 GET '/list?prefix=users&consistency=eventual'
header Kindex-Node two
field '[.entries[].value.color]' '["blue","red"]'
answers 200 GET '/list?prefix=users&consistency=eventual' '' --header 'Accept: application/x-ndjson'
header Kindex-Node two
is 'its lines' "$(grep -c '"email"' "$answer")" 2
request GET '/count?prefix=users&consistency=eventual'
header Kindex-Node two
field .count 2
request GET '/tree?consistency=eventual'
header Kindex-Node two
field '.children | length' 2
answers 200 POST '/get?consistency=eventual' '{"keys":[["users","ada"],["users","none"]]}'
header Kindex-Node two
field '[.entries[] | .value.color]' '["blue",null]'
answers 200 POST '/list?consistency=eventual' '{"ranges":[{"prefix":["users"]}]}'
header Kindex-Node two
answers 404 key-not-found GET '/kv/users/none?consistency=eventual'
header Kindex-Node two
at one
request POST /indexes '{"name":"users_by_color","prefix":["users"],"fields":["/color"],"store":{"aggregate":{"count":true}}}' \
    --header 'Prefer: wait=60'
at two
answers 200 GET '/aggregate?index=users_by_color&consistency=eventual'
header Kindex-Node two
field '[.count, .groups]' '[2,2]'
answers 200 HEAD '/kv/users/ada?consistency=eventual'
header Kindex-Node two
request GET '/kv/users/ada?consistency=eventual&fields=/color'
header Kindex-Node two
body_is '{"color":"blue"}'

test_case 'both nodes refuse malformed levels and positions'
for name in one two; do
    at $name
    answers 400 bad-parameter GET '/kv/users/ada?consistency=weak'
    field '.detail | contains("strong, session or eventual")' true
    answers 400 bad-parameter GET '/kv/users/ada?consistency=eventual&consistency=session'
    answers 400 unknown-parameter PUT '/kv/users/ada?consistency=eventual' '1'
done
at two
for text in 3 3. .3 3.4.5 3.x -3.4; do
    read_after "$text" '/kv/users/ada?consistency=session'
    expect 400 bad-request
done

test_case 'a read at a position of the future waits, and is then refused'
read_after "${first%.*}.99999999" '/kv/users/ada?consistency=session'
expect 503 not-caught-up
header Kindex-Node two
header Retry-After 1
read_after '99999999.0' '/count?prefix=users&consistency=session'
expect 503 not-caught-up
read_after '99999999.0' '/count?prefix=users&consistency=eventual'
expect 200
at one
read_after '99999999.0' '/count?prefix=users&consistency=session'
expect 200

test_case 'a standby reads by an index from its declaration on, and by no dropped one'
request POST /indexes '{"name":"by_email","prefix":["users"],"fields":["/email"],"unique":true}'
until_field .state ready GET /indexes/by_email
at two
answers 200 GET '/indexes/by_email/get/a@example.org?consistency=eventual'
header Kindex-Node two
field .color blue
gives '.entries | length' 2 GET '/list?index=by_email&consistency=eventual'
request GET '/count?index=by_email&consistency=eventual'
header Kindex-Node two
field .count 2
at one
request PUT /kv/users/cat '{"email":"c@example.org","color":"green"}'
at two
read_after "$(of_header Kindex-At)" '/count?index=by_email&consistency=session'
field .count 3
at one
request DELETE /indexes/by_email
position=$(of_header Kindex-At)
at two
read_after "$position" '/list?index=by_email&consistency=session'
expect 404 index-not-found
header Kindex-Node two

test_case 'a standby without the file of --token-file answers no read itself'
node_end two TERM
node_start two --token-file "$work/none"
at two
for level in session eventual; do
    answers 200 GET "/kv/users/ada?consistency=$level"
    header Kindex-Node one
done
is 'the file' "$([ -e "$work/none" ] && echo made)" ''
node_end two TERM
node_start two

test_case 'a standby accepts a new token at once, and a revoked one never again'
token() { # NAME RIGHTS
    timeout "$longest" "$KINDEX" token create "$@"
}
with() { # TOKEN PATH
    request GET "$2" '' --oauth2-bearer "$1"
}
at one
admin=$(token admin all)
reader=$(KINDEX_TOKEN=$admin token reader read,list:users)
at two
answers 401 unauthorized GET '/kv/users/ada?consistency=eventual'
header Kindex-Node two
with "${admin}x" '/kv/users/ada?consistency=eventual'
expect 401 unauthorized
for path in '/kv/users/ada?' '/count?prefix=users&' '/list?prefix=users&'; do
    with "$reader" "${path}consistency=eventual"
    expect 200
    header Kindex-Node two
done
with "$reader" '/kv/counter?consistency=eventual'
expect 403 forbidden
header Kindex-Node two
at one
with "$admin" /tokens
answers 204 DELETE "/tokens/$(jq -r '.tokens[] | select(.name == "reader").id' "$answer")" '' \
    --oauth2-bearer "$admin"
at two
with "$reader" '/kv/users/ada?consistency=eventual'
expect 401 unauthorized
header Kindex-Node two
with "$admin" '/kv/users/ada?consistency=eventual'
expect 200
header Kindex-Node two

test_case 'a list of a standby is cut off without an end line when its token is revoked'
for i in {1..500}; do
    printf '{"key":["rows",%d],"value":{"n":%d,"fill":"%060000d"}}\n' "$i" "$i" "$i"
done >"$work/rows"
at one
KINDEX_TOKEN=$admin timeout "$longest" "$KINDEX" import "$work/rows" >"$work/said" 2>&1
is 'exit status' $? 0
for version in --http1.1 --http2-prior-knowledge; do
    at one
    lister=$(KINDEX_TOKEN=$admin token lister list:rows)
    at two
    mkfifo "$work/pipe"
    { curl --silent --max-time "$longest" $version --header 'Accept: application/x-ndjson' \
        --oauth2-bearer "$lister" "$url/list?prefix=rows&consistency=eventual"
        echo $? >"$work/exit"; } >"$work/pipe" &
    curl=$!
    exec 3<"$work/pipe"
    read -r line <&3
    is 'it has begun' "$(jq -c .key <<<"$line")" '["rows",1]'
    at one
    KINDEX_TOKEN=$admin timeout "$longest" "$KINDEX" token revoke "${lister:7:16}" >"$work/said" 2>&1
    is 'exit status' $? 0
    tail -n 1 <&3 >"$work/last"
    exec 3<&-
    wait $curl
    is 'curl misses the end' "$(grep -cxE '18|92' "$work/exit")" 1
    is 'no problem is taken for a line' "$(grep -c unauthorized "$work/last")" 0
    rm "$work/pipe"
done
at two

# Until it is active itself, which a strong read shows.
test_case 'a standby answers eventual reads while the active node is frozen'
signal one STOP
for _ in {1..1000}; do
    with "$admin" '/kv/users/ada?consistency=eventual'
    [ "$status" = 200 ] || break
    with "$reader" '/kv/users/ada?consistency=eventual'
    [ "$status" = 401 ] || break
    with "$admin" '/kv/users/ada'
    [ "$status" != 200 ] || break
done
expect 200
header Kindex-Node two
signal one CONT
at one
until_field .color blue GET '/kv/users/ada?consistency=eventual' '' --oauth2-bearer "$admin"
header Kindex-Node one

test_case 'the token of --token-file is valid on a standby that has the file'
"$KINDEX" token generate >"$work/token"
chmod 600 "$work/token"
node_end one TERM
node_start one --token-file "$work/token"
at one
with "$(cat "$work/token")" '/kv/users/ada?consistency=eventual'
expect 200
header Kindex-Node one
with "$(cat "$work/token")" /kv/users/ada
expect 401 unauthorized
header Kindex-Node two

test_case 'a standby answers no read when no node has been active for seconds'
postgres_query store "INSERT INTO kindex.lost VALUES (1, 99, 99999999, 'none', 0)"
for name in one two; do
    at $name
    until_status 503 GET '/kv/users/ada?consistency=eventual' '' --oauth2-bearer "$admin"
    expect 503 no-active-node
    until_field '.detail | contains("accept-loss")' true GET '/kv/users/ada?consistency=eventual' \
        '' --oauth2-bearer "$admin"
done
kindex cluster accept-loss --engine "$address"
ends 0
complains 'accepted'
for name in one two; do
    at $name
    until_status 200 GET '/kv/users/ada?consistency=eventual' '' --oauth2-bearer "$admin"
done

finish
