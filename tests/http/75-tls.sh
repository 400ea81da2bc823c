#!/bin/bash
# HTTPS: both protocols, accepted clients, what is offered, and a certificate that
# changes while the server runs.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/certificates.sh"
needs openssl sslscan
here=$(dirname "$0")
json=(--header 'Content-Type: application/json')

{ authority ours && authority others &&
    issue first ours serverAuth && issue second ours serverAuth &&
    issue client ours clientAuth && issue stranger others clientAuth; } \
    >"$work/openssl" 2>&1 || cat "$work/openssl"

serial_of() {
    openssl x509 -in "$1" -noout -serial | tr '[:upper:]' '[:lower:]'
}

# What the server shows to a new connection.
serial_shown() {
    openssl s_client -connect "${url#https://}" </dev/null 2>"$work/null" |
        openssl x509 -noout -serial 2>&1 | tr '[:upper:]' '[:lower:]'
}

cp "$sheaf/first.pem" "$sheaf/server.pem"
cp "$sheaf/first.key" "$sheaf/server.key"
files=(--tls-cert "$sheaf/server.pem" --tls-key "$sheaf/server.key")
export CURL_CA_BUNDLE=$sheaf/ours.pem KINDEX_CACERT=$sheaf/ours.pem

# The server with these options, and its address with https.
start_https() {
    start_server "${files[@]}" "$@"
    url=https://${url#http://}
}

refusal() {
    "$KINDEX" serve --data "$work/none" --listen 127.0.0.1:0 "$@" 2>&1
    echo "exit $?"
}

test_case 'contradictory or unreadable TLS options are named at the start'
is 'a certificate alone' "$(refusal --tls-cert x)" \
    $'kindex: --tls-cert needs --tls-key\nexit 2'
is 'a key alone' "$(refusal --tls-key x)" \
    $'kindex: --tls-key needs --tls-cert\nexit 2'
is 'an authority alone' "$(refusal --tls-client-ca x)" \
    $'kindex: --tls-client-ca needs --tls-cert and --tls-key\nexit 2'
got=$(refusal --tls-cert "$work/no" --tls-key "$work/no")
is 'no file' "${got%%$'\n'*}" \
    "kindex: cannot start TLS: --tls-cert $work/no: No such file or directory"
got=$(refusal --tls-cert "$sheaf/first.pem" --tls-key "$work/no")
is 'no key' "${got%%$'\n'*}" \
    "kindex: cannot start TLS: --tls-key $work/no: No such file or directory"
got=$(refusal --tls-cert "$sheaf/first.pem" --tls-key "$sheaf/second.key")
is 'the key of another' "$(grep -c 'the given key do not match' <<<"$got")" 1
got=$(refusal "${files[@]}" --tls-client-ca "$sheaf/first.key")
is 'no authority' "${got##*$'\n'}" 'exit 1'
is 'nothing was made' "$(ls "$work/none" 2>&1 | grep -c 'No such')" 1

start_https --value-max 32MiB

test_case 'TLS serves HTTP/1.1 and HTTP/2, as client and server agree'
for version in 1.1 2; do
    request GET /livez '' "--http$version" \
        --write-out '%{http_code} %{http_version} %{ssl_verify_result}'
    is "asked for $version" "$status" "200 $version 0"
done
request GET /livez '' --no-alpn --write-out '%{http_code} %{http_version}'
is 'without ALPN' "$status" '200 1.1'
for version in 1.2 1.3; do
    answers 200 GET /livez '' "--tlsv$version" --tls-max "$version"
done

test_case 'the address shown at the start can be used as it stands'
is 'it' "$(grep -o 'on https://127.0.0.1:[0-9]*' "$work/greeting")" \
    "on $url"
answers 200 GET "/livez"

test_case 'TLS versions before 1.2 are refused'
for version in 1.0 1.1; do
    request GET /livez '' --tlsv1.0 --tls-max "$version"
    is "TLS $version" "$status" none
done

test_case 'a request without TLS to a TLS server is answered as such, and does no harm'
plain=http://${url#https://}
status=$(curl --silent --dump-header "$head" --output "$answer" \
    --write-out '%{http_code}' "$plain/kv/a")
expect 400 tls-required
answers 200 GET /livez

