#!/bin/bash
# What pages in a browser may do: names by which the server is not known (DNS
# rebinding), sites that are not allowed, and those that --cors-origin names.
. "$(dirname "$0")/../lib/http.sh"
json=(--header 'Content-Type: application/json')
app=https://app.example.org
here=$(dirname "$0")
start_server

test_case 'the host of an absolute target is checked instead of Host'
request GET /version '' --http1.1 --request-target http://evil.example/version --header 'Host: localhost'
expect 421 host-not-allowed
field '.detail | contains("evil.example")' true
answers 200 GET /version '' --http1.1 --request-target http://localhost/version --header 'Host: evil.example'
answers 201 PUT /kv/absolute 1 --http1.1 --request-target "$url/kv/absolute?ttl=1h"
request GET /kv/absolute
body_is 1
request DELETE /kv/absolute

test_case 'a loopback address accepts only localhost and addresses as Host'
for host in localhost localhost:4512 127.0.0.1 127.0.0.1:80 LOCALHOST '[::1]:4512' 192.0.2.7:4512; do
    answers 200 GET /version '' --header "Host: $host"
done
for host in evil evil.example evil.example:4512 localhost.evil.example 127.0.0.1.evil.example \
    localhosts 127.0.0.1x app.example.org; do
    answers 421 host-not-allowed GET /version '' --header "Host: $host"
    answers 421 host-not-allowed PUT /kv/a 1 --header "Host: $host"
done
answers 421 host-not-allowed GET /version '' --header 'Host: evil.example' --http2-prior-knowledge
answers 404 key-not-found GET /kv/a

test_case 'no other site may change an entry, nor read a reply'
answers 403 origin-not-allowed PUT /kv/a 1 --header "Origin: $app"
header Access-Control-Allow-Origin ''
answers 200 GET /version '' --header "Origin: $app"
header Access-Control-Allow-Origin ''
header Vary ''
request OPTIONS /kv/a '' --header "Origin: $app" --header 'Access-Control-Request-Method: PUT'
header Access-Control-Allow-Origin ''
header Access-Control-Allow-Methods ''
answers 201 PUT /kv/a 1 --header "Origin: $url"

test_case 'no reply may be loaded into a page of another origin'
for path in /kv/a /kv/absent /version /list?prefix=a /nowhere; do
    for version in --http1.1 --http2-prior-knowledge; do
        request GET "$path" '' $version
        header Cross-Origin-Resource-Policy same-origin
    done
done
request OPTIONS /kv/a
header Cross-Origin-Resource-Policy same-origin
request GET /version '' --header 'Host: evil.example'
header Cross-Origin-Resource-Policy same-origin

test_case 'a request that a page of another site loads into itself is refused, a link to here is not'
for version in --http1.1 --http2-prior-knowledge; do
    for mode in no-cors cors same-origin websocket ''; do
        for method in GET HEAD PUT DELETE; do
            request $method /kv/a '' $version --header 'Sec-Fetch-Site: cross-site' --header "Sec-Fetch-Mode: $mode"
            expect 403 origin-not-allowed
        done
    done
    answers 403 origin-not-allowed GET /version '' $version --header 'Sec-Fetch-Site: cross-site'
    answers 200 GET /kv/a '' $version --header 'Sec-Fetch-Site: cross-site' --header 'Sec-Fetch-Mode: navigate'
    for site in same-site same-origin none; do
        answers 200 GET /kv/a '' $version --header "Sec-Fetch-Site: $site" --header 'Sec-Fetch-Mode: no-cors'
    done
done
request POST /kv/a 1 --header "Origin: $app" --header 'Sec-Fetch-Site: cross-site' --header 'Sec-Fetch-Mode: navigate'
expect 403 origin-not-allowed

test_case 'no value is the script of a service worker'
for site in same-origin none cross-site; do
    answers 403 origin-not-allowed GET /kv/a '' --header 'Service-Worker: script' --header "Sec-Fetch-Site: $site"
done
answers 403 origin-not-allowed GET /kv/a '' --header 'Service-Worker: script' --http2-prior-knowledge

test_case 'a browser does not run stored scripts in the page of another origin or site'
answers 201 PUT /kv/x "say('ran')" --header 'Content-Type: text/javascript'
mkdir "$work/browser"
node "$here/browser_page.js" "$url/kv/x" "$work/browser" >"$work/pages"
is 'the pages' "$(grep -v port "$work/pages")" $'other-origin blocked\nother-site blocked\nby-cors blocked'
stop_server

port=$(awk '$1 == "port" { print $2 }' "$work/pages")
start_server --cors-origin "http://localhost:$port"

