#!/bin/bash
# Every write that was answered with 2xx is there after a stop, also one under load.
. "$(dirname "$0")/../lib/http.sh"
start_server
request POST /indexes '{"name":"by_v","prefix":["w"],"fields":["/v"],"unique":true}'

# Four clients write one entry after the other, until the server is gone; the
# entries that were acknowledged are noted.
for client in 1 2 3 4; do
    i=0
    while answered=$(curl -s -o "$work/null" -w '%{http_code}' -X PUT "$url/kv/w/$client/=$i" -d "{\"v\":\"$client.$i\"}"); do
        [ "$answered" != 201 ] || echo "$client $i"
        i=$((i + 1))
    done >"$work/stored.$client" &
    writers+=($!)
done
enough() { [ "$(cat "$work"/stored.* | wc -l)" -ge 100 ]; }
wait_until enough

test_case 'a server stops in order in the middle of writes'
stop_server
is 'its exit status' $? 0
wait "${writers[@]}"
is 'the log of its end' "$(grep -c event=stopping "$log")" 1

test_case 'every acknowledged write is there after a restart'
start_server
request GET '/list?prefix=w' '' -H 'Accept: application/x-ndjson'
jq -r 'select(.key) | "\(.key[1]) \(.key[2])"' "$answer" | sort >"$work/there"
cat "$work"/stored.* | sort >"$work/stored"
is 'the entries missing' "$(comm -13 "$work/there" "$work/stored")" ''
# A write may have been stored without its answer getting through: one each.
is 'the entries without an answer' "$(($(comm -23 "$work/there" "$work/stored" | wc -l) <= 4))" 1

test_case 'the index equals the entries after a restart'
request GET '/list?prefix=by_v' '' -H 'Accept: application/x-ndjson'
jq -r 'select(.key) | .key[1] | sub("\\."; " ")' "$answer" | sort >"$work/indexed"
is 'the difference' "$(diff "$work/there" "$work/indexed")" ''
request GET /indexes/by_v
field '[.state, .entries]' "[\"ready\",$(wc -l <"$work/there")]"

test_case 'versionstamps continue after a restart'
request GET '/list?prefix=w' '' -H 'Accept: application/x-ndjson'
last=$(jq -r 'select(.key) | .versionstamp' "$answer" | sort | tail -1)
request PUT /kv/after 1
is 'the order' "$([[ $(value .versionstamp) > $last ]] && echo later)" later

test_case 'every acknowledged write is there after SIGKILL'
for client in 5 6; do
    i=0
    while answered=$(curl -s -o "$work/null" -w '%{http_code}' -X PUT "$url/kv/w/$client/=$i" -d "{\"v\":\"$client.$i\"}"); do
        [ "$answered" != 201 ] || echo "$client $i"
        i=$((i + 1))
    done >"$work/stored.$client" &
done
enough() { [ "$(cat "$work"/stored.[56] | wc -l)" -ge 50 ]; }
wait_until enough
kill -KILL "$server"
wait_until server_is_gone
start_server
request GET '/list?prefix=w' '' -H 'Accept: application/x-ndjson'
jq -r 'select(.key) | "\(.key[1]) \(.key[2])"' "$answer" | sort >"$work/there"
cat "$work"/stored.* | sort >"$work/stored"
is 'the entries missing' "$(comm -13 "$work/there" "$work/stored")" ''
request GET '/list?prefix=by_v' '' -H 'Accept: application/x-ndjson'
jq -r 'select(.key) | .key[1] | sub("\\."; " ")' "$answer" | sort >"$work/indexed"
is 'the difference of index and entries' "$(diff "$work/there" "$work/indexed")" ''

finish
