#!/bin/bash
# Access tokens from the first to the last: the command line, the file, what is
# refused, what survives a crash, and that a revoked one is refused at once,
# also where it is in use.
. "$(dirname "$0")/../lib/http.sh"
json=(--header 'Content-Type: application/json')
as() { bearer=(--header "Authorization: Bearer $1"); }
program() {
    code=0
    KINDEX_URL=$url timeout "$longest" "$KINDEX" "$@" >"$work/said" 2>"$work/complaint" ||
        code=$?
}
grant='{"name":"x","grants":[{"scopes":["read"],"prefix":["a"]}]}'
start_server

test_case 'a store without tokens lets every client do everything'
answers 201 PUT /kv/a/k 1

test_case 'the first token must be one that may do everything'
answers 409 no-admin POST /tokens "$grant" "${json[@]}"
program token create keys admin:
is 'exit status' $code 4
is 'what makes one' "$(grep -c 'kindex token create NAME all' "$work/complaint")" 1
program token create app read:a
is 'exit status' $code 4
answers 200 GET /kv/a/k

test_case 'a token that could not be shown is revoked'
code=0
KINDEX_URL=$url timeout "$longest" "$KINDEX" token create operator all >/dev/full \
    2>"$work/complaint" || code=$?
is 'exit status' "$((code != 0))" 1
is 'the reason' "$(grep -c 'is revoked' "$work/complaint")" 1
answers 200 GET /kv/a/k
request GET /tokens
body_is '{"tokens":[],"cursor":null}'

test_case 'a server without tokens needs none, and ignores one that is sent'
answers 200 GET /tokens/self
body_is '{"required":false,"token":null}'
header Cache-Control no-store
request GET /tokens/self '' --header 'Authorization: Bearer x'
body_is '{"required":false,"token":null}'
answers 400 unknown-parameter GET '/tokens/self?x=1'

test_case 'an invalid token, grant or scope is refused, with its place'
answers 400 bad-request POST /tokens '{"name":"x","grants":[{"scopes":["raed"],"prefix":[]}]}' "${json[@]}"
field .pointer /grants/0/scopes/0
answers 400 bad-request POST /tokens '{"name":"x","grants":[{"scopes":["read"]}]}' "${json[@]}"
answers 400 bad-request POST /tokens '{"name":"x","grants":[]}' "${json[@]}"
answers 400 unknown-member POST /tokens '{"name":"x","grant":[]}' "${json[@]}"
answers 400 bad-request POST /tokens '{"name":"","grants":[{"scopes":["read"],"prefix":[]}]}' "${json[@]}"
request POST /tokens '{"name":"x","grants":[{"scopes":["read"],"prefix":[]}],"ttl":"soon"}' "${json[@]}"
expect 400 bad-request
long=$(printf 'x%.0s' {1..2000})
request POST /tokens "$(jq -nc --arg p "$long" '{name: "x", grants: [range(3) | {scopes: ["read"], prefix: [$p]}]}')" "${json[@]}"
expect 400 bad-request
field .pointer /grants
field '.detail | contains("4096")' true
request GET /tokens
body_is '{"tokens":[],"cursor":null}'

test_case 'the first token ends the streams of clients without one'
for version in --http1.1 --http2-prior-knowledge; do
    curl --silent --no-buffer --max-time "$longest" $version "$url/watch?key=a/k" \
        >"$work/open$version" 2>"$work/null" &
    echo $! >>"$work/watchers"
done
watches_have_begun() { [ "$(cat "$work"/open--* | grep -c '^id:')" = 2 ]; }
wait_until watches_have_begun
program token create operator all
is 'exit status' $code 0
operator=$(cat "$work/said")
while read -r pid; do wait "$pid" || echo "exit $?"; done <"$work/watchers" >"$work/ends"
is 'how they end' "$(cat "$work/ends")" ''

test_case 'every request needs a token once the first one is made'
is 'its form' "$([[ $operator =~ ^kindex_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$ ]] && echo yes)" yes
answers 401 unauthorized GET /kv/a/k
header WWW-Authenticate 'Bearer realm="kindex"'
answers 401 unauthorized GET /kv/a/k '' --header 'Authorization: Basic a2luZGV4'
answers 401 unauthorized GET "/kv/a/k?token=$operator"
answers 200 GET /livez
as "$operator"
answers 200 GET /kv/a/k '' "${bearer[@]}"