test_case 'a browser runs stored scripts in the page of an allowed origin by CORS only'
node "$here/browser_page.js" "$url/kv/x" "$work/browser" "$port" "$url/watch?key=x" >"$work/pages"
is 'the pages' "$(head -2 "$work/pages")" $'other-origin blocked\nother-site blocked'
by_cors=$(grep by-cors "$work/pages")
is 'the page that asks by CORS' "${by_cors% change}" 'by-cors ran loaded'

test_case 'an EventSource gets events by the listeners of their names, not by onmessage'
is 'the page that watches' "$by_cors" 'by-cors ran loaded change'
for text in api/rest/README.md openapi.yaml; do
    is "whether $text shows that" "$(grep -c '\.addEventListener(\\*"change\\*",' "$here/../../$text")" 1
done
stop_server

start_server --host-names 'kv.example.org, kv2.example.org' --cors-origin "$app,http://two.example:8080"

test_case 'the names of --host-names are accepted as Host, others are not'
for host in kv.example.org KV.example.org:4512 kv2.example.org localhost; do
    answers 200 GET /version '' --header "Host: $host"
done
for host in example.org kv.example kv.example.org.evil kv3.example.org ,; do
    request GET /version '' --header "Host: $host"
    is 'refused' "$((status == 421 || status == 400))" 1
done

test_case 'an allowed origin may use the service, and read the headers that matter'
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
answers 200 PUT /kv/a 2 --header "Origin: $app"
header Access-Control-Allow-Origin "$app"
header Access-Control-Expose-Headers '*ETag*Retry-After*'
answers 404 key-not-found GET /kv/absent '' --header 'Origin: http://two.example:8080'
header Access-Control-Allow-Origin http://two.example:8080
request GET /kv/a
header Vary Origin
header Access-Control-Allow-Origin ''

test_case 'an allowed origin may use the service with fetch metadata, another one may not'
metadata=(--header 'Sec-Fetch-Site: cross-site' --header 'Sec-Fetch-Mode: cors')
request OPTIONS /kv/a '' --header "Origin: $app" --header 'Access-Control-Request-Method: PUT' "${metadata[@]}"
is status "$status" 204
answers 200 GET /kv/a '' --header "Origin: $app" "${metadata[@]}"
header Access-Control-Allow-Origin "$app"
header Cross-Origin-Resource-Policy ''
answers 403 origin-not-allowed GET /kv/a '' "${metadata[@]}"
answers 403 origin-not-allowed GET /kv/a '' --header 'Origin: https://evil.example' "${metadata[@]}"
header Cross-Origin-Resource-Policy same-origin
answers 403 origin-not-allowed GET /kv/a '' --header "Origin: $app" --header 'Service-Worker: script'

test_case 'origins that differ little from an allowed one are refused'
for origin in https://app.example.or http://app.example.org https://app.example.org:444 \
    https://app.example.org.evil null https://two.example:8080 http://two.example; do
    answers 403 origin-not-allowed PUT /kv/a 3 --header "Origin: $origin"
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
answers 401 unauthorized PUT /kv/a 4 --header "Origin: $app"
header Access-Control-Allow-Origin "$app"

# refused LIST ADVICE: it is no list of sites, and this is what to write.
refused() {
    exchange="--cors-origin $1"
    "$KINDEX" serve --cors-origin "$1" --print-config >"$work/out" 2>&1
    is 'its exit status' $? 2
    is 'what is said' "$(cat "$work/out")" "kindex: --cors-origin: \"$1\" is not a list of sites as browsers name them, scheme://host or scheme://host:port: $2"
}

test_case 'an origin that no browser would send is refused at the start, with the right form'
name='name each site whose pages may use the service, such as https://app.example.org'
refused '*' "$name"
refused null "$name"
refused "$app," "$name"
refused 'http://user@app.example.org' "$name"
refused 'http://app.example.org:0' "$name"
refused 'http://*.example.org' "$name"
refused localhost:3000 'write http://localhost:3000 instead of localhost:3000'
refused app.example.org 'write https://app.example.org instead of app.example.org'
refused http://localhost:3000/ 'write http://localhost:3000 instead of http://localhost:3000/'
refused "$app, https://b.example/a/b" 'write https://b.example instead of https://b.example/a/b'
refused https://b.example:443 'write https://b.example instead of https://b.example:443'
refused http://b.example:80 'write http://b.example instead of http://b.example:80'

test_case 'an origin in the form that a browser sends is accepted at the start'
for list in "$app" "http://[::1]:8080 , http://localhost:3000" chrome-extension://abcdefgh HTTPS://A.example:80; do
    "$KINDEX" serve --cors-origin "$list" --print-config >"$work/out" 2>&1
    is "exit status for $list" $? 0
done
finish
