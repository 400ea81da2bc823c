#!/bin/bash
# sum, min and max: KvU64 on KvU64, JSON number on JSON number.
. "$(dirname "$0")/../lib/http.sh"
start_server

# One mutation on the key n; says what is stored then.
u64() {
    request POST /atomic "{\"mutations\":[{\"type\":\"$1\",\"key\":[\"u\"],\"typed\":{\"type\":\"KvU64\",\"value\":\"$2\"}}]}"
    [ "$status" = 200 ] || expect 200
    request GET /kv/u
    value .value
}

number() {
    request POST /atomic "{\"mutations\":[{\"type\":\"$1\",\"key\":[\"n\"],\"value\":$2}]}"
    [ "$status" = 200 ] || value .code
    request GET /kv/n
    cat "$answer"
}

test_case 'a sum, min or max of a missing KvU64 stores its operand'
is 'after sum' "$(u64 sum 5)" 5
request DELETE /kv/u
is 'after min' "$(u64 min 7)" 7
request DELETE /kv/u
is 'after max' "$(u64 max 3)" 3

test_case 'a KvU64 is summed, and wraps at 2^64'
is 'sum' "$(u64 sum 2)" 5
is 'sum' "$(u64 sum 18446744073709551610)" 18446744073709551615
is 'sum beyond' "$(u64 sum 3)" 2

test_case 'min and max of a KvU64 compare without a sign'
is 'max' "$(u64 max 9223372036854775808)" 9223372036854775808
is 'max of less' "$(u64 max 5)" 9223372036854775808
is 'min of more' "$(u64 min 18446744073709551615)" 9223372036854775808
is 'min' "$(u64 min 1)" 1

test_case 'JSON numbers are summed as doubles'
is 'missing' "$(number sum 1)" 1
is 'integers' "$(number sum 41)" 42
is 'fractions' "$(number sum 0.5)" 42.5
is 'negative' "$(number sum -43.5)" -1
is 'large' "$(number max 9007199254740991)" 9007199254740991
is 'larger' "$(number sum 1e300)" 1e+300
is 'min' "$(number min -7.25)" -7.25
is 'min of more' "$(number min 3)" -7.25

test_case 'a number that min or max does not replace keeps its digits'
request PUT /kv/n 1.50
is 'min of more' "$(number min 2)" 1.50
is 'max of less' "$(number max 1)" 1.50

test_case 'a sum that is no finite number is refused'
request PUT /kv/n 1e308
request POST /atomic '{"mutations":[{"type":"set","key":["x"],"value":1},{"type":"sum","key":["n"],"value":1e308}]}'
expect 409 number-out-of-range
field .mutation 1
request GET /kv/n
body_is 1e308
answers 404 GET /kv/x

test_case 'a sum, min or max of another type is refused'
request PUT /kv/text '"1"'
request PUT /kv/bytes 1 -H 'Content-Type: text/plain'
for key in text bytes u; do
    answers 409 type-mismatch POST /atomic "{\"mutations\":[{\"type\":\"sum\",\"key\":[\"$key\"],\"value\":1}]}"
done
for key in text bytes n; do
    request POST /atomic "{\"mutations\":[{\"type\":\"max\",\"key\":[\"$key\"],\"typed\":{\"type\":\"KvU64\",\"value\":\"1\"}}]}"
    expect 409 type-mismatch
    field .key "[\"$key\"]"
done
field '[.detail, .hint] | all(length > 10)' true

test_case 'sums of many concurrent clients are exact'
for i in {1..40}; do
    curl -s -o "$work/null" "$url/atomic" -d '{"mutations":[{"type":"sum","key":["c"],"typed":{"type":"KvU64","value":"3"}},{"type":"sum","key":["d"],"value":1}]}' &
done
counted_40() { request GET /kv/c; [ "$(value .value)" = 120 ]; }
wait_until counted_40
field .value 120
request GET /kv/d
body_is 40

finish
