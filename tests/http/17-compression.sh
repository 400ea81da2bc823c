#!/bin/bash
# Compressed request bodies, and replies compressed by --compress: they store and
# show the same as uncompressed ones, and no body decompresses beyond its limit.
. "$(dirname "$0")/../lib/http.sh"
needs zstd
start_server --compress on --value-max 64KiB --body-max 128KiB --bulk-max 256KiB
ndjson=(--header 'Content-Type: application/x-ndjson')
coded() { encoding=(--header "Content-Encoding: $1"); }
accept() { wanted_coding=(--header "Accept-Encoding: $1"); }
# Compresses the text to $work/packed in the coding that `coded` has set.
pack() {
    case ${encoding[1]} in
    *zstd) zstd -qc >"$work/packed" ;;
    *) gzip -nc >"$work/packed" ;;
    esac <<<"$1"
}
# Sends what pack wrote: METHOD PATH [CURL-OPTION...]
send() { request "$1" "$2" "@$work/packed" "${encoding[@]}" "${@:3}"; }
# Prints the decompressed answer.
expanded() {
    case $(header_value Content-Encoding) in
    gzip) gzip -dc "$answer" ;;
    zstd) zstd -qdc "$answer" ;;
    *) cat "$answer" ;;
    esac
}
zeros() { head -c "$1" /dev/zero | tr '\0' 0; }
large="{\"text\":\"$(zeros 3000)\"}"

