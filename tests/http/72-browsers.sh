#!/bin/bash
# What pages in a browser may do: names by which the server is not known (DNS
# rebinding), sites that are not allowed, and those that --cors-origin names.
. "$(dirname "$0")/../lib/http.sh"
json=(--header 'Content-Type: application/json')
app=https://app.example.org
start_server

test_case 'on a loopback address only localhost and addresses are let in'
for host in localhost localhost:4512 127.0.0.1 127.0.0.1:80 LOCALHOST '[::1]:4512' 192.0.2.7:4512; do
    request GET /version '' --header "Host: $host"
    expect 200
done
for host in evil evil.example evil.example:4512 localhost.evil.example 127.0.0.1.evil.example \
    localhosts 127.0.0.1x app.example.org; do
    request GET /version '' --header "Host: $host"
    expect 421 host-not-allowed
    request PUT /kv/a 1 --header "Host: $host"
    expect 421 host-not-allowed
done
request GET /version '' --header 'Host: evil.example' --http2-prior-knowledge
expect 421 host-not-allowed
request GET /kv/a
expect 404 key-not-found

test_case 'no other site may change anything, nor read what it gets'
request PUT /kv/a 1 --header "Origin: $app"
expect 403 origin-not-allowed
header Access-Control-Allow-Origin ''
request GET /version '' --header "Origin: $app"
expect 200
header Access-Control-Allow-Origin ''
header Vary ''
request OPTIONS /kv/a '' --header "Origin: $app" --header 'Access-Control-Request-Method: PUT'
header Access-Control-Allow-Origin ''
header Access-Control-Allow-Methods ''
request PUT /kv/a 1 --header "Origin: $url"
expect 201
stop_server

start_server --host-names 'kv.example.org, kv2.example.org' --cors-origin "$app,http://two.example:8080"

test_case 'further names are let in, others are not'
for host in kv.example.org KV.example.org:4512 kv2.example.org localhost; do
    request GET /version '' --header "Host: $host"
    expect 200
done
for host in example.org kv.example kv.example.org.evil kv3.example.org ,; do
    request GET /version '' --header "Host: $host"
    is 'refused' "$((status == 421 || status == 400))" 1
done

test_case 'a site that is named may use the service, and read headers that matter'
for version in --http1.1 --http2-prior-knowledge; do
    request OPTIONS /kv/a '' $version --header "Origin: $app" --header 'Access-Control-Request-Method: PUT' \
        --header 'Access-Control-Request-Headers: authorization,if-match'
    is status "$status" 204
    header Access-Control-Allow-Origin "$app"
    header Access-Control-Allow-Methods '*PUT*'
    header Access-Control-Allow-Headers '*Authorization*If-Match*X-Request-Id*'
    header Access-Control-Max-Age 86400
    header Access-Control-Allow-Credentials ''
    header Vary Origin
done
request PUT /kv/a 2 --header "Origin: $app"
expect 200
header Access-Control-Allow-Origin "$app"
header Access-Control-Expose-Headers '*ETag*Retry-After*'
request GET /kv/absent '' --header 'Origin: http://two.example:8080'
expect 404 key-not-found
header Access-Control-Allow-Origin http://two.example:8080
request GET /kv/a
header Vary Origin
header Access-Control-Allow-Origin ''

test_case 'others are as before, however near they are'
for origin in https://app.example.or http://app.example.org https://app.example.org:444 \
    https://app.example.org.evil null https://two.example:8080 http://two.example; do
    request PUT /kv/a 3 --header "Origin: $origin"
    expect 403 origin-not-allowed
    header Access-Control-Allow-Origin ''
    request OPTIONS /kv/a '' --header "Origin: $origin" --header 'Access-Control-Request-Method: PUT'
    header Access-Control-Allow-Origin ''
done
request GET /kv/a
body_is 2

test_case 'a preflight needs no token, and the request after it does'
request POST /tokens '{"name":"x","grants":[{"scopes":["read","write","list","watch","index","admin","monitor"],"prefix":[]}]}' "${json[@]}"
expect 201
request OPTIONS /kv/a '' --header "Origin: $app" --header 'Access-Control-Request-Method: PUT'
is status "$status" 204
request PUT /kv/a 4 --header "Origin: $app"
expect 401 unauthorized
header Access-Control-Allow-Origin "$app"
finish
