#!/bin/bash
# Client certificates that give rights by their names, and what ends when one is revoked.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/certificates.sh"
needs openssl
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')

{ authority ours && authority others && issue server ours serverAuth &&
    issue billing ours clientAuth DNS:billing.example.org,email:billing@example.org &&
    issue spiffe ours clientAuth URI:spiffe://example.org/orders &&
    issue twins ours clientAuth URI:spiffe://example.org/a,URI:spiffe://example.org/b &&
    issue stranger ours clientAuth DNS:billing.example.org.evil.example &&
    issue foreign others clientAuth DNS:billing.example.org && revoke ours; } \
    >"$work/openssl" 2>&1 || cat "$work/openssl"
export CURL_CA_BUNDLE=$sheaf/ours.pem
files=(--tls-cert "$sheaf/server.pem" --tls-key "$sheaf/server.key" --tls-client-ca "$sheaf/ours.pem")
cat >"$work/grants" <<'END'
[{"certificate": {"dns": "billing.example.org"}, "scopes": ["read", "list", "watch"], "prefix": ["orders"]},
 {"certificate": {"email": "billing@example.org"}, "scopes": ["write"], "prefix": ["bills", "{cn}"]},
 {"certificate": {"cn": "spiffe"}, "scopes": ["read", "write"], "prefix": ["services", "{uri}"]},
 {"certificate": {"cn": "twins"}, "scopes": ["read", "write"], "prefix": ["services", "{uri}"]},
 {"certificate": {"subject": "CN=twins", "uri": "spiffe://example.org/b"}, "scopes": ["read"], "prefix": ["b"]}]
END
start_https() {
    start_server "${files[@]}" "$@"
    url=https://${url#http://}
}
as() { # NAME: $own are curl's options for this certificate
    own=(--cert "$sheaf/$1.pem" --key "$sheaf/$1.key")
}
refusal() {
    "$KINDEX" serve --data "$work/none" --listen 127.0.0.1:0 "$@" 2>&1 | head -1
}

test_case 'options that do not fit together are refused at the start'
is 'a list of revoked ones alone' "$(refusal --tls-client-crl x)" 'kindex: --tls-client-crl needs --tls-client-ca'
is 'grants alone' "$(refusal --grants "$work/grants")" 'kindex: --grants needs --jwt-keys or --tls-client-ca'
echo '[{"scopes":["read"],"prefix":["a"]}]' >"$work/users"
is 'grants of users' "$(refusal "${files[@]}" --grants "$work/users")" \
    "kindex: cannot use --grants $work/users: lines without \`certificate\` need --jwt-keys"
echo '[{"certificate":{"cn":"a"},"when":{"a":"b"},"scopes":["read"],"prefix":["a"]}]' >"$work/both"
is 'a line of both' "$(refusal "${files[@]}" --grants "$work/both" | cut -d: -f3)" ' line 1'
echo '[{"certificate":{},"scopes":["read"],"prefix":["a"]}]' >"$work/any"
is 'a line for all' "$(refusal "${files[@]}" --grants "$work/any" | cut -d: -f3)" ' line 1'
is 'no list' "$(refusal "${files[@]}" --tls-client-crl "$sheaf/ours.pem" | cut -c 1-42)" \
    'kindex: cannot start TLS: --tls-client-crl'

node "$here/jwt.js" keys "$sheaf" ed:EdDSA >"$work/jwks"
jq '. + [{"when":{"cn":"billing"},"scopes":["read"],"prefix":["users"]}]' "$work/grants" >"$work/all"
start_https --grants "$work/all" --jwt-keys "$work/jwks" --jwt-issuer id --jwt-audience kindex \
    --tls-client-crl "$sheaf/ours.crl"

test_case 'a certificate gives what the lines with its names say, over both protocols'
as billing
for version in 1.1 2; do
    answers 404 key-not-found GET /kv/orders/1 '' "${own[@]}" "--http$version"
    answers 200 GET '/list?prefix=orders' '' "${own[@]}" "--http$version"
    answers 403 forbidden PUT /kv/orders/1 1 "${own[@]}" "--http$version"
    request PUT /kv/bills/billing/1 1 "${own[@]}" "--http$version"
    is 'stored' "${status#20[01]}" ''
    answers 403 forbidden PUT /kv/bills/other/1 1 "${own[@]}" "--http$version"
    answers 403 forbidden GET /kv/users/1 '' "${own[@]}" "--http$version"
done
as spiffe
answers 201 PUT '/kv?key=%5B%22services%22,%22spiffe://example.org/orders%22%5D' 1 "${own[@]}"
answers 403 forbidden PUT /kv/services/x 1 "${own[@]}"

