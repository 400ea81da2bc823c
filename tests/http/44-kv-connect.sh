#!/bin/bash
# KV Connect, with messages written out byte by byte: what Deno and @deno/kv
# send, how it goes together with REST, and what is refused.
. "$(dirname "$0")/../lib/http.sh"
start_server --host-names kv.example

# Messages are written as hexadecimal digits. varint NUMBER, text TEXT
varint() {
    local number=$1
    for (( ; number > 127; number >>= 7)); do
        printf '%02x' $((number & 127 | 128))
    done
    printf '%02x' "$number"
}

text() {
    printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n'
}

# field NUMBER HEX...: bytes or a message.  number NUMBER VALUE
field_of() {
    local number=$1 hex
    shift
    hex=$(printf '%s' "$@")
    printf '%02x%s%s' $((number << 3 | 2)) "$(varint $((${#hex} / 2)))" "$hex"
}

number() {
    printf '%02x%s' $(($1 << 3)) "$(varint "$2")"
}

# A string as a part of a key.
part() {
    printf '02%s00' "$(text "$1")"
}

# mutation TYPE KEY [ENCODING VALUE]    check KEY [STAMP]    range START END LIMIT
mutation() {
    field_of 2 "$(field_of 1 "$2")" \
        "${3:+$(field_of 2 "$(field_of 1 "$4")" "$(number 2 "$3")")}" \
        "$(number 3 "$1")"
}

check() {
    field_of 1 "$(field_of 1 "$1")" "${2:+$(field_of 2 "$2")}"
}

range() {
    field_of 1 "$(field_of 1 "$1")" "$(field_of 2 "$2")" "$(number 3 "$3")"
}

V8=1 LE64=2 BYTES=3 SET=1 SUM=3

to_bytes() {
    # shellcheck disable=SC2059 # the format is the message
    printf "$(sed 's/../\\x&/g' <<<"$1")" >"$work/message"
}

# message PATH HEX [CURL-OPTION...]
message() {
    to_bytes "$2"
    request POST "$1" "@$work/message" \
        -H 'Content-Type: application/x-protobuf' "${@:3}"
}

# The answer as hexadecimal digits.
bytes() {
    od -An -v -tx1 "$answer" | tr -d ' \n'
}

refused() {
    is status "$status" "$1"
    header Content-Type 'text/plain*'
    is "words about $2" "$(grep -c "$2" "$answer")" 1
}

test_case 'the KV Connect metadata has version, database and endpoint'
answers 200 POST / '{"supportedVersions":[1,2,3]}' -H 'Authorization: Bearer abc'
header Content-Type application/json
field 'keys' '["databaseId","endpoints","expiresAt","token","version"]'
field '[.version, .endpoints, .token]' '[3,[{"url":"/v2","consistency":"strong"}],"abc"]'
field '.expiresAt | fromdate > now + 365 * 86400' true
id=$(value .databaseId)
gives .token abc POST / '{"supportedVersions":[3]}' -H 'Authorization: bearer  abc'

test_case 'version 1 of KV Connect gets the address that the client has used'
answers 200 POST / '' -H 'Host: kv.example:99'
field '[.version, .endpoints[0].url]' '[1,"http://kv.example:99/v2"]'

test_case 'unsupported versions of KV Connect are refused with the reason'
for versions in '[4]' '[0,9]' '[]' '["3"]' '3'; do
    request POST / "{\"supportedVersions\":$versions}"
    refused 400 '1, 2 or 3'
done

test_case 'KV Connect opens at any path, and a wrong request there is still refused'
answers 200 POST /my/database '{"supportedVersions":[2,3]}'
field '[.version, .databaseId]' "[3,\"$id\"]"
answers 404 not-found POST /atomics '{"mutations":[]}'
answers 404 not-found POST /atomics
answers 405 method-not-allowed POST /count '{"supportedVersions":[3]}'

test_case 'KV Connect answers the same over HTTP/2'
answers 200 POST / '{"supportedVersions":[3]}' --http2-prior-knowledge
field .databaseId "$id"
message /v2/snapshot_read '' --http2-prior-knowledge
is 'the bytes' "$(bytes)" 20014001

test_case 'a value set over KV Connect is read over REST, and vice versa'
one=$(part u)21bff0000000000000 two=$(part u)21c000000000000000
object=ff0f6f2201614902 # {"a":1}, but for its end
message /v2/atomic_write "$(mutation $SET "$one" $V8 "${object}7b01")"
expect 200
header Content-Type application/x-protobuf
is 'the bytes' "$(bytes)" 0801120a00000000000000010000
answers 200 GET /kv/u/=1
header Content-Type application/json
body_is '{"a":1}'
request PUT /kv/u/=2 '{"a":2}'
message /v2/snapshot_read "$(range "$two" "${two}00" 1)"
expect 200
header Content-Type application/x-protobuf
is 'the bytes' "$(bytes)" "$(field_of 1 "$(field_of 1 "$(field_of 1 "$two")" \
    "$(field_of 2 ff0f6f22016149047b01)" 1801 \
    "$(field_of 4 00000000000000020000)")")20014001"