test_case 'large values pass through TLS unharmed in both directions, however slowly read'
head -c 18000000 /dev/urandom | base64 -w 0 | sed 's/.*/"&"/' >"$work/large"
for version in 1.1 2; do
    request PUT /kv/large "@$work/large" "${json[@]}" "--http$version"
    is "stored by $version" "${status#20[01]}" ''
    request GET /kv/large '' "--http$version"
    is "as it was, by $version" "$(cmp "$answer" "$work/large" 2>&1)" ''
done
whole="$(stat -c %s "$work/large") $(sha256sum "$work/large" | cut -c 1-16)"
edges() {
    timeout "$longest" node "$here/tls_edges.js" "${url##*:}" "$sheaf/ours.pem" "$@"
}
is 'read slowly' "$(edges large1 large2)" $"large1: $whole"$'\n'"large2: $whole"
is 'ten at a time' "$(edges many2)" 'many2: 1 true'

test_case 'TLS records may be cut and joined anywhere in a request'
is 'byte by byte' "$(edges dribble records)" \
    $'dribble: 200\nrecords: 200 200'
is 'a thousand at a time' "$(edges pipeline)" 'pipeline: 1000'

test_case 'both sides end connections with a close_notify of TLS'
is 'they' "$(edges goodbye notify nonsense)" \
    $'goodbye: 200\nnotify: closed\nnonsense: 400'

test_case 'a TLS client cannot renegotiate'
is 'it' "$(edges renegotiation)" 'renegotiation: refused'

test_case 'a client that offers neither protocol by ALPN is refused'
is 'it' "$(edges unknownProtocol)" \
    'unknownProtocol: ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'

test_case 'sslscan finds no weak protocol, no weak cipher and no weak group'
sslscan --no-colour --xml="$work/scan.xml" "${url#https://}" >"$work/scan" 2>&1
scan() {
    grep -oE "$1" "$work/scan.xml" | sort -u | tr '\n' ' '
}
is 'protocols' "$(grep -oE '<protocol .*enabled="1"' "$work/scan.xml" |
    sed -E 's/.*version="([^"]*)".*/\1/' | sort | tr '\n' ' ')" '1.2 1.3 '
is 'ciphers that are not authenticated and forward secret' \
    "$(grep '<cipher ' "$work/scan.xml" |
        grep -vE 'cipher="(TLS_(AES_(128|256)_GCM|CHACHA20_POLY1305)_SHA(256|384)|ECDHE-ECDSA-(AES(128|256)-GCM-SHA(256|384)|CHACHA20-POLY1305))"')" ''
is 'ciphers that are' "$(($(grep -c '<cipher ' "$work/scan.xml") >= 5))" 1
is 'bits of the weakest' "$(grep '<cipher ' "$work/scan.xml" |
    sed -E 's/.* bits="([0-9]+)".*/\1/' | sort -n | head -1)" 128
is 'renegotiation and compression' \
    "$(scan '(renegotiation|compression) supported="[01]"')" \
    'renegotiation supported="0" '
is 'Heartbleed' "$(scan 'vulnerable="1"')" ''
is 'groups below 128 bits' "$(grep '<group ' "$work/scan.xml" |
    grep -vE 'bits="(1[2-9][0-9]|2[0-9][0-9])"')" ''

test_case 'the command line speaks https'
is 'a value' "$(printf '{"n":1}' | "$KINDEX" set cli/a --url "$url" -o raw |
    wc -c)" 21
is 'it' "$("$KINDEX" get cli/a --url "$url")" '{"n":1}'
is 'many' "$(for i in 1 2 3; do echo "{\"key\":[\"cli\",$i],\"value\":$i}"; done |
    "$KINDEX" import --url "$url" >"$work/null" 2>&1
    "$KINDEX" count cli --url "$url" -o raw)" 4
got=$(KINDEX_CACERT=$sheaf/others.pem "$KINDEX" get cli/a --url "$url" 2>&1)
is 'not trusted' "$? $(grep -c 'is not trusted; --cacert' <<<"$got")" '1 1'
got=$(KINDEX_CACERT=$work/no "$KINDEX" get cli/a --url "$url" 2>&1)
is 'no such file' "$? $got" "1 kindex: --cacert $work/no: the file cannot be used"
got=$("$KINDEX" get cli/a --url "$plain" 2>&1)
is 'without https' "$(grep -c 'requires HTTPS' <<<"$got")" 1

test_case 'a new certificate is shown from SIGHUP on, and no connection breaks'
mkfifo "$work/ask" "$work/said"
curl --silent --no-buffer "$url/watch?key=hup" >"$work/watched" &
watcher=$!
openssl s_client -quiet -connect "${url#https://}" <"$work/ask" \
    >"$work/said" 2>"$work/null" &
