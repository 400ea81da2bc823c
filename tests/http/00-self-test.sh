#!/bin/bash
# The words of tests/lib/http.sh are themselves tested: each wrong expectation
# must be counted as a failure, and so must a test that breaks off.
lib=$(dirname "$0")/../lib/http.sh
# shellcheck source=../lib/http.sh
. "$lib"

start_server

# A test of one case with these lines; says how it was counted.
counted_after() {
    printf '%s\n' ". '$lib'" "url=$url" 'test_case "planted"' \
        "request PUT /kv/a '{\"n\": 1}'" 'request GET /kv/a' "$1" finish \
        >"$work/test.sh"
    KX_PATIENCE=0 KX_RECORD='' bash "$work/test.sh" >"$work/planted" 2>&1
    echo "exit $?, $(tail -1 "$work/planted")"
}

right() {
    is "after: $1" "$(counted_after "$1")" 'exit 0, 1 passed, 0 failed'
}

wrong() {
    is "after: $1" "$(counted_after "$1")" 'exit 1, 0 passed, 1 failed'
}

test_case 'expectations that hold are counted as passed'
right 'expect 200; field .n 1; body_is "{\"n\": 1}"'
right 'header etag "\"[0-9a-f]*\""; header X-Nothing ""; is 1 1 1'
right 'request GET /kv/b; expect 404 key-not-found'
right 'until_status 200 GET /kv/a; until_field .n 1 GET /kv/a'

test_case 'each expectation that does not hold is counted as failed'
wrong 'expect 201'
wrong 'field .n 2'
wrong 'field .n.n 1'
wrong 'header ETag x'
wrong 'header X-Nothing x'
wrong 'body_is "{\"n\":1}"'
wrong 'body_is "{\"n\": 1}
"'
wrong 'is it one two'
wrong 'request GET /kv/b; expect 404 not-found'
wrong 'request GET /kv/a; expect 404'
wrong 'until_status 404 GET /kv/a'
wrong 'until_field .n 2 GET /kv/a'
wrong 'url=http://127.0.0.1:1; request GET /kv/a; expect 200'

test_case 'an incomplete problem document is not an error answer'
wrong 'echo "{\"code\":\"x\"}" >"$answer"; status=404; expect 404'
wrong 'request PUT /kv/a "{}" -H "Content-Type: text/x"; request GET /kv/a
    status=404; expect 404'

test_case 'an error answer has an identifier'
wrong 'request GET /kv/b; sed -i /^X-Request-Id/d "$head"; expect 404'

test_case 'a case without an expectation is a failure'
wrong :

test_case 'a failure shows the exchange and the line of the test'
wrong 'expect 418'
is 'the lines that show it' "$(grep -cE '> GET /kv/a|< HTTP/1.1 200|\{"n": 1\}|test.sh line 6:|status is: 200|and not: 418' "$work/planted")" 6

test_case 'a test that breaks off is a failure'
printf '%s\n' ". '$lib'" 'test_case "broken"' 'is 1 1 1' 'exit 0' >"$work/test.sh"
bash "$work/test.sh" >"$work/broken"
is 'the exit status and count' "$?, $(tail -1 "$work/broken")" '1, 0 passed, 1 failed'

test_case 'a missing program ends the story at once, and is named'
printf '%s\n' ". '$lib'" 'needs bash planted-program' 'test_case "late"' 'is 1 1 1' \
    finish >"$work/test.sh"
bash "$work/test.sh" >"$work/broken"
is 'the exit status and count' "$?, $(tail -1 "$work/broken")" '1, 0 passed, 1 failed'
is 'what is said' "$(head -1 "$work/broken")" \
    'planted-program is missing: make deps-test installs what the tests need'

test_case 'a server that ends by itself is a failure'
printf '%s\n' ". '$lib'" start_server 'test_case "killed"' 'is 1 1 1' \
    'kill -KILL $server' finish >"$work/test.sh"
bash "$work/test.sh" >"$work/broken" 2>&1
is 'the exit status and count' "$?, $(tail -1 "$work/broken")" '1, 1 passed, 1 failed'

test_case 'KX_RECORD has the answers in order'
cat >"$work/test.sh" <<END
. '$lib'
start_server
test_case 'recorded'
request PUT /kv/a '"a \\"quoted\\"\t text"'
request GET '/kv?key=%5B%22a%22%5D'
request HEAD /kv/a
is 1 1 1
finish
END
KX_RECORD=$work/record bash "$work/test.sh" >"$work/null"
is 'the record' "$(jq -r '"\(.method) \(.target) \(.status) \(.contentType) \(.headers | index("ETag") != null) \(.body)"' "$work/record" | tail -2)" \
    'GET /kv?key=%5B%22a%22%5D 200 application/json true "a \"quoted\"\t text"
HEAD /kv/a 200 application/json true '
finish