test_case 'the command line makes, lists, shows and revokes tokens'
export KINDEX_TOKEN=$operator
program token create app read,list:a write:a/in --ttl 1h
app=$(cat "$work/said")
program token ls
is 'tokens' "$(wc -l <"$work/said")" 3
is 'the row of one' "$(awk '$2 == "app" { print $1, $4, $5 }' "$work/said")" "${app:7:16} read,list:a write:a/in"
is 'their ends' "$(awk 'NR > 1 { print $3 }' "$work/said" | sed 's/[0-9]/9/g' | sort | tr '\n' ' ')" \
    '9999-99-99T99:99:99Z never '
is 'secrets' "$(grep -cF -- "${app:24}" "$work/said")" 0
program token show "${app:7:16}" -o json
is 'its grants' "$(jq -c .grants "$work/said")" \
    '[{"scopes":["read","list"],"prefix":["a"]},{"scopes":["write"],"prefix":["a","in"]}]'
is 'it has an end' "$(jq '.expiresAt - .createdAt' "$work/said")" 3600000
program doctor
is 'exit status' $code 0
is 'what doctor says of access' "$(grep -E '^(ok|warn) +(tls|access|tokens) ' "$work/said" | tr -s ' ')" \
    'ok tls not used, on an address of this machine
ok access requests need a token
warn tokens 2, 1 without an expiry'
KINDEX_TOKEN=$app program doctor
is 'without the right to see tokens' "$code $(grep -c ' tokens ' "$work/said")" '0 0'
program token create bad swim:a
is 'exit status' $code 2
program token create bad read,list
is 'exit status' $code 2
complained=$(grep -c 'read,list: all keys' "$work/complaint")
is 'what it says' "$complained" 1
KINDEX_TOKEN=$app program token ls
is 'exit status' $code 1
(unset KINDEX_TOKEN && program get a/k && exit $code)
code=$?
is 'exit status' $code 1

test_case 'the last administrator cannot be revoked while there are other tokens'
answers 409 no-admin DELETE "/tokens/${operator:7:16}" '' "${bearer[@]}"
answers 404 token-not-found DELETE /tokens/ffffffffffffffff '' "${bearer[@]}"

test_case 'KV Connect accepts the tokens, and returns the one that it was given'
request POST / '{"supportedVersions":[3]}'
is status "$status" 401
header Content-Type text/plain
answers 200 POST / '{"supportedVersions":[3]}' --header "Authorization: Bearer $app"
field .token "$app"
field '.expiresAt | fromdate > now + 365 * 86400' true

test_case 'a unique value of a foreign entry is refused without naming the entry'
request POST /indexes '{"name":"by_m","prefix":[],"fields":["/m"],"unique":true}' "${json[@]}" "${bearer[@]}"
request PUT /kv/secret/one '{"m":"x"}' "${json[@]}" "${bearer[@]}"
answers 409 unique-violation PUT /kv/a/in/1 '{"m":"x"}' "${json[@]}" --header "Authorization: Bearer $app"
is 'the entry' "$(grep -c secret "$answer")" 0
answers 409 unique-violation PUT /kv/a/in/1 '{"m":"x"}' "${json[@]}" "${bearer[@]}"
field .existingKey '["secret","one"]'
answers 204 DELETE /indexes/by_m '' "${bearer[@]}"

test_case 'a patch needs the right to read, since it stores what was there'
request POST /indexes '{"name":"by_ab","prefix":["p"],"fields":["/a","/b"],"unique":true}' "${json[@]}" "${bearer[@]}"
request PUT /kv/p/1 '{"a":1,"b":"secret"}' "${json[@]}" "${bearer[@]}"
request PUT /kv/p/2 '{"a":2,"b":"secret"}' "${json[@]}" "${bearer[@]}"
program token create writer write:p
writer=$(cat "$work/said")
answers 403 forbidden PATCH /kv/p/2 '{"a":1}' "${json[@]}" --header "Authorization: Bearer $writer"
field .scope read
answers 409 unique-violation PUT /kv/p/3 '{"a":1,"b":"secret"}' "${json[@]}" --header "Authorization: Bearer $writer"
field '[.value, .existingKey]' '[[1,"secret"],null]'
answers 409 unique-violation PATCH /kv/p/2 '{"a":1}' "${json[@]}" "${bearer[@]}"
field '[.value, .existingKey]' '[[1,"secret"],["p","1"]]'
answers 204 DELETE /indexes/by_ab '' "${bearer[@]}"