test_case 'of several names each matches, but none is a part of a key'
as twins
answers 404 key-not-found GET /kv/b/1 '' "${own[@]}"
answers 403 forbidden GET '/kv?key=%5B%22services%22,%22spiffe://example.org/a%22%5D' '' "${own[@]}"
answers 403 forbidden GET /list?prefix=services '' "${own[@]}"

test_case 'a certificate without a line is no identity; one of another authority no client'
as stranger
answers 401 unauthorized GET /kv/orders/1 '' "${own[@]}"
answers 200 GET /tokens/self '' "${own[@]}"
body_is '{"required":true,"token":null}'
as foreign
request GET /livez '' "${own[@]}"
is 'another authority' "$status" none
request GET /livez
is 'no certificate' "$status" none

test_case 'lines for certificates are not for tokens, and a token replaces a certificate'
as stranger
token=$(node "$here/jwt.js" sign "$sheaf/ed.key" '{"alg":"EdDSA","kid":"ed"}' \
    "{\"iss\":\"id\",\"aud\":\"kindex\",\"exp\":$(($(date +%s) + 600)),\"cn\":\"billing\",\"dns\":\"billing.example.org\",\"certificate\":{\"cn\":\"spiffe\"}}")
gives '.token.grants | map(.prefix)' '[["users"]]' GET /tokens/self '' "${own[@]}" --oauth2-bearer "$token"
as billing
answers 403 forbidden GET /kv/orders/1 '' "${own[@]}" --oauth2-bearer "$token"
answers 401 unauthorized GET /kv/orders/1 '' "${own[@]}" --oauth2-bearer x

test_case 'tokens/self and the audit log name the subject'
gives '[.token.sub, .token.issuer]' '["CN=billing","CN=ours"]' GET /tokens/self '' "${own[@]}"
answers 403 forbidden GET /kv/users/1 '' "${own[@]}" --header 'X-Request-Id: named'
is 'the line' "$(grep 'id=named' "$log" | grep -c ' sub="CN=billing" status=403 ')" 1

test_case 'the certificate of another node gives its clients nothing'
answers 401 unauthorized GET /kv/orders/1 '' "${own[@]}" --header 'Kindex-Hop: 1'

test_case 'doctor says that requests are encrypted and need a token'
as billing
(unset KINDEX_TOKEN && "$KINDEX" doctor --url "$url" --cacert "$sheaf/ours.pem" --client-cert "$sheaf/billing.pem" \
    --client-key "$sheaf/billing.key") >"$work/doctor" 2>&1
is 'what it says' "$(awk '$2 == "tls" || $2 == "access"' "$work/doctor" | tr -s ' ')" \
    $'ok tls requests are encrypted\nok access requests need a token'

watch() { # NAME VERSION: a stream with this certificate, into $work/NAME.VERSION
    as "$1"
    curl --silent --no-buffer --max-time "$longest" "${own[@]}" "--http$2" "${@:3}" \
        "$url/watch?prefix=orders" >"$work/$1.$2" 2>&1 &
    echo $! >"$work/$1.$2.pid"
    wait_until test -s "$work/$1.$2"
}
reload() { # READS: SIGHUP, and waits until the files are read so often
    kill -HUP "$server"
    read_again() { [ "$(grep -c event=tls-reloaded "$log")" = "$1" ]; }
    wait_until read_again "$1"
}

test_case 'a revoked certificate ends at SIGHUP: its streams, open and new connections; others stay'
watch billing 1.1
watch billing 2
reload 1
kill -0 "$(cat "$work/billing.2.pid")"
is 'a stream after a list without it' "$?" 0
revoke ours billing >"$work/openssl" 2>&1 || cat "$work/openssl"
as spiffe
reload 2
for version in 1.1 2; do
    wait "$(cat "$work/billing.$version.pid")"
    is "how the stream ends by $version" "$?" 0
done
is 'the log' "$(grep -c event=client-revoked "$log")" 2
as billing
request GET /livez '' "${own[@]}"
is 'a new connection' "$status" none
as spiffe
gives .token.sub CN=spiffe GET /tokens/self '' "${own[@]}"
stop_server

test_case 'a revoked certificate ends also what came with a token over its connection'
start_https --token-file "$work/token" --tls-client-crl "$sheaf/ours.crl"
watch spiffe 1.1 --oauth2-bearer "$(cat "$work/token")"
revoke ours spiffe >"$work/openssl" 2>&1 || cat "$work/openssl"
kill -HUP "$server"
wait "$(cat "$work/spiffe.1.1.pid")"
is 'how the stream ends' "$?" 0
stop_server

finish