# What a Deno program on x86 stores with kv.set(["nk", Infinity - Infinity], 1).
nan=$(part nk)21fff8000000000000 negative_nan=$(part nk)210007ffffffffffff
test_case 'a NaN with a sign is a key of its own, and each NaN has one text'
message /v2/atomic_write "$(mutation $SET "$nan" $V8 "${object}7b01")$(mutation $SET "$negative_nan" $BYTES 2a)"
expect 200
gives '[.entries[].key[1].value]' '["-NaN","NaN"]' GET '/list?prefix=nk'
gives '[.entries[].key[1].value]' '["-NaN"]' GET '/list?prefix=nk&limit=1'
gives '[.entries[].key[1].value]' '["NaN"]' GET "/list?prefix=nk&cursor=$(value .cursor)"
request GET /kv/nk/=-NaN
body_is '*'
request GET /kv/nk/=NaN
body_is '{"a":1}'
request GET '/kv?key=%5B%22nk%22%2C%7B%22type%22%3A%22number%22%2C%22value%22%3A%22-NaN%22%7D%5D'
body_is '*'
"$KINDEX" export nk --url "$url" >"$work/nan"
gives .deleted 2 DELETE '/list?prefix=nk'
"$KINDEX" import --url "$url" "$work/nan" 2>"$work/said"
gives '[.entries[].key[1].value]' '["-NaN","NaN"]' GET '/list?prefix=nk'
message /v2/snapshot_read "$(range "$negative_nan" "${negative_nan}00" 1)"
is 'entries with the key' "$(bytes | grep -c "$negative_nan")" 1
answers 204 DELETE /kv/nk/=-NaN
gives '[.entries[].key[1].value]' '["NaN"]' GET '/list?prefix=nk'
request DELETE '/list?prefix=nk'

test_case 'an encoding of a NaN or a bigint that no Deno program makes is no key'
for encoded in 21fff8000000000001 21fff0000000000001 210007fffffffffffe 210000000000000000 160001 1d0107 13ff 0bfef8; do
    message /v2/atomic_write "$(mutation $SET "$(part nk)$encoded" $BYTES 2a)"
    refused 400 'as Deno KV encodes it'
    message /v2/atomic_write "$(check "$(part nk)$encoded")"
    refused 400 'as Deno KV encodes it'
done
gives .count 0 GET '/count?prefix=nk'

test_case 'a V8 value that is cut off is not stored'
message /v2/atomic_write "$(mutation $SET "$one" $V8 "$object")"
refused 400 V8
request GET /kv/u/=1
body_is '{"a":1}'

test_case 'an expiry later than JSON can show is shown as the latest one'
message /v2/atomic_write "$(field_of 2 "$(field_of 1 "$(part late)")" \
    "$(field_of 2 "$(field_of 1 ff0f30)" "$(number 2 $V8)")" \
    "$(number 3 $SET)" "$(number 4 9223372036854775807)")"
expect 200
gives '.entries[0] | [.key, .expiresAt]' '[["late"],9007199254740991]' GET '/list?prefix=[]&keys=true&limit=1'
request DELETE /kv/late

test_case 'a failed check of KV Connect is returned by its number, and nothing is stored'
message /v2/atomic_write "$(check "$(part z)")$(check "$one")$(mutation $SET "$(part z)" $BYTES 00)"
expect 200
is 'the bytes' "$(bytes)" 0802220101
answers 404 GET /kv/z
message /v2/atomic_write "$(check "$one" 00000000000000010000)$(check "$one" 00000000000000010001)"
is 'the bytes' "$(bytes)" 0802220101

test_case 'a violation of a unique index is a failed check without a number'
request POST /indexes '{"name":"by_a","prefix":["u"],"fields":["/a"],"unique":true}'
until_field .state ready GET /indexes/by_a
message /v2/atomic_write "$(mutation $SET "$(part u)$(part x)" $V8 ff0f6f22016149047b01)"
expect 200
is 'the bytes' "$(bytes)" 0802
answers 404 GET /kv/u/x

test_case 'KV Connect refuses a key of an index with the reason'
message /v2/atomic_write "$(mutation $SET "$(part by_a)$(part x)" $BYTES 00)"
refused 409 by_a

test_case 'KV Connect refuses a KvU64 sum of another value in the words of Deno, and stores nothing'
message /v2/atomic_write "$(mutation $SET "$(part z)" $BYTES 00)$(mutation $SUM "$one" $LE64 0100000000000000)"
refused 409 "Failed to perform 'sum' mutation on a non-U64 value in the database"
answers 404 GET /kv/z

# limited_sum KEY OPERAND LIMIT...: a limit is a field of the mutation.
limited_sum() {
    field_of 2 "$(field_of 1 "$1")" \
        "$(field_of 2 "$(field_of 1 "$2")" "$(number 2 $V8)")" \
        "$(number 3 $SUM)" "${@:3}"
}

# least VALUE, most VALUE: sum_min and sum_max
least() { field_of 5 "$1"; }
most() { field_of 6 "$1"; }
clamp=$(number 7 1)

