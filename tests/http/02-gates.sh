#!/bin/bash
# What happens to a request before a handler sees it: routes, methods, origins,
# limits, targets.
. tests/lib/http.sh
start_server --value-max 4KiB --body-max 8KiB
json=(--header 'Content-Type: application/json')

test_case 'an address without a route is not found'
for path in /nowhere /kvx /KV/a //kv/a /list/ /indexes/ /%6bv/a; do
    answers 404 not-found GET "$path"
done

test_case 'a method that a path lacks is refused with the methods that it has'
answers 405 method-not-allowed PUT /list
header Allow 'GET, HEAD, DELETE, PATCH, POST, OPTIONS'
field .allow 'GET, HEAD, DELETE, PATCH, POST, OPTIONS'
answers 405 method-not-allowed BREW /kv/a

test_case 'OPTIONS names the methods of a path'
answers 204 OPTIONS /kv/a
header Allow 'GET, HEAD, PUT, PATCH, DELETE, POST, OPTIONS'
header Accept-Patch 'application/json, application/merge-patch+json, application/json-patch+json'
request OPTIONS /indexes/a
header Accept-Patch 'application/json, application/merge-patch+json'
request OPTIONS /count
find_header Accept-Patch
is "without a PATCH" "$found" ""
answers 404 not-found OPTIONS /nowhere

test_case 'a target is a path or a whole http URL; an authority is refused'
answers 404 key-not-found GET /kv/none '' --request-target "$url/kv/none"
answers 400 bad-request GET /kv/none '' --request-target "${url#http://}"

test_case 'a request with long cookies is served, and the cookies are ignored'
answers 404 key-not-found GET /kv/none '' --header "Cookie: $(printf 'a=b; %.0s' {1..1500})"
answers 404 key-not-found GET /kv/none '' --header "cookie: session=$(printf '%09000d' 0)"
answers 201 PUT /kv/cookie '"\r\ncookie: a"' "${json[@]}" --header "Cookie: $(printf 'a=b; %.0s' {1..1500})"
request GET /kv/cookie
body_is '"\r\ncookie: a"'

test_case 'HEAD has the headers of GET and no body'
request PUT /kv/head 1 "${json[@]}"
answers 200 HEAD /kv/head
header Content-Length 1
header ETag '"*"'
body_is ''

test_case 'a page of another site cannot write an entry'
answers 403 origin-not-allowed PUT /kv/origin 1 "${json[@]}" --header 'Origin: http://evil.example'
answers 403 origin-not-allowed POST /atomic '{}' --header 'Origin: null'
answers 404 key-not-found GET /kv/origin '' --header 'Origin: http://evil.example'

test_case 'a page of this server can write an entry'
answers 201 PUT /kv/origin 1 "${json[@]}" --header "Origin: $url"

test_case 'a value of the largest size is stored, one byte more is refused'
printf '"%4094s"' '' >"$work/fits"
printf '"%4095s"' '' >"$work/large"
answers 201 PUT /kv/size "@$work/fits" "${json[@]}"
answers 413 value-too-large PUT /kv/size "@$work/large" "${json[@]}"
field .limit 4096
field .actual 4097
answers 413 value-too-large PUT /kv/size "@$work/large" "${json[@]}" \
    --header 'Transfer-Encoding: chunked'

test_case 'a body that is far too large is refused before it is sent'
head -c 3000000 /dev/zero >"$work/huge"
request PUT /kv/size "@$work/huge" --header 'Expect: 100-continue' \
    --write-out '%{http_code} %{size_upload}'
is 'status and size of the upload' "$status" '413 0'

test_case 'a body that is too large is refused without Expect, too'
for method in PUT POST PATCH; do
    request $method /kv/size "@$work/huge" --header 'Expect:'
    expect 413 value-too-large
done
answers 413 payload-too-large POST /atomic "@$work/huge" --header 'Expect:'

test_case 'a body is refused where a route takes none'
answers 413 payload-too-large GET /kv/size x
field .detail 'GET takes no body here.'
answers 413 payload-too-large DELETE /list x
field .detail 'DELETE takes no body here.'

test_case 'a long query reaches the handler whole'
answers 400 unknown-parameter GET "/list?$(printf 'a&%.0s' {1..2000})"

test_case 'a target and headers that are too long are refused as problems'
answers 414 uri-too-long GET "/kv/$(printf 'a%.0s' {1..9000})"
answers 431 headers-too-large GET /kv/a '' --header "X: $(printf 'a%.0s' {1..12000})"

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