test_case 'a stale receipt tells a token that may only write nothing about the entry'
request POST /indexes '{"name":"p_due","prefix":["p"],"fields":["/due"],"queue":{}}' "${json[@]}" "${bearer[@]}"
request POST '/queues/p_due/claim?limit=10' '' "${bearer[@]}"
claimed=$(value '[.jobs[] | select(.key == ["p", "1"]) | .receipt]')
request PUT /kv/p/1 '{"a":2}' "${json[@]}" "${bearer[@]}"
for state in written removed; do
    answers 409 receipt-stale POST /queues/p_due/ack "{\"receipts\":$claimed}" "${json[@]}" "${bearer[@]}"
    field ".detail | contains(\"$state\")" true
    answers 409 receipt-stale POST /queues/p_due/ack "{\"receipts\":$claimed}" "${json[@]}" --header "Authorization: Bearer $writer"
    field .detail 'the receipt is no longer valid'
    request DELETE /kv/p/1 '' "${bearer[@]}"
done
answers 204 DELETE /indexes/p_due '' "${bearer[@]}"

test_case 'a token sees itself, without its secret'
program token create self read:p --ttl 1h
self=$(cat "$work/said")
answers 200 GET /tokens/self '' --header "Authorization: Bearer $self"
field '[.required, .token.name, .token.grants]' '[true,"self",[{"scopes":["read"],"prefix":["p"]}]]'
field .token.id "${self:7:16}"
field '.token.expiresAt - .token.createdAt' 3600000
field '.token.token' null
answers 403 forbidden GET "/tokens/${self:7:16}" '' --header "Authorization: Bearer $self"
answers 200 GET /tokens/self
body_is '{"required":true,"token":null}'
answers 401 unauthorized GET /tokens/self '' --header 'Authorization: Bearer x'
KINDEX_TOKEN=$self program token self
is 'exit status' $code 0
is 'the command shows it' "$(jq -r .token.name "$work/said")" self
KINDEX_TOKEN= program token self
is 'the command without a token' "$(jq -c . "$work/said")" '{"required":true,"token":null}'
program token revoke "${self:7:16}"
answers 401 unauthorized GET /tokens/self '' --header "Authorization: Bearer $self"

test_case 'a revoked token ends a watch, an event stream and a watch of KV Connect at once'
program token create watcher watch,read,list:
watcher=$(cat "$work/said")
for stream in '/watch?key=a/k' '/watch?prefix=a' '/v2/watch'; do
    data=()
    [ "$stream" != /v2/watch ] || data=(--data-binary $'\x0a\x08\x0a\x06\x02a\x00\x02k\x00')
    [ "$stream" != /v2/watch ] || printf '\x0a\x08\x0a\x06\x02a\x00\x02k\x00' >"$work/message"
    [ "$stream" != /v2/watch ] || data=(--data-binary "@$work/message" --request POST)
    for version in --http1.1 --http2-prior-knowledge; do
        curl --silent --no-buffer --max-time "$longest" $version "${data[@]}" \
            --header "Authorization: Bearer $watcher" "$url$stream" \
            >"$work/stream$version${stream//\//_}" 2>"$work/null" &
        echo $! >>"$work/streams"
    done
done
streams_have_begun() { [ "$(find "$work" -name 'stream--*' -size +0 | wc -l)" = 6 ]; }
wait_until streams_have_begun
is 'open streams' "$(find "$work" -name 'stream--*' -size +0 | wc -l)" 6
began=$SECONDS
program token revoke "${watcher:7:16}"
is 'exit status' $code 0
while read -r pid; do wait "$pid"; done <"$work/streams"
is 'they end before their next sign of life' "$((SECONDS - began < 15))" 1
answers 401 unauthorized GET /kv/a/k '' --header "Authorization: Bearer $watcher"