test_case 'a sum beyond its limits is refused, or clamped if requested'
sum=$(part sum) five=ff0f490a eight=ff0f4910 minus_twenty=ff0f4927
bigint=ff0f5a100800000000000000
message /v2/atomic_write "$(limited_sum "$sum" $five "$(most $eight)" "$clamp")"
request GET /kv/sum
body_is 5
message /v2/atomic_write "$(limited_sum "$sum" $five "$(most $eight)")"
refused 409 'would exceed its range limit'
request GET /kv/sum
body_is 5
message /v2/atomic_write "$(limited_sum "$sum" $five "$(most $eight)" "$clamp")"
expect 200
request GET /kv/sum
body_is 8
message /v2/atomic_write "$(limited_sum "$sum" $minus_twenty "$(least $five)" "$(most $eight)" "$clamp")"
request GET /kv/sum
body_is 5
message /v2/atomic_write "$(limited_sum "$sum" $minus_twenty "$(least $five)")"
refused 409 'would exceed its range limit'
message /v2/atomic_write "$(limited_sum "$sum" $minus_twenty "$(most $eight)")"
expect 200
request GET /kv/sum
body_is -15

test_case 'malformed limits of a sum over KV Connect are refused with the reason'
message /v2/atomic_write "$(limited_sum "$sum" $five "$(most $bigint)")"
refused 409 'different types'
message /v2/atomic_write "$(limited_sum "$sum" $five "$(least "${bigint%00}")")"
refused 409 'not valid V8'
message /v2/atomic_write "$(limited_sum "$sum" $five "$(least ff0f54)")"
refused 409 'not valid V8'
request GET /kv/sum
body_is -15

test_case 'a KV Connect watch sends all its keys at once, and a sign of life every 5 seconds'
request PUT /kv/w 1
stamp=$(curl --silent --head "$url/kv/w" | sed -n 's/^ETag: "\(.*\)"\r/\1/p')
first=0801$(field_of 2 0801 "$(field_of 2 "$(field_of 1 "$(part w)")" "$(field_of 2 ff0f4902)" 1801 \
    "$(field_of 4 "$stamp")")")$(field_of 2 0801)
frames=$(printf '%02x' $((${#first} / 2)))000000${first}00000000
to_bytes "$(field_of 1 "$(field_of 1 "$(part w)")")$(field_of 1 "$(field_of 1 "$(part none)")")"
curl --silent --no-buffer --max-time "$longest" --data-binary "@$work/message" "$url/v2/watch" |
    head -c $((${#frames} / 2)) >"$answer"
is 'the bytes' "$(bytes)" "$frames"
for count in 0 11; do
    message /v2/watch "$(for ((i = 0; i < count; i++)); do field_of 1 "$(field_of 1 "$(part w)")"; done)"
    refused 400 '1 to 10'
done
message /v2/watch "$(field_of 1 "$(field_of 1 01ff)")"
refused 400 key

test_case 'KV Connect refuses queues with the reason'
message /v2/atomic_write "$(mutation $SET "$(part z)" $BYTES 00)$(field_of 3 "$(field_of 1 ff0f30)")"
refused 400 'Enqueue operations are not supported'
answers 404 GET /kv/z

test_case 'KV Connect refuses large, excessive and cross-origin requests in plain text'
head -c 70000 /dev/zero >"$work/large"
request POST /v2/snapshot_read "@$work/large"
refused 413 65536
message /v2/snapshot_read "$(range 27 ff 1001)"
refused 400 1001
message /v2/snapshot_read '' -H 'Origin: http://elsewhere.example'
refused 403 Origin
message '/v2/snapshot_read?limit=1' ''
refused 400 limit
message /v2/snapshot_read '' -H 'x-denokv-version: 9'
refused 400 version
message /v2/snapshot_read '' -H 'x-denokv-database-id: 00000000-0000-0000-0000-000000000000'
refused 400 "$id"
answers 405 method-not-allowed GET /v2/snapshot_read

test_case 'a reply of KV Connect has room for a hundred values of 1 MiB'
stop_server
start_server --value-max 50MiB
head -c $((50 << 20)) /dev/zero >"$work/large"
for i in 1 2 3; do
    request PUT "/kv/large/$i" "@$work/large" -H 'Content-Type: application/octet-stream'
done
message /v2/snapshot_read "$(range "$(part large)00" "$(part large)ff" 2)"
expect 200
is 'size' "$(($(stat -c %s "$answer") / (50 << 20)))" 2
message /v2/snapshot_read "$(range "$(part large)00" "$(part large)ff" 3)"
refused 413 batchSize
message /v2/snapshot_read "$(for i in 1 2 3; do range "$(part large)$(part $i)" "$(part large)$(part $i)00" 1; done)"
refused 413 batchSize
request DELETE /list?prefix=large

test_case 'the database keeps its name over a restart'
stop_server
start_server --host-names kv.example
gives .databaseId "$id" POST / '{"supportedVersions":[3]}'

finish