old=$!
exec 5>"$work/ask" 6<"$work/said"
ask_old() {
    printf 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n' >&5
    local line
    while IFS= read -r -t "$patience" line <&6 && [ "$line" != $'\r' ]; do
        [[ $line != HTTP* ]] || got=${line%$'\r'}
    done
    IFS= read -r -N 11 -t "$patience" line <&6
    got="$got $line"
}
wait_until grep -q hup "$work/watched"
ask_old
is 'on the old connection' "$got" 'HTTP/1.1 200 OK {"ok":true}'
is 'the serial' "$(serial_shown)" "$(serial_of "$sheaf/first.pem")"
cp "$sheaf/second.pem" "$sheaf/server.pem"
cp "$sheaf/second.key" "$sheaf/server.key"
kill -HUP "$server"
wait_until grep -q tls-reloaded "$log"
is 'the new serial' "$(serial_shown)" "$(serial_of "$sheaf/second.pem")"
is 'which the log names' "$(grep -c "event=tls-reloaded serial=$(
    serial_of "$sheaf/second.pem" | cut -d= -f2) valid_until=20" "$log")" 1
ask_old
is 'on the old connection' "$got" 'HTTP/1.1 200 OK {"ok":true}'
answers 201 PUT /kv/hup 1 "${json[@]}"
wait_until grep -q '"value":1' "$work/watched"
is 'the watch, too' "$(grep -c '"value":1' "$work/watched")" 1

test_case 'a bad certificate is named in the log, and the old one stays'
for bad in "$sheaf/first.pem" "$work/openssl" "$work/no"; do
    cp "$bad" "$sheaf/server.pem" 2>"$work/null" || rm "$sheaf/server.pem"
    before=$(grep -c tls-reload-failed "$log")
    kill -HUP "$server"
    wait_until eval '[ $(grep -c tls-reload-failed "$log") -gt '"$before" ]
    is 'the serial' "$(serial_shown)" "$(serial_of "$sheaf/second.pem")"
done
ask_old
is 'on the old connection' "$got" 'HTTP/1.1 200 OK {"ok":true}'
exec 5>&- 6<&-
kill "$watcher" "$old" 2>"$work/null"

test_case 'failed handshakes are counted'
request GET /metrics
is 'they' "$(($(grep '^kindex_tls_handshakes_failed_total ' "$answer" |
    cut -d' ' -f2) > 3))" 1

stop_server
cp "$sheaf/first.pem" "$sheaf/server.pem"
cp "$sheaf/first.key" "$sheaf/server.key"
start_https --tls-client-ca "$sheaf/ours.pem"

# The status for a client with this certificate.
as() {
    request GET /livez '' --cert "$sheaf/$1.pem" --key "$sheaf/$1.key" "${@:2}"
}

test_case '--tls-client-ca accepts only clients of that authority'
for version in 1.2 1.3; do
    as client "--tlsv$version" --tls-max "$version"
    expect 200
    as client --http1.1 "--tlsv$version" --tls-max "$version"
    expect 200
    for client in stranger second; do
        as "$client" "--tlsv$version" --tls-max "$version"
        is "the status of $client over $version" "$status" none
    done
    request GET /livez '' "--tlsv$version" --tls-max "$version"
    is "the status without a certificate over $version" "$status" none
done
is 'the command line' "$("$KINDEX" set cli/a 1 --url "$url" \
    --client-cert "$sheaf/client.pem" --client-key "$sheaf/client.key" |
    wc -c)" 21
"$KINDEX" get cli/a --url "$url" >"$work/null" 2>&1
is 'and without' $? 5

test_case 'the certificate from deploy/README.md is accepted, and cannot sign others'
makes=$(sed -n '/^    openssl req -x509/,/[^\\]$/p' "$here/../../deploy/README.md")
(cd "$sheaf" && eval "$makes") >"$work/openssl" 2>&1 || cat "$work/openssl"
stop_server
start_https
answers 200 GET /livez '' --cacert "$sheaf/server.pem"
is 'what it may do' "$(openssl x509 -in "$sheaf/server.pem" -noout -ext basicConstraints | tail -1)" \
    '    CA:FALSE'

test_case 'a handshake has a limited time'
stop_server
start_https --header-timeout 300ms
is 'it' "$(edges silence)" 'silence: closed'

finish