test_case 'a watch of an index entry ends when the index is dropped'
request POST /indexes '{"name":"by_n","prefix":["a"],"fields":["/n"],"unique":true}' "${json[@]}" \
    "${bearer[@]}" --header 'Prefer: wait=30'
program token create follower watch:a
curl --silent --no-buffer --max-time "$longest" --header "Authorization: Bearer $(cat "$work/said")" \
    "$url/watch?key=by_n/z" >"$work/follow" 2>"$work/null" &
follower=$!
follower_has_begun() { grep -q '^id:' "$work/follow"; }
wait_until follower_has_begun
answers 204 DELETE /indexes/by_n '' "${bearer[@]}"
wait "$follower"
is 'it ends' $? 0
answers 201 PUT /kv/by_n/z '"secret"' "${bearer[@]}"
is 'it was shown' "$(grep -c secret "$work/follow")" 0
answers 403 forbidden GET '/watch?key=by_n/z' '' --header "Authorization: Bearer $(cat "$work/said")"

test_case 'a list is cut off without an end line when its token expires'
for i in {1..500}; do
    printf '{"key":["rows",%d],"value":{"n":%d,"fill":"%060000d"}}\n' $i $i $i
done >"$work/rows"
KINDEX_TOKEN=$operator "$KINDEX" import "$work/rows" --url "$url" >"$work/said" 2>&1
is 'exit status' $? 0
for version in --http1.1 --http2-prior-knowledge; do
    program token create lister list:rows
    lister=$(cat "$work/said")
    mkfifo "$work/pipe"
    { curl --silent --max-time "$longest" $version --header 'Accept: application/x-ndjson' \
        --header "Authorization: Bearer $lister" "$url/list?prefix=rows"
        echo $? >"$work/exit"; } >"$work/pipe" &
    curl=$!
    exec 3<"$work/pipe"
    read -r _ <&3
    program token revoke "${lister:7:16}"
    tail -n 1 <&3 >"$work/last"
    exec 3<&-
    wait $curl
    is 'curl misses the end' "$(grep -cxE '18|92' "$work/exit")" 1
    is 'so does its reader' "$(grep -c '"end":true' "$work/last")" 0
    rm "$work/pipe"
done

test_case 'a list by an index is cut off when another index gets its name'
program token create lister list:rows
lister=$(cat "$work/said")
request PUT /kv/vault/1 '{"n":1000}' "${bearer[@]}"
answers 201 POST /indexes '{"name":"by_row","prefix":["rows"],"fields":["/n"]}' "${bearer[@]}" -H 'Prefer: wait=60'
mkfifo "$work/pipe"
curl --silent --max-time "$longest" --header 'Accept: application/x-ndjson' \
    --header "Authorization: Bearer $lister" "$url/list?index=by_row" >"$work/pipe" &
exec 3<"$work/pipe"
read -r first <&3
is 'it has begun' "$(jq -c .key <<<"$first")" '["rows",1]'
answers 204 DELETE /indexes/by_row '' "${bearer[@]}"
answers 201 POST /indexes '{"name":"by_row","prefix":["vault"],"fields":["/n"]}' "${bearer[@]}" -H 'Prefer: wait=60'
is 'what it shows of the other one' "$(grep -c vault <&3)" 0
exec 3<&-
rm "$work/pipe"
answers 403 forbidden GET '/list?index=by_row' '' --header "Authorization: Bearer $lister"

test_case 'a token expires, and ends its stream'
program token create short watch: --ttl 2s
curl --silent --no-buffer --max-time "$longest" --header "Authorization: Bearer $(cat "$work/said")" \
    --output "$work/short" "$url/watch?key=a/k"
is 'curl ends' $? 0
answers 401 unauthorized GET '/watch?key=a/k' '' --header "Authorization: Bearer $(cat "$work/said")"
is 'it is told' "$(value .detail)" 'The access token has expired.'

test_case 'a wait for an index ends when the token expires'
request PUT /kv/held/1 '{"n":1}' "${json[@]}" "${bearer[@]}"
request POST '/indexes?paused=1' '{"name":"by_held","prefix":["held"],"fields":["/n"]}' "${json[@]}" "${bearer[@]}"
expect 202
curl --silent --output "$work/null" "${bearer[@]}" --header 'Prefer: wait=60' "$url/indexes/by_held" &
waiter=$!
program token create builder index:held index:by_held --ttl 3s
answers 200 POST /indexes/by_held/throttle '{"perSecond":5}' "${json[@]}" --header 'Prefer: wait=60' \
    --header "Authorization: Bearer $(cat "$work/said")"
