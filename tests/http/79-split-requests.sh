#!/bin/bash
# A client with Nagle's algorithm that sends head and body in two writes (Deno
# does) keeps the body back until the head is acknowledged, which the kernel would
# delay by 40 ms. The server says at once that it waits for more, and says
# nothing where its answer carries the acknowledgement.
. "$(dirname "$0")/../lib/http.sh"
needs strace openssl
here=$(dirname "$0")
program=$KINDEX

# The server with its calls of setsockopt() in $work/trace. Leaks are not looked
# for: that needs ptrace() as well.
cat >"$work/traced" <<EOF
#!/bin/sh
ASAN_OPTIONS=$(printf %q "${ASAN_OPTIONS:+$ASAN_OPTIONS:}")detect_leaks=0
export ASAN_OPTIONS
exec strace -D -f --seccomp-bpf -e trace=setsockopt -o "$work/trace" "$program" "\$@"
EOF
chmod +x "$work/traced"
KINDEX=$work/traced

split() {
    timeout "$longest" node "$here/split_requests.js" "${url##*:}" "$work/trace" "$@" 2>&1
}

test_case 'a head without its body is acknowledged at once, a whole request by its answer'
start_server
is 'what was answered' "$(split)" $'HTTP/1.1: 201 200, 0 in one piece\nHTTP/2: 200 200, 0 in one piece'
stop_server
is 'its exit status' $? 0

test_case 'a head without its body is acknowledged at once over TLS'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -addext basicConstraints=critical,CA:FALSE \
    -keyout "$work/key" -out "$work/certificate" 2>"$work/openssl" || cat "$work/openssl"
start_server --tls-cert "$work/certificate" --tls-key "$work/key"
is 'what was answered' "$(split "$work/certificate")" \
    $'HTTP/1.1: 200 200, 0 in one piece\nHTTP/2: 200 200, 0 in one piece'
finish
