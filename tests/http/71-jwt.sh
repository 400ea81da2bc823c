#!/bin/bash
# JSON Web Tokens: what their holders may do, which are refused, when they end, and the keys
# of an issuer that changes, fails or lies. tests/unit/api/identity has the single claims.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/certificates.sh"
needs openssl
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')
keys=$work/keys
mkdir "$keys"
issuer=https://id.example.org
aud=kindex

# Sets $token to a token with this key and these claims besides iss, aud and exp.
# claims KID ALGORITHM MEMBERS [SECONDS UNTIL ITS exp]
claims() {
    local exp=$(($(date +%s) + ${4:-600}))
    token=$(node "$here/jwt.js" sign "$keys/$1.key" "{\"alg\":\"$2\",\"kid\":\"$1\"}" \
        "{\"iss\":\"$issuer\",\"aud\":\"$aud\",\"exp\":$exp${3:+,$3}}")
    bearer=(--oauth2-bearer "$token")
}

node "$here/jwt.js" keys "$keys" rsa:RS256 ec:ES256 ed:EdDSA >"$keys/set"
cat >"$work/grants" <<'END'
[{"when": {"groups": "staff"}, "scopes": ["read", "list"], "prefix": ["orders"]},
 {"scopes": ["read", "list", "watch", "write"], "prefix": ["users", "{sub}"]},
 {"when": {"role": "operator"}, "scopes": ["admin"], "prefix": []},
 {"when": {"role": "operator"}, "scopes": ["read", "write", "list", "watch", "index", "monitor"], "prefix": []}]
END
identities=(--jwt-issuer "$issuer" --jwt-audience "$aud" --grants "$work/grants")
with_file=(--jwt-keys "$keys/set" "${identities[@]}")

refusal() {
    "$KINDEX" serve --data "$work/none" --listen 127.0.0.1:0 "$@" 2>&1
    echo "exit $?"
}

test_case 'keys without issuer, audience and grants are refused at the start'
needed=$'kindex: --jwt-keys needs --jwt-issuer, --jwt-audience and --grants\nexit 2'
is 'keys alone' "$(refusal --jwt-keys "$keys/set")" "$needed"
is 'without an issuer' "$(refusal --jwt-keys x --jwt-audience x --grants x)" "$needed"
is 'without an audience' "$(refusal --jwt-keys x --jwt-issuer x --grants x)" "$needed"
is 'without grants' "$(refusal --jwt-keys x --jwt-issuer x --jwt-audience x)" "$needed"
is 'without keys' "$(refusal "${identities[@]}" | tail -1)" 'exit 2'
is 'HTTP' "$(refusal --jwt-keys http://id.example.org/ "${identities[@]}")" \
    $'kindex: --jwt-keys takes a file or an https:// address\nexit 2'
is 'authorities for a file' "$(refusal "${with_file[@]}" --jwt-ca x)" \
    $'kindex: --jwt-ca is for keys from an https:// address\nexit 2'
is 'no file' "$(refusal --jwt-keys "$work/no" "${identities[@]}")" \
    "kindex: cannot use --jwt-keys $work/no: No such file or directory"$'\nexit 1'
echo '{"keys":[]}' >"$work/empty"
is 'no keys' "$(refusal --jwt-keys "$work/empty" "${identities[@]}")" \
    "kindex: cannot use --jwt-keys $work/empty: none of its keys is for RS256 (from 2048 bits), ES256 or EdDSA"$'\nexit 1'
echo '[{"scopes":["read"],"prefix":["users","u{sub}"]}]' >"$work/wrong"
is 'wrong grants' "$(refusal "${with_file[@]}" --grants "$work/wrong")" \
    "kindex: cannot use --grants $work/wrong: line 1: \`prefix\` is an array of parts of a key; a placeholder such as {sub} is a whole part"$'\nexit 1'
is 'nothing was made' "$(ls "$work/none" 2>&1 | grep -c 'No such')" 1

start_server "${with_file[@]}"

test_case 'no request without a token is answered, although no access token is stored'
for path in /kv/a /list /count /tree /indexes /queues /watch?key=a /tokens /metrics /backup /slow; do
    answers 401 unauthorized GET "$path"