for coding in gzip zstd; do
    coded $coding
    accept $coding

    test_case "a value, an atomic commit and lines may come in $coding"
    pack "{\"by\":\"$coding\"}"
    send PUT /kv/packed/$coding
    expect 201
    gives .by $coding GET /kv/packed/$coding
    header Content-Encoding ''
    pack "{\"mutations\":[{\"type\":\"set\",\"key\":[\"packed\",\"atomic\"],\"value\":\"$coding\"}]}"
    send POST /atomic
    expect 200
    gives . $coding GET /kv/packed/atomic
    pack '{"key":["packed","line"],"value":1}'
    send POST /bulk "${ndjson[@]}"
    expect 200
    gives . 1 GET /kv/packed/line
    pack '{"c":1}'
    send PATCH /kv/packed/$coding --http2-prior-knowledge
    expect 200
    gives . "{\"by\":\"$coding\",\"c\":1}" GET /kv/packed/$coding
    pack '{"keys":[["packed","line"]]}'
    send POST /get
    expect 200

    test_case "several members or frames of $coding are one body"
    pack '{"a":'
    cp "$work/packed" "$work/first"
    pack '1}'
    cat "$work/packed" >>"$work/first"
    cp "$work/first" "$work/packed"
    send PUT /kv/packed/parts
    expect 201
    gives .a 1 GET /kv/packed/parts
    request DELETE /kv/packed/parts

    test_case "$coding data that is cut off, damaged or followed by other bytes is refused, and nothing is stored"
    pack "$large"
    cp "$work/packed" "$work/whole"
    for size in 0 1 4 11 $(($(wc -c <"$work/whole") - 1)); do
        head -c $size "$work/whole" >"$work/packed"
        send PUT /kv/broken
        expect 400 bad-request
        is "what is said of $size bytes" "$(value '.detail | contains("'$coding'")')" true
    done
    { cat "$work/whole"; printf 'more'; } >"$work/packed"
    send PUT /kv/broken
    expect 400 bad-request
    printf '"plain"' >"$work/packed"
    send PUT /kv/broken
    expect 400 bad-request
    answers 404 key-not-found GET /kv/broken

    test_case "$coding that expands to more than the limit is refused, however small it comes"
    pack "\"$(zeros 65534)\""
    send PUT /kv/limit # 64 KiB with the line break
    expect 413 value-too-large
    field .limit 65536
    field '.detail | contains("expands to 65537 bytes or more")' true
    head -c 65536 <<<"\"$(zeros 65534)\"" >"$work/exact"
    case $coding in zstd) zstd -qc ;; *) gzip -nc ;; esac <"$work/exact" >"$work/packed"
    send PUT /kv/limit
    expect 201
    request DELETE /kv/limit
    head -c 200000000 /dev/zero | case $coding in zstd) zstd -qc ;; *) gzip -nc1 ;; esac >"$work/bomb"
    head -c 60000 "$work/bomb" >"$work/packed"
    send PUT /kv/bomb
    expect 413 value-too-large
    head -c 120000 "$work/bomb" >"$work/packed"
    send POST /atomic
    expect 413 payload-too-large
    send POST /bulk "${ndjson[@]}"
    expect 413 payload-too-large
    field .limit 262144

    test_case "a write in $coding and its repetition without are one request under an Idempotency-Key"
    under=(--header "Idempotency-Key: \"$coding\"")
    printf '{"once":true}' | case $coding in zstd) zstd -qc ;; *) gzip -nc ;; esac >"$work/packed"
    send PUT /kv/once/$coding "${under[@]}"
    expect 201
    request PUT /kv/once/$coding '{"once":true}' "${under[@]}"
    expect 201
    header Idempotency-Replayed true

    test_case "a large reply is sent in $coding to a client that accepts it, with another tag"
    request PUT /kv/large "$large"
    tag=$(header_value ETag)
    for version in --http1.1 --http2-prior-knowledge; do
        answers 200 GET /kv/large '' "${wanted_coding[@]}" $version
        header Content-Encoding $coding
        header Vary Accept-Encoding
        header Content-Length "$(wc -c <"$answer")"
        header ETag "${tag%?}-$coding\""
        is 'the value' "$(expanded)" "$large"
        is 'whether it is smaller' $(($(wc -c <"$answer") < 1000)) 1
        length=$(header_value Content-Length)
        request HEAD /kv/large '' "${wanted_coding[@]}" --head $version
        header Content-Length "$length"
        header Content-Encoding $coding
        header ETag "${tag%?}-$coding\""
    done
    answers 200 GET /kv/large
    header Content-Encoding ''
    header ETag "$tag"
    header Vary Accept-Encoding
    body_is "$large"

    test_case "conditions take the tag of a reply in $coding"
    request GET /kv/large '' "${wanted_coding[@]}" --header "If-None-Match: ${tag%?}-$coding\""
    expect 304
    header ETag "${tag%?}-$coding\""
    header Vary Accept-Encoding
    request GET /kv/large '' "${wanted_coding[@]}" --header "If-None-Match: $tag"
    expect 304
    header ETag "$tag"
    request PUT /kv/large "$large" --header "If-Match: ${tag%?}-$coding\""
    expect 200
    answers 412 precondition-failed PUT /kv/large 1 --header "If-Match: ${tag%?}-$coding\""

    test_case "a list is sent in $coding, as one document and as lines, also when it is long"
    for i in {1..40}; do
        printf '{"key":["many",%d],"value":"%s"}\n' $i "$(zeros 4000)$i"
    done >"$work/lines"
    request POST /bulk "@$work/lines" "${ndjson[@]}"
    request GET '/list?prefix=many&limit=30'
    cp "$answer" "$work/plain"
    answers 200 GET '/list?prefix=many&limit=30' '' "${wanted_coding[@]}"
    header Content-Encoding $coding
    is 'the difference' "$(expanded | cmp - "$work/plain" 2>&1)" ''
    request GET '/list?prefix=many' '' --header 'Accept: application/x-ndjson'
    header Vary '*Accept-Encoding*'
    cp "$answer" "$work/plain"
    is 'how many lines' "$(wc -l <"$work/plain")" 41
    for version in --http1.1 --http1.0 --http2-prior-knowledge; do
        request GET '/list?prefix=many' '' --header 'Accept: application/x-ndjson' "${wanted_coding[@]}" $version
        header Content-Encoding $coding
        is 'the difference' "$(expanded | cmp - "$work/plain" 2>&1)" ''
        is 'whether it is smaller' $(($(wc -c <"$answer") < 20000)) 1
    done
    for i in {1..6000}; do
        printf '{"key":["lines",%d],"value":1}\n' $i
    done >"$work/lines"
    request POST /bulk "@$work/lines" "${ndjson[@]}" "${wanted_coding[@]}"
    header Content-Encoding $coding
    is 'how many entries were stored' "$(expanded | jq -s 'last.stored')" 6000
done

test_case 'the weights of Accept-Encoding choose'
while IFS='|' read -r said chosen; do
    request GET /kv/large '' --header "Accept-Encoding: $said"
    header Content-Encoding "$chosen"
