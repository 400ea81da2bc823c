#!/bin/bash
# The console as a browser gets it: the page, its files, and what their headers
# say. What it does in a browser is in tests/console.
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
start_server
html=(--header 'Accept: text/html,application/xhtml+xml,*/*;q=0.8')

test_case 'a browser is led to the console, other clients are not'
request GET / '' "${html[@]}"
is status "$status" 303
header Location console
header Vary '*Accept*'
answers 200 GET / '' --header 'Accept: application/json'
field '.links.console, .links.docs' $'/console\n/docs'
for accept in 'text/html;q=0, */*' 'application/xhtml+xml' 'text/htmlx'; do
    answers 200 GET / '' --header "Accept: $accept"
done
answers 200 GET /

test_case 'the page of the console has a nonce that is used once, and a policy with it'
answers 200 GET /console
header Content-Type 'text/html*'
header Cache-Control no-store
header X-Content-Type-Options nosniff
header Referrer-Policy no-referrer
header Cross-Origin-Opener-Policy same-origin
header Cross-Origin-Resource-Policy same-origin
policy=$(header_value Content-Security-Policy)
nonce=$(sed -n 's/.*nonce="\([0-9a-f]*\)".*/\1/p' "$answer" | sort -u)
is 'its length' ${#nonce} 32
is 'the policy' "$policy" "default-src 'none'; script-src 'nonce-$nonce'; style-src 'nonce-$nonce'; img-src 'self' blob:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
is 'what is not filled in' "$(grep -c '{{' "$answer")" 0
cp "$answer" "$work/page"
request GET /console
is 'whether the nonce is another' "$(grep -c "$nonce" "$answer")" 0

test_case 'the page of the reference has the same policy, and its own files'
answers 200 GET /docs
header Content-Type 'text/html*'
header Cache-Control no-store
nonce=$(sed -n 's/.*nonce="\([0-9a-f]*\)".*/\1/p' "$answer" | sort -u)
is 'the policy' "$(header_value Content-Security-Policy | grep -c "script-src 'nonce-$nonce'; style-src 'nonce-$nonce'; ")" 1
is 'its script' "$(grep -c '/docs\.js"' "$answer")" 1
is 'what is not filled in' "$(grep -c '{{' "$answer")" 0
answers 400 GET '/docs?x=1'
answers 200 HEAD /docs

test_case 'each file of the console is as in the source but for comments and indentation, cached for ever, and compressed on request'
served() { sed -E -f "$here/../../api/console/served.sed" "$here/../../api/console/$1"; }
version=$(grep -o '~[0-9a-f]*' "$work/page" | sort -u)
is 'the versions in the page' "$(wc -l <<<"$version")" 1
for file in "$here"/../../api/console/{,docs/}*.{js,css}; do
    name=${file##*/}
    answers 200 GET "/console/$version/$name"
    is "the difference in $name" "$(served "${file#*/api/console/}" | cmp "$answer" - 2>&1)" ''
    is "whether the words of $name differ" "$(tr -d ' \n' <"$answer" | cmp - <(grep -vE '^ *(//|/\*.*\*/$)' "$file" | tr -d ' \n') 2>&1)" ''
done
header Cache-Control 'public, max-age=31536000, immutable'
answers 200 GET "/console/$version/icon.svg"
header Content-Type image/svg+xml
is 'the difference in icon.svg' "$(cmp "$answer" "$here/../../api/console/icon.svg" 2>&1)" ''
answers 200 GET "/console/$version/app.js" '' --header 'Accept-Encoding: gzip, br, zstd'
header Content-Encoding zstd
header Content-Type 'text/javascript*'
header Vary '*Accept-Encoding*'
served app.js >"$work/app.js"
is 'the difference' "$(zstd -dc "$answer" | cmp - "$work/app.js" 2>&1)" ''
for codings in br 'zstd;q=0' 'zstd; q=0.0, gzip;q=0' zstdx identity; do
    request GET "/console/$version/app.js" '' --header "Accept-Encoding: $codings"
    header Content-Encoding ''
    is "the difference for $codings" "$(cmp "$answer" "$work/app.js" 2>&1)" ''
done
request GET "/console/$version/app.js" '' --header 'Accept-Encoding: gzip;q=0.4, ZSTD;q=0.5'
header Content-Encoding zstd
request GET "/console/$version/app.js" '' --header 'Accept-Encoding: gzip, deflate, br'
header Content-Encoding gzip
is 'the difference of gzip' "$(gzip -dc "$answer" | cmp - "$work/app.js" 2>&1)" ''

test_case 'the console has no other paths'
for path in /console/ "/console/$version/none.js" "/console/$version/" /console/~000000000000/app.js /console/app.js \
    "/console/$version/../../version" "/console/$version/console.c" "/console/$version/index.html" \
    "/console/$version/docs.html" "/console/$version/docs/docs.js" /docs/; do
    request GET "$path" '' --path-as-is
    is "status of $path" "$status" 404
done
answers 400 GET "/console?x=1"
answers 400 GET "/console/$version/app.js?x=1"
answers 200 HEAD /console
stop_server

test_case 'the console can be turned off'
start_server --console off
for path in /console /docs "/console/$version/app.js"; do
    answers 404 not-found GET "$path"
done
answers 200 GET / '' "${html[@]}"
"$KINDEX" serve --console maybe --print-config >"$work/out" 2>&1
is 'the exit status' $? 2
is 'what is said' "$(cat "$work/out")" 'kindex: --console: "maybe" is not on or off'
finish
