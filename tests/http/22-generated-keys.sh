#!/bin/bash
# POST /kv/<prefix> makes the last key part: a ULID, later ones sort later.
. "$(dirname "$0")/../lib/http.sh"
start_server

test_case 'POST stores an entry under a new key, and Location names it'
answers 201 POST /kv/orders/2024 '{"total":1}'
field '.key[:2]' '["orders","2024"]'
field '.key[2] | test("^[0-7][0-9A-HJKMNP-TV-Z]{25}$")' true
header Location "/kv/orders/2024/$(value '.key[2]')"
header ETag "\"$(value .versionstamp)\""
is 'what is there' "$(curl -s "$url$(header_value Location)")" '{"total":1}'

test_case 'the Location of a key with other types leads back to it'
answers 201 POST '/kv/%2F/=42/=%22%22' 1
header Location '/kv/%2F/=42/=%22%22/*'
answers 200 GET "$(header_value Location)"
request POST /kv 2 --url-query 'key=["x",{"type":"bigint","value":"7"}]'
header Location '/kv/x/=7n/*'

test_case 'POST without a prefix makes the ULID the whole key'
answers 201 POST /kv 3
field '.key | length' 1

test_case 'entries with generated keys are listed in the order of their creation'
for i in {1..30}; do
    request POST /kv/log "$i"
    [ "$status" = 201 ] || expect 201
done
gives '[.entries[].value] == [range(1; 31)]' true GET /list?prefix=log

test_case 'concurrent POSTs get different keys'
for i in {1..40}; do curl -s -o "$work/null" "$url/kv/many" -d "$i" & done
posted() { request GET /count?prefix=many; [ "$(value .count)" = 40 ]; }
wait_until posted
field .count 40
gives '[.entries[].value] | sort == [range(1; 41)]' true GET /list?prefix=many

test_case 'a new entry accepts a time to live and any media type'
answers 201 POST '/kv/files?ttl=1h' 'hello' -H 'Content-Type: text/plain'
gives '.entries[0] | [.typed.mediaType, has("expiresAt")]' '["text/plain",true]' GET /list?prefix=files

test_case 'POST refuses a prefix too long for one more part'
answers 201 POST "/kv/$(printf '%02018d' 0)" 1
answers 400 key-too-long POST "/kv/$(printf '%02019d' 0)" 1

# Fifty headers of so many bytes each, in $padding.
pad() {
    padding=()
    for i in {1..50}; do
        padding+=(-H "X-Padding-$i: $(printf "%0$1d" 0)")
    done
}

test_case 'a long Location fits beside a request with long headers'
long=$(printf '%%C3%%BC%.0s' {1..1000})
pad 50
answers 201 POST "/kv/$long" 1 "${padding[@]}"
header Location "/kv/$long/*"
gives .count 1 GET "/count?prefix=$long"
request PUT "/kv/owned/$long" '{"e":"x"}'
request POST /indexes '{"name":"by_e","prefix":["owned"],"fields":["/e"],"unique":true}' -H 'Prefer: wait=30'
pad 150
answers 200 GET /indexes/by_e/get/x '' "${padding[@]}"
header Content-Location "/kv/owned/$long"

finish