done
answers 401 unauthorized PUT /kv/a 1
answers 401 unauthorized POST /atomic '{"mutations":[]}' "${json[@]}"
request POST /v2/snapshot_read x --header 'Content-Type: application/x-protobuf'
is 'KV Connect' "$status $(cat "$answer")" '401 The request has no Authorization: Bearer.'
answers 401 unauthorized POST /tokens '{"name":"x","grants":[{"scopes":["read"],"prefix":[]}]}' "${json[@]}"
answers 200 GET /livez
answers 200 GET /tokens/self
body_is '{"required":true,"token":null}'
answers 401 unauthorized GET /tokens/self '' --oauth2-bearer kindex_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA

test_case 'a user reaches their own keys with a token of each algorithm, and no others'
for algorithm in rsa:RS256 ec:ES256 ed:EdDSA; do
    claims "${algorithm%:*}" "${algorithm#*:}" '"sub":"ada"'
    for version in --http1.1 --http2-prior-knowledge; do
        request PUT /kv/users/ada/note '{"n":1}' "${json[@]}" "${bearer[@]}" $version
        is 'stored' "${status#20[01]}" ''
        gives .n 1 GET /kv/users/ada/note '' "${bearer[@]}" $version
        answers 403 forbidden GET /kv/users/bob/note '' "${bearer[@]}" $version
    done
done
answers 200 GET '/list?prefix=users/ada' '' "${bearer[@]}"
for prefix in users users/adam users/ad users/bob orders ''; do
    answers 403 forbidden GET "/list?prefix=$prefix" '' "${bearer[@]}"
done
answers 403 forbidden PUT /kv/users 1 "${bearer[@]}"
answers 403 forbidden GET /kv/orders/1 '' "${bearer[@]}"
answers 403 forbidden POST /tokens '{"name":"x","grants":[{"scopes":["read"],"prefix":["users","ada"]}]}' "${json[@]}" "${bearer[@]}"

test_case 'groups grant what their lines say, and a token without sub has no keys of a user'
claims ed EdDSA '"groups":["x","staff"]'
answers 404 key-not-found GET /kv/orders/1 '' "${bearer[@]}"
answers 403 forbidden PUT /kv/orders/1 1 "${bearer[@]}"
answers 403 forbidden GET /kv/users/ada/note '' "${bearer[@]}"
claims ed EdDSA '"groups":["staffs"],"sub":""'
answers 403 forbidden GET /kv/orders/1 '' "${bearer[@]}"
answers 403 forbidden GET /list?prefix=users '' "${bearer[@]}"

test_case 'tokens/self and the audit log name the user'
claims ed EdDSA '"sub":"ada \"x\" event=audit"'
answers 200 GET /tokens/self '' "${bearer[@]}"
field '[.required, .token.sub, .token.issuer, .token.grants]' \
    '[true,"ada \"x\" event=audit","https://id.example.org",[{"scopes":["read","write","list","watch"],"prefix":["users","ada \"x\" event=audit"]}]]'
id=$(value .token.id)
answers 403 forbidden GET /kv/users/bob '' "${bearer[@]}" --header 'X-Request-Id: named'
is 'the line' "$(grep 'id=named' "$log" | sed 's/ key_sha256=[0-9a-f]*//')" \
    "level=warning event=audit-denied method=GET operation=getEntry token=$id sub=\"ada \\\"x\\\" event=audit\" status=403 id=named"

test_case 'a forged, foreign or expired token is refused'
refused() { # WHY: $token is refused with a detail that contains it
    request GET /kv/users/ada/note '' --oauth2-bearer "$token"
    expect 401 unauthorized
    field ".detail | contains(\"$1\")" true
    header WWW-Authenticate 'Bearer realm="kindex", error="invalid_token"'
}
claims ed EdDSA '"sub":"ada"'
token=${token%.*}.$(printf 'A%.0s' {1..86})
refused 'The signature'
claims ed none '"sub":"ada"'
refused 'The algorithm'
claims ed HS256 '"sub":"ada"'
refused 'The algorithm'
claims ed EdDSA '"sub":"ada"' -61
refused 'has expired'
claims ed EdDSA "\"sub\":\"ada\",\"nbf\":$(($(date +%s) + 600))"
refused 'not valid yet'
issuer=https://evil.example claims ed EdDSA '"sub":"ada"'
refused 'another issuer'
aud=other claims ed EdDSA '"sub":"ada"'
refused 'another audience'
token=$(node "$here/jwt.js" sign "$keys/ed.key" '{"alg":"EdDSA","kid":"ed","jku":"https://evil.example"}' '{}')
refused jku
token=$(printf 'a%.0s' {1..8200})
refused 'more bytes'
token=x.y
refused neither
is 'tokens in the log' "$(grep -cE 'eyJ|\.[A-Za-z0-9_-]{40}' "$log")" 0

