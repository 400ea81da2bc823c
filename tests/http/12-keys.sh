#!/bin/bash
# Typed keys, in paths and as ?key=: a part is what was written, never guessed.
. "$(dirname "$0")/../lib/http.sh"
start_server

# Sets the key given as a path, and asks which key that was.
key_of() {
    request PUT "/kv/k/$1" 1
    request GET '/list?prefix=k'
    value '.entries[0].key[1:]'
    curl -gs --path-as-is -X DELETE "$url/kv/k/$1"
}

test_case 'a path segment is a string'
is 'a word' "$(key_of ada)" '["ada"]'
is 'digits' "$(key_of 42)" '["42"]'
is 'true' "$(key_of true)" '["true"]'
is 'the empty JSON array' "$(key_of '%5B%5D')" '["[]"]'
is 'a plus' "$(key_of a+b)" '["a+b"]'
is 'an encoded space' "$(key_of 'a%20b')" '["a b"]'
is 'a quote' "$(key_of "a%22b'c")" "[\"a\\\"b'c\"]"
is 'an encoded equals sign' "$(key_of '%3D42')" '["=42"]'
is 'an equals sign within' "$(key_of 'a=42')" '["a=42"]'
is 'letters outside ASCII' "$(key_of 'gr%C3%BC%C3%9Fe/%F0%9F%8D%8E')" '["grüße","🍎"]'
is 'three dots' "$(key_of '...')" '["..."]'

# URLSearchParams, and the libraries of most languages, write a space as a plus.
test_case 'a plus in a query is refused: it may be meant as a space'
for target in 'list?prefix=a+b' 'list?start=a+b&end=c' \
    'count?prefix=["a+b"]' 'watch?key=a+b'; do
    answers 400 bad-parameter GET "/$target"
    field '.detail | test("write %2B or %20")' true
done
answers 400 bad-parameter PUT '/kv?key=["a+b"]' 1
answers 201 PUT '/kv?key=%5B%22k%22,%22a%2Bb%22%5D' '"plus"'
answers 201 PUT '/kv?key=%5B%22k%22,%22a%20b%22%5D' '"space"'

# They escape the bracket of a JSON array, and the plus.
test_case 'a plus is a space in the percent-encoded JSON array of a query'
answers 200 GET '/kv?key=%5B%22k%22,+%22a+b%22%5d'
body_is '"space"'
answers 200 GET '/kv?key=%5b%22k%22,+%22a%2Bb%22%5D'
body_is '"plus"'
answers 200 GET '/list?prefix=%5B%22k%22+%5D&keys=1'
answers 400 bad-parameter GET '/kv?key=%5B%22k%22,%22a%+b%22%5D'
request GET /kv/k/a+b
body_is '"plus"'
gives '[.entries[].key[1]]' '["a b","a+b"]' GET '/list?prefix=k'
request DELETE '/list?prefix=k'

test_case 'an encoded slash stays within its part'
is 'the key' "$(key_of 'a%2Fb/c')" '["a/b","c"]'
is 'the key' "$(key_of 'a%2fb')" '["a/b"]'

test_case 'an encoded zero byte is part of the key and cuts nothing off'
answers 201 PUT /kv/zero/a%00b 1
answers 404 key-not-found GET /kv/zero/a
answers 200 GET /kv/zero/a%00b
gives '.entries[].key' '["zero","a\u0000b"]' GET /list?prefix=zero

test_case 'a path segment that begins with = is a literal of another type'
is 'number' "$(key_of =42)" '[42]'
is 'number' "$(key_of =-1.5)" '[-1.5]'
is 'number' "$(key_of =1e3)" '[1000]'
is 'negative zero' "$(key_of =-0)" '[{"type":"number","value":"-0"}]'
is 'infinite' "$(key_of =-Infinity)" '[{"type":"number","value":"-Infinity"}]'
is 'no number' "$(key_of =NaN)" '[{"type":"number","value":"NaN"}]'
is 'no number, with a sign' "$(key_of =-NaN)" '[{"type":"number","value":"-NaN"}]'
is 'bigint' "$(key_of =42n)" '[{"type":"bigint","value":"42"}]'
is 'bigint' "$(key_of =-9007199254740993n)" '[{"type":"bigint","value":"-9007199254740993"}]'
is 'boolean' "$(key_of =true/=false)" '[true,false]'
is 'bytes' "$(key_of =b64:AQID)" '[{"type":"Uint8Array","value":"AQID","byteLength":3}]'
is 'bytes' "$(key_of =hex:010203)" '[{"type":"Uint8Array","value":"AQID","byteLength":3}]'
is 'no bytes' "$(key_of =b64:)" '[{"type":"Uint8Array","value":"","byteLength":0}]'
is 'quoted string' "$(key_of '=%22..%22')" '[".."]'
is 'quoted empty string' "$(key_of '=%22%22')" '[""]'
is 'quoted with escapes' "$(key_of '=%22a%5Cu0000%5Cn%22')" '["a\u0000\n"]'

test_case 'a string, a number, a bigint and bytes with one text are different keys'
for literal in 7 =7 =7n =b64:Nw; do
    answers 201 PUT "/kv/same/$literal" "\"$literal\""
done
for literal in 7 =7 =7n =b64:Nw; do
    request GET "/kv/same/$literal"
    body_is "\"$literal\""
done

test_case 'a number has one key, however it is written'
answers 201 PUT /kv/number/=1000 1
answers 200 GET /kv/number/=1e3
answers 200 GET /kv/number/=1000.0
answers 200 GET '/kv?key=%5B%22number%22%2C1.0E3%5D'

