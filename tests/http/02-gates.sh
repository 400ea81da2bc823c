#!/bin/bash
# What happens to a request before a handler sees it: routes, methods, origins,
# limits, targets.
. tests/lib/http.sh
start_server --value-max 4KiB --body-max 8KiB
json=(--header 'Content-Type: application/json')

test_case 'an address without a route is not found'
for path in /nowhere /kvx /KV/a //kv/a /list/ /indexes/ /%6bv/a; do
    request GET "$path"
    expect 404 not-found
done

test_case 'a method that a path does not take is named with those that it does'
request PUT /list
expect 405 method-not-allowed
header Allow 'GET, HEAD, DELETE, PATCH, POST, OPTIONS'
field .allow 'GET, HEAD, DELETE, PATCH, POST, OPTIONS'
request BREW /kv/a
expect 405 method-not-allowed

test_case 'OPTIONS names the methods of a path'
request OPTIONS /kv/a
expect 204
header Allow 'GET, HEAD, PUT, PATCH, DELETE, POST, OPTIONS'
header Accept-Patch 'application/json, application/merge-patch+json, application/json-patch+json'
request OPTIONS /indexes/a
header Accept-Patch 'application/json, application/merge-patch+json'
request OPTIONS /count
find_header Accept-Patch
is "without a PATCH" "$found" ""
request OPTIONS /nowhere
expect 404 not-found

test_case 'a target is a path or a whole http URL; an authority is refused'
request GET /kv/none '' --request-target "$url/kv/none"
expect 404 key-not-found
request GET /kv/none '' --request-target "${url#http://}"
expect 400 bad-request

test_case 'cookies are nothing to the service, however long they are'
request GET /kv/none '' --header "Cookie: $(printf 'a=b; %.0s' {1..1500})"
expect 404 key-not-found
request GET /kv/none '' --header "cookie: session=$(printf '%09000d' 0)"
expect 404 key-not-found
request PUT /kv/cookie '"\r\ncookie: a"' "${json[@]}" --header "Cookie: $(printf 'a=b; %.0s' {1..1500})"
expect 201
request GET /kv/cookie
body_is '"\r\ncookie: a"'

test_case 'HEAD has the headers of GET and no body'
request PUT /kv/head 1 "${json[@]}"
request HEAD /kv/head
expect 200
header Content-Length 1
header ETag '"*"'
body_is ''

test_case 'a page of another site cannot write'
request PUT /kv/origin 1 "${json[@]}" --header 'Origin: http://evil.example'
expect 403 origin-not-allowed
request POST /atomic '{}' --header 'Origin: null'
expect 403 origin-not-allowed
request GET /kv/origin '' --header 'Origin: http://evil.example'
expect 404 key-not-found

test_case 'a page of this server can'
request PUT /kv/origin 1 "${json[@]}" --header "Origin: $url"
expect 201

test_case 'a value of the largest size is stored, one byte more is refused'
printf '"%4094s"' '' >"$work/fits"
printf '"%4095s"' '' >"$work/large"
request PUT /kv/size "@$work/fits" "${json[@]}"
expect 201
request PUT /kv/size "@$work/large" "${json[@]}"
expect 413 value-too-large
field .limit 4096
field .actual 4097
request PUT /kv/size "@$work/large" "${json[@]}" \
    --header 'Transfer-Encoding: chunked'
expect 413 value-too-large

test_case 'a body that is far too large is refused before it is sent'
head -c 3000000 /dev/zero >"$work/huge"
request PUT /kv/size "@$work/huge" --header 'Expect: 100-continue' \
    --write-out '%{http_code} %{size_upload}'
is 'status and size of the upload' "$status" '413 0'

test_case 'without Expect the refusal still arrives'
for method in PUT POST PATCH; do
    request $method /kv/size "@$work/huge" --header 'Expect:'
    expect 413 value-too-large
done
request POST /atomic "@$work/huge" --header 'Expect:'
expect 413 payload-too-large

test_case 'a body where none belongs is refused'
request GET /kv/size x
expect 413 payload-too-large
field .detail 'GET takes no body here.'
request DELETE /list x
expect 413 payload-too-large
field .detail 'DELETE takes no body here.'

test_case 'a long query reaches the handler whole'
request GET "/list?$(printf 'a&%.0s' {1..2000})"
expect 400 unknown-parameter

test_case 'a target and headers that are too long are refused as problems'
request GET "/kv/$(printf 'a%.0s' {1..9000})"
expect 414 uri-too-long
request GET /kv/a '' --header "X: $(printf 'a%.0s' {1..12000})"
expect 431 headers-too-large

test_case 'requests sent at once are answered in order'
exec 3<>"/dev/tcp/127.0.0.1/${url##*:}"
for i in 1 2 3 4; do
    printf 'PUT /kv/line/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Type: application/json\r\n\r\n%s' $i $i
    printf 'GET /kv/line/%s HTTP/1.1\r\nHost: localhost\r\n\r\n' $i
done >&3
printf 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
cat <&3 >"$answer"
exec 3>&-
is statuses "$(grep -ao 'HTTP/1.1 [0-9]*' "$answer" | cut -c 10-12 | tr '\n' ' ')" \
    '201 200 201 200 201 200 201 200 404 '

test_case 'the routes and the problems can be listed'
"$KINDEX" serve --print-routes >"$answer"
is 'the first route' "$(head -1 "$answer")" 'GET /kv/... getEntry'
"$KINDEX" serve --print-problems >"$answer"
is 'a problem' "$(grep -c '^404 key-not-found$' "$answer")" 1

finish