done <<'END'
gzip, zstd|zstd
gzip;q=1.0, zstd;q=0.999|gzip
ZSTD;q=0, GZip|gzip
gzip;q=0|
gzip;q=0.000, *|zstd
*|zstd
*;q=0, gzip|gzip
*;q=0|
identity, gzip;q=0.5|
identity;q=0.1, gzip;q=0.5|gzip
br, deflate|
gzip;q=x|
gzip ; q=0.5 , ,|gzip
x-gzip|gzip
gzipped|
END

test_case 'small replies, replies with secrets, compressed values and events are sent as they are'
request PUT /kv/small "\"$(zeros 1021)\""
accept 'gzip, zstd'
answers 200 GET /kv/small '' "${wanted_coding[@]}"
header Content-Encoding ''
header Vary ''
request PUT /kv/small "\"$(zeros 1022)\""
answers 200 GET /kv/small '' "${wanted_coding[@]}"
header Content-Encoding zstd
head -c 5000 /dev/zero >"$work/image"
request PUT /kv/image "@$work/image" --header 'Content-Type: image/png'
answers 200 GET /kv/image '' "${wanted_coding[@]}"
header Content-Encoding ''
head -c 1500 /dev/urandom | base64 -w0 >"$work/text"
gzip -nc "$work/text" | head -c 1100 >"$work/dense"
request PUT /kv/dense "@$work/dense" --header 'Content-Type: text/plain'
answers 200 GET /kv/dense '' --header 'Accept-Encoding: gzip'
header Content-Encoding ''
is 'the difference' "$(cmp "$answer" "$work/dense" 2>&1)" ''
request GET '/watch?key=["large"]' '' "${wanted_coding[@]}" --max-time 0.3
header Content-Encoding ''
is 'the beginning' "$(head -c 6 "$answer")" 'retry:'

test_case 'an unknown coding is refused, and the answer names the known ones'
for coding in deflate 'gzip, zstd' gzip,gzip; do
    for door in 'PUT /kv/x' 'POST /atomic' 'POST /indexes' 'POST /bulk'; do
        request ${door% *} "${door#* }" '{}' --header "Content-Encoding: $coding"
        expect 415 unsupported-media-type
        header Accept-Encoding 'gzip, zstd'
        field .supported '["gzip","zstd","identity"]'
    done
done
answers 201 PUT /kv/x 1 --header 'Content-Encoding: Identity'
answers 200 GET /kv/x '' --header 'Content-Encoding: br'

test_case 'zstd with a window above 8 MiB is refused'
head -c 9000000 /dev/zero | zstd -qc --ultra --long=24 >"$work/packed"
coded zstd
send PUT /kv/window
expect 400 bad-request
field '.detail | contains("window of more than 8388608 bytes")' true

test_case 'without --compress replies are sent as they are, and bodies may be compressed'
stop_server
start_server
request PUT /kv/large "$large"
answers 200 GET /kv/large '' --header 'Accept-Encoding: gzip, zstd'
header Content-Encoding ''
header Vary ''
body_is "$large"
coded gzip
pack 1
send PUT /kv/packed/off
expect 201

test_case 'a reply with a token, a ticket or receipts is never compressed'
stop_server
start_server --compress on
accept gzip
request POST /indexes '{"name":"due","prefix":["jobs"],"fields":["/due"],"queue":{"lease":"60s"}}' --header 'Prefer: wait=10'
expect 201
request PUT /kv/jobs/1 "{\"due\":\"2020-01-01T00:00:00Z\",\"text\":\"$(zeros 3000)\"}"
request POST /queues/due/claim '' "${wanted_coding[@]}"
expect 200
header Content-Encoding ''
is 'how many jobs' "$(value '.jobs | length')" 1
stop_server
start_server --compress on --token-file "$work/token"
owner=(--header "Authorization: Bearer $(cat "$work/token")")
for i in {1..16}; do
    printf '{"scopes":["read"],"prefix":["%s"]}\n' "$(zeros 100)$i"
done | jq -sc '{name:"x",grants:.}' >"$work/grants"
answers 201 POST /tokens "@$work/grants" "${owner[@]}" "${wanted_coding[@]}" --header 'Content-Type: application/json'
header Content-Encoding ''
is 'whether it is large' $(($(wc -c <"$answer") > 1024)) 1
answers 200 GET "/tokens/$(value .id)" '' "${owner[@]}" "${wanted_coding[@]}"
header Content-Encoding gzip
finish