test_case 'a stream ends with its token'
claims ed EdDSA '"sub":"ada"' -57
began=$SECONDS
curl --silent --no-buffer --max-time "$longest" "${bearer[@]}" "$url/watch?key=users/ada/note" >"$work/watched"
is 'how it ends' "$? $(grep -c '^id:' "$work/watched")" '0 1'
is 'before curl ends it' "$((SECONDS - began < longest))" 1
answers 401 unauthorized GET /kv/users/ada/note '' "${bearer[@]}"

test_case 'an access token made with a JWT expires with it, and admin is a separate line'
claims ed EdDSA '"sub":"root","role":"operator"'
everything='[{"scopes":["read","write","list","watch","index","monitor","admin"],"prefix":[]}]'
answers 201 POST /tokens "{\"name\":\"made\",\"grants\":$everything}" "${json[@]}" "${bearer[@]}"
made=$(value .token)
expires=$(value .expiresAt)
gives .token.expiresAt "$expires" GET /tokens/self '' "${bearer[@]}"
answers 200 GET /kv/users/ada/note '' --oauth2-bearer "$made"
answers 201 POST /tokens "{\"name\":\"made\",\"ttl\":\"30d\",\"grants\":$everything}" "${json[@]}" "${bearer[@]}"
field .expiresAt "$expires"
answers 200 GET /tokens '' "${bearer[@]}"
field '.tokens | map(.name)' '["made","made"]'

test_case 'a backup ticket has the rights of the JWT that made it'
answers 201 POST /backup/tickets '' "${bearer[@]}"
answers 200 GET "$(value .address)"
claims ed EdDSA '"sub":"root","role":"operator"' -58
answers 201 POST /backup/tickets '' "${bearer[@]}"
ticket=$(value .address)
until_status 401 GET /tokens/self '' "${bearer[@]}"
answers 404 not-found GET "$ticket"
stop_server

test_case 'requests count for the user, not for each token'
start_server "${with_file[@]}" --token-rate 3
claims ed EdDSA '"sub":"ada","jti":"1"'
for _ in 1 2 3; do request GET /kv/users/ada/note '' "${bearer[@]}"; done
claims ed EdDSA '"sub":"ada","jti":"2"'
# A minute may have begun meanwhile: then these are its first ones.
for _ in 1 2 3 4; do request GET /kv/users/ada/note '' "${bearer[@]}"; done
expect 429 rate-limited
claims ed EdDSA '"sub":"bob"'
answers 404 key-not-found GET /kv/users/bob/note '' "${bearer[@]}"

test_case 'SIGHUP reads keys and grants again, and keeps the old ones if the new are wrong'
stop_server
start_server "${with_file[@]}"
node "$here/jwt.js" keys "$keys" new:EdDSA >"$keys/set"
claims new EdDSA '"sub":"ada"'
answers 401 unauthorized GET /kv/users/ada/note '' "${bearer[@]}"
cp "$work/grants" "$work/grants.old"
echo '[{"scopes":["read"],"prefix":["users"]}]' >"$work/grants"
kill -HUP "$server"
until_status 200 GET /kv/users/ada/note '' "${bearer[@]}"
answers 404 key-not-found GET /kv/users/bob/note '' "${bearer[@]}"
echo '{' >"$work/grants"
echo '{' >"$keys/set"
kill -HUP "$server"
failures_are_logged() { [ "$(grep -cE 'event=(grants|jwt-keys)-failed' "$log")" = 2 ]; }
wait_until failures_are_logged
answers 200 GET /kv/users/ada/note '' "${bearer[@]}"
cp "$work/grants.old" "$work/grants"

test_case 'a token that was verified before is refused once its key is replaced'
used=("${bearer[@]}")
node "$here/jwt.js" keys "$keys" new:EdDSA >"$keys/set"
kill -HUP "$server"
until_status 401 GET /kv/users/ada/note '' "${used[@]}"
claims new EdDSA '"sub":"ada"'
answers 200 GET /kv/users/ada/note '' "${bearer[@]}"
answers 401 unauthorized GET /kv/users/ada/note '' "${used[@]}"
stop_server