field '[.state, .pace.perSecond]' '["building",5]'
is 'a permitted wait that began before continues' "$(kill -0 $waiter && echo yes)" yes
answers 204 DELETE /indexes/by_held '' "${bearer[@]}"
wait $waiter

test_case 'tokens and revocations survive SIGKILL'
program token create gone read:
gone=$(cat "$work/said")
program token create kept read:
kept=$(cat "$work/said")
program token revoke "${gone:7:16}"
kill -KILL "$server"
wait "$server" 2>"$work/null"
start_server --token-streams 2 --token-rate 20
answers 200 GET /kv/a/k '' --header "Authorization: Bearer $kept"
answers 401 unauthorized GET /kv/a/k '' --header "Authorization: Bearer $gone"
is 'what is stored has no secret' "$(grep -rscF -- "${kept:24:20}" "$work/data" | grep -vc ':0$')" 0

test_case 'a token has a limited number of streams, and a place is free again when one ends'
KINDEX_URL=$url program token create two watch,monitor:
two=$(cat "$work/said")
rm -f "$work"/stream*
for i in 1 2; do
    curl --silent --no-buffer --max-time "$longest" --header "Authorization: Bearer $two" \
        "$url/watch?key=a/k" >"$work/stream--$i" 2>"$work/null" &
    eval "stream$i=$!"
done
two_have_begun() { [ "$(find "$work" -name 'stream--*' -size +0 | wc -l)" = 2 ]; }
wait_until two_have_begun
answers 429 too-many-streams GET '/watch?key=a/k' '' --header "Authorization: Bearer $two"
header Retry-After '[0-9]*'
field .limit 2

test_case 'a token has a limited number of requests per minute'
until [ "$status" = 429 ] && [ "$(problem_code)" = rate-limited ]; do
    request GET /kv/a/k '' --header "Authorization: Bearer $kept"
done
expect 429 rate-limited
header Retry-After '[0-9]*'
header RateLimit '"default";r=0;t=*'
header RateLimit-Policy '"default";q=20;w=60'
kill $stream1 $stream2
stop_server

test_case 'the token of --token-file may do everything, is not stored, and cannot be revoked'
start_server --token-file "$work/token"
is 'the file is its owner'"'"'s' "$(stat -c %a "$work/token")" 600
as "$(cat "$work/token")"
answers 200 GET /tokens '' "${bearer[@]}"
field '[.tokens[] | select(.fixed)] | length' 1
id=$(value '.tokens[] | select(.fixed) | .id')
answers 409 token-fixed DELETE "/tokens/$id" '' "${bearer[@]}"
stop_server
start_server
answers 401 unauthorized GET /tokens '' "${bearer[@]}"
stop_server

test_case 'a token file that others may read, or that holds no token, is refused'
chmod 644 "$work/token"
"$KINDEX" serve --data "$work/data" --listen 127.0.0.1:0 --token-file "$work/token" >"$work/said" 2>"$work/complaint"
is 'exit status' $? 1
is 'why' "$(grep -c 'other users may read' "$work/complaint")" 1
echo secret >"$work/other"
chmod 600 "$work/other"
"$KINDEX" serve --data "$work/data" --listen 127.0.0.1:0 --token-file "$work/other" >"$work/said" 2>"$work/complaint"
is 'exit status' $? 1
program token generate
cp "$work/said" "$work/other"

test_case 'a server that other machines reach needs a token; a stored one suffices'
"$KINDEX" serve --data "$work/new" --listen 0.0.0.0:0 >"$work/said" 2>"$work/complaint"
is 'exit status' $? 1
is 'what to add' "$(grep -c -- '--token-file FILE.*--insecure' "$work/complaint")" 1
start_server --listen 0.0.0.0:0 --token-file "$work/other"
as "$(cat "$work/other")"
answers 200 GET /kv/a/k '' "${bearer[@]}"
answers 401 unauthorized GET /kv/a/k
stop_server
start_server --listen 0.0.0.0:0
answers 200 GET /kv/a/k '' --header "Authorization: Bearer $operator"