test_case 'a value that is not a key part is refused, and the detail names it'
for path in k/ k//a /k k/. k/.. k/../indexes ./k; do
    answers 400 bad-key PUT "/kv/$path" 1
done
for literal in = =forty =042 =+1 =0x1 =1e400 =.5 =1. =n =-n =1.5n =True =b64:AQ== =b64:A \
    =hex:1 =hex:zz =%22open =%22a%22b =%7B%7D =null =%5B1%5D; do
    answers 400 bad-key GET "/kv/k/$literal"
    field ".detail | contains(\"$(sed 's/%22/\\"/g; s/%7B/{/; s/%7D/}/; s/%5B/[/; s/%5D/]/; s/^=//' <<<"$literal")\")" true
done

test_case 'bad percent encoding and bad UTF-8 are refused'
for path in a%zz a%2 a% %ff a%C3 %ED%A0%80 %C0%AF; do
    answers 400 bad-key PUT "/kv/$path" 1
done
answers 400 bad-parameter GET '/list?prefix=a%zz'
field .parameter prefix

test_case 'dots are refused with the way to write them'
answers 400 bad-key GET /kv/a/..
field '.detail | contains("=%22..%22")' true

test_case 'a number that a double cannot hold is refused, not rounded'
for literal in =9007199254740993 =-9007199254740993 =123456789012345678901; do
    answers 400 key-number-inexact PUT "/kv/big/$literal" 1
done
field '.hint | contains("n")' true
answers 201 PUT /kv/big/=9007199254740992 1
answers 400 key-number-inexact GET '/kv?key=%5B%22big%22%2C9007199254740993%5D'
answers 404 key-not-found GET /kv/big/=9007199254740993n

test_case 'a path in ?key= is refused with the form that belongs there'
answers 400 bad-json GET '/kv?key=users/ada'
field .parameter key
field '.detail | contains("takes a JSON array, such as [\"users\",\"ada\"]")' true
answers 400 bad-key POST /get '{"keys":["users/ada"]}'
field '.hint | contains("in a body a key is a JSON array of its parts")' true

test_case 'every part type can be written as ?key= with a JSON array'
every='["all","42",42,{"type":"bigint","value":"42"},true,{"type":"Uint8Array","value":"AQID","byteLength":3},{"type":"number","value":"-Infinity"},"a/b",""]'
answers 201 PUT /kv '"all"' --url-query "key=$every"
request GET '/kv/all/42/=42/=42n/=true/=b64:AQID/=-Infinity/a%2Fb/=%22%22'
body_is '"all"'
request GET /kv '' --url-query "key=$every"
body_is '"all"'
gives '.entries[].key' "$every" GET '/list?prefix=all'
answers 204 DELETE /kv '' --url-query "key=$every"
gives .count 0 GET '/count?prefix=all'

test_case 'JSON keys that are no keys are refused'
for key in '' '[]' '[' '{}' '"a"' 'a' '[null]' '[[]]' '["a"]x' '[{}]' \
    '[{"type":"bigint"}]' '[{"type":"bigint","value":1}]' \
    '[{"type":"bigint","value":"1.5"}]' '[{"type":"Uint8Array","value":"A"}]' \
    '[{"type":"Map","value":[]}]' '[{"type":"number","value":"one"}]'; do
    answers 400 GET /kv '' --url-query "key=$key"
done

test_case 'a key given twice is refused'
answers 400 bad-parameter GET '/kv/a?key=%5B%22a%22%5D'
answers 400 bad-parameter GET '/kv?key=%5B%22a%22%5D&key=%5B%22a%22%5D'
answers 400 bad-key GET /kv

test_case 'a key has at most 2048 encoded bytes'
# A string part takes its bytes and two more.
at_limit=$(printf '%02046d' 0)
answers 201 PUT "/kv/$at_limit" 1
request GET "/kv/$at_limit"
body_is 1
answers 400 key-too-long PUT "/kv/${at_limit}0" 1
field '.detail | contains("2049")' true
answers 400 key-too-long GET "/kv/${at_limit}0"

test_case 'a bigint part has at most 255 bytes'
# 256^255 has 615 digits; 10^614 is below it and 10^615 above.
answers 201 PUT "/kv/n/=1$(printf '%0614d' 0)n" 1
answers 200 GET "/kv/n/=1$(printf '%0614d' 0)n"
answers 400 bad-key PUT "/kv/n/=1$(printf '%0615d' 0)n" 1

test_case 'types sort: bytes, strings, bigints, numbers, false, true'
cat >"$work/order" <<'END'
=b64:
=b64:AA
=b64:AP8
=b64:_w
=%22%22
%00
B
a
a%00b
aa
b
%C3%A9
%F0%9F%8D%8E
=-18446744073709551616n
=-256n
=-1n
=0n
=1n
=255n
=256n
=18446744073709551616n
=-NaN
=-Infinity
=-1e308
=-1.5
=-0
=0
=5e-324
=1
=2
=10
=Infinity
=NaN
=false
=true
END
shuf "$work/order" --random-source="$work/order" | while IFS= read -r part; do
    request PUT "/kv/order/$part" "\"$part\""
    [ "$status" = 201 ] || echo "$part: $status"
done >"$work/refused"
is 'the parts refused' "$(cat "$work/refused")" ''
request GET '/list?prefix=order'
is 'the order' "$(value '.entries[].value')" "$(cat "$work/order")"
request GET '/list?prefix=order&reverse=true'
is 'the order' "$(value '.entries[].value')" "$(tac "$work/order")"

finish