# ---- Keys that are fetched ---------------------------------------------------

{ authority ours && authority others && issue id ours serverAuth; } >"$work/openssl" 2>&1 || cat "$work/openssl"
node "$here/jwt.js" serve "$sheaf/id.pem" "$sheaf/id.key" "$work/jwks" "$work/id.port" "$work/fetches" &
id_server=$!
wait_until test -s "$work/id.port"
address=https://localhost:$(cat "$work/id.port")/jwks
with_address=(--jwt-keys "$address" --jwt-ca "$sheaf/ours.pem" "${identities[@]}")
fetches() { stat -c %s "$work/fetches"; }
next_keys() { # KID: the issuer has this key from now on
    node "$here/jwt.js" keys "$keys" "$1:ES256" >"$work/jwks"
    claims "$1" ES256 '"sub":"ada"'
}

test_case 'keys are fetched at the start; an unknown one fetches them again, once a minute'
next_keys one
start_server "${with_address[@]}"
answers 200 GET /kv/users/ada/note '' "${bearer[@]}"
is 'fetches' "$(fetches)" 1
next_keys two
until_status 200 GET /kv/users/ada/note '' "${bearer[@]}"
is 'fetches' "$(fetches)" 2
claims one ES256 '"sub":"ada"'
answers 401 unauthorized GET /kv/users/ada/note '' "${bearer[@]}"
next_keys three
for _ in 1 2 3 4 5; do answers 401 unauthorized GET /kv/users/ada/note '' "${bearer[@]}"; done
kill -HUP "$server"
until_status 200 GET /kv/users/ada/note '' "${bearer[@]}"
is 'fetches' "$(fetches)" 3

test_case 'keys are kept while their issuer fails, redirects or answers nonsense'
kept() { # FAILURES: SIGHUP has fetched in vain so often, and the token is still good
    kill -HUP "$server"
    failed() { [ "$(grep -c 'event=jwt-keys-failed address' "$log")" = "$1" ]; }
    wait_until failed "$1"
    answers 200 GET /kv/users/ada/note '' "${bearer[@]}"
}
cp "$work/jwks" "$work/jwks.good"
rm "$work/jwks"
kept 1
is 'why' "$(grep -c 'why="it answered 500"' "$log")" 1
node "$here/jwt.js" serve "$sheaf/id.pem" "$sheaf/id.key" "$work/jwks.good" "$work/other.port" "$work/other.fetches" &
other_server=$!
wait_until test -s "$work/other.port"
echo "redirect https://localhost:$(cat "$work/other.port")/jwks" >"$work/jwks"
kept 2
is 'why' "$(grep -c 'why="it answered 302"' "$log")" 1
is 'requests to where it points' "$(stat -c %s "$work/other.fetches" 2>&1 | grep -c 'No such')" 1
kill "$other_server"
echo '{"keys":[{"kty":"oct","kid":"three","k":"AAAA"}]}' >"$work/jwks"
kept 3
head -c 300000 /dev/zero | tr '\0' ' ' >"$work/jwks"
kept 4
kill "$id_server"
wait "$id_server"
kept 5
stop_server

test_case 'an issuer that is away at the start, or whose certificate is not trusted, lets no user in'
start_server "${with_address[@]}"
answers 401 unauthorized GET /kv/users/ada/note '' "${bearer[@]}"
field '.detail | contains("could not be fetched yet")' true
answers 200 GET /livez
stop_server
cp "$work/jwks.good" "$work/jwks"
rm "$work/id.port"
node "$here/jwt.js" serve "$sheaf/id.pem" "$sheaf/id.key" "$work/jwks" "$work/id.port" "$work/fetches" &
id_server=$!
wait_until test -s "$work/id.port"
begun=$(fetches)
address=https://localhost:$(cat "$work/id.port")/jwks
start_server --jwt-keys "$address" --jwt-ca "$sheaf/others.pem" "${identities[@]}"
answers 401 unauthorized GET /kv/users/ada/note '' "${bearer[@]}"
is 'fetches' "$(fetches)" "$begun"
stop_server
kill "$id_server"
wait "$id_server"

finish