test_case 'a refusal does not reveal the declaration of another index'
as "$operator"
request POST /indexes '{"name":"theirs","prefix":["users"],"fields":["/secret"],"unique":true}' "${json[@]}" "${bearer[@]}"
KINDEX_TOKEN=$operator program token create narrow index:theirs index:mine
answers 403 POST '/indexes?dry=1' '{"name":"theirs","prefix":["mine"],"fields":["/x"]}' "${json[@]}" \
    --header "Authorization: Bearer $(cat "$work/said")"
is 'what is told' "$(grep -c secret "$answer")" 0

test_case 'a write after the drop of the index that owned its key is refused'
KINDEX_TOKEN=$operator program token create both index,write:users index:byx
for range in '' yes; do
    request POST /indexes '{"name":"byx","prefix":["users"],"fields":["/x"]}' "${json[@]}" "${bearer[@]}"
    until_field .state ready GET /indexes/byx '' "${bearer[@]}"
    request PUT /kv/users/1 '{"x":1}' "${json[@]}" "${bearer[@]}"
    node -e '
        const [url, token, range] = process.argv.slice(1);
        const session = require("node:http2").connect(url);
        const ask = (method, path, body) => new Promise((resolve) => {
            const stream = session.request({ ":method": method, ":path": path, authorization: `Bearer ${token}` });
            stream.on("response", (head) => { resolve(head[":status"]); stream.close(); });
            stream.end(body);
        });
        const write = range ? ["DELETE", "/list?prefix=byx"] : ["PUT", "/kv/byx/1", "1"];
        Promise.all([ask("DELETE", "/indexes/byx"), ask(...write)]).then(([drop, written]) => {
            console.log(drop, written >= 400 ? "refused" : written);
            session.close();
        });' "$url" "$(cat "$work/said")" $range >"$work/raced"
    is 'the drop, and the write after it' "$(cat "$work/raced")" '204 refused'
    answers 404 GET /kv/byx/1 '' "${bearer[@]}"
done

test_case 'a token that another one made has no rights beyond those of its maker'
KINDEX_TOKEN=$operator program token create lender admin,read:team list,admin:team/a
lender=$(cat "$work/said")
for what in read:team admin,read:team/b read,list:team/a; do
    KINDEX_TOKEN=$lender program token create within "$what"
    is "exit status for $what" $code 0
done
while read -r what scope; do
    KINDEX_TOKEN=$lender program token create beyond read:team "$what"
    is "exit status for $what" $code 1
    is "what is missing for $what" "$(grep -c "not have the scope $scope " "$work/complaint")" 1
done <<'END'
write:team write
list:team list
read,list,watch:team/a watch
index:team/a/b index
read: admin
monitor: admin
END
KINDEX_TOKEN=$lender program token ls
is 'the tokens that are beyond' "$(grep -c beyond "$work/said")" 0

test_case 'a token expires no later than its maker'
KINDEX_TOKEN=$operator program token create deputy admin,read:lent --ttl 1h
as "$(cat "$work/said")"
request GET /tokens '' --header "Authorization: Bearer $operator"
end=$(value '.tokens[] | select(.name == "deputy").expiresAt')
for ttl in '' ',"ttl":"2h"'; do
    request POST /tokens "{\"name\":\"lent\",\"grants\":[{\"scopes\":[\"read\"],\"prefix\":[\"lent\"]}]$ttl}" "${json[@]}" "${bearer[@]}"
    expect 201
    field .expiresAt "$end"
done
request POST /tokens '{"name":"lent","grants":[{"scopes":["read"],"prefix":["lent"]}],"ttl":"1m"}' "${json[@]}" "${bearer[@]}"
field ".expiresAt < $end" true
as "$operator"

test_case 'tokens are listed in pages, to each administrator those it may administer'
for i in 1 2 3 4 5; do
    KINDEX_TOKEN=$operator program token create "paged$i" read:paged/$i
done
KINDEX_TOKEN=$operator program token create pager admin:paged
gives .cursor null GET /tokens '' "${bearer[@]}"
all=$(value '[.tokens[].id]')
is 'in the order of their ids' "$(value '[.tokens[].id] | sort')" "$all"
list_pages() { # LIMIT
    local cursor='' ids=()
    until [ "$cursor" = null ]; do
        request GET "/tokens?limit=$1${cursor:+&cursor=$cursor}" '' "${bearer[@]}"
        [ "$status" = 200 ] || break
        is 'at most so many' "$(value "(.tokens | length) <= $1")" true
        ids+=("$(value '[.tokens[].id]')")
        cursor=$(value .cursor)
    done
    printf '%s\n' "${ids[@]}" | jq -cs add
}
is 'all pages' "$(list_pages 2)" "$all"
as "$(cat "$work/said")"
gives '[.tokens[].name] | sort' '["paged1","paged2","paged3","paged4","paged5","pager"]' GET /tokens '' "${bearer[@]}"
own=$(value '[.tokens[].id]')
is 'all pages' "$(list_pages 1)" "$own"
is 'all pages' "$(list_pages 6)" "$own"
request GET '/tokens?limit=1' '' "${bearer[@]}"
cursor=$(value .cursor)
for query in limit=0 limit=1001 limit=x cursor=x "cursor=${cursor}A" page=2; do
    answers 400 GET "/tokens?$query" '' "${bearer[@]}"
done
answers 400 cursor-mismatch GET "/list?prefix=paged&cursor=$cursor" '' --header "Authorization: Bearer $operator"
as "$operator"

# What is stored of it is a twentieth of that.
test_case 'a page of tokens with large grants ends early, the command line shows all'
grants=$(jq -nc --arg p "$(printf '\001%.0s' {1..2000})" '[range(2) | {scopes: ["read"], prefix: ["large", $p]}]')
for i in {1..200}; do
    printf 'next\nurl = "%s/tokens"\nheader = "Content-Type: application/json"\nheader = "%s"\ndata = "@%s"\noutput = "%s"\n' \
        "$url" "${bearer[1]}" "$work/large" "$work/null"
done | sed 1d >"$work/calls"
echo "{\"name\":\"large\",\"grants\":$grants}" >"$work/large"
curl -s --config "$work/calls"
answers 200 GET /tokens '' "${bearer[@]}"
field '.cursor != null and (.tokens | length) > 100 and (.tokens | length) < 200' true
is 'bytes' "$(($(stat -c %s "$answer") < 5000000))" 1
KINDEX_TOKEN=$operator program token ls -o raw
is 'ids' "$(sort -u "$work/said" | wc -l)" "$(($(jq length <<<"$all") + 200))"

test_case 'adopting entries needs the rights to list and to write them'
KINDEX_TOKEN=$operator program token create keeper index:mine index:people
keeper=$(cat "$work/said")
request PUT /kv/people/1 '{"name":"hidden"}' "${json[@]}" "${bearer[@]}"
request PUT /kv/mine/foreign/data 1 "${json[@]}" "${bearer[@]}"
adopting='{"name":"mine","prefix":["people"],"fields":["/name"],"adopt":true}'
for dry in '?dry=1' ''; do
    answers 403 forbidden POST "/indexes$dry" "$adopting" "${json[@]}" --header "Authorization: Bearer $keeper"
    is 'what is told' "$(grep -c 'hidden\|foreign' "$answer")" 0
done
answers 200 GET /kv/mine/foreign/data '' "${bearer[@]}"
KINDEX_TOKEN=$operator program token create adopter index,list,write:mine index,list:people
answers 200 POST '/indexes?dry=1' "$adopting" "${json[@]}" --header "Authorization: Bearer $(cat "$work/said")"

test_case 'an administrator of the covered keys cannot grant rights for the index'
KINDEX_TOKEN=$operator program token create local admin,index,read,write:users
as "$(cat "$work/said")"
for prefix in users users/x theirs; do
    request POST /tokens "{\"name\":\"given\",\"grants\":[{\"scopes\":[\"read\"],\"prefix\":$(jq -nc --arg p "$prefix" '$p | split("/")')}]}" \
        "${json[@]}" "${bearer[@]}"
    is "status for $prefix" "$status" $([ "$prefix" = theirs ] && echo 403 || echo 201)
done

finish
