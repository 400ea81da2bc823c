#!/bin/bash
# The service through nginx and haproxy, which are set up with the lines of
# deploy/README.md: the host's name and the address reach the server as they were sent, and
# an event comes when it happens.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/watch.sh"
readme=$(dirname "$0")/../../deploy/README.md
json=(--header 'Content-Type: application/json')
KX_RECORD= # nginx adds another header, which openapi.yaml does not describe
start_server --host-names kv.example.org
direct=${url#http://}
url=http://kv.example.org
proxy=''
trap '[ -z "$proxy" ] || kill "$proxy"; leave' EXIT

# The lines of the README's block for a program, with the server of this story; what
# listens is the next argument's.
lines_of() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$readme" | sed "/^\`\`\`/d; /ssl_certificate/d; s/127\.0\.0\.1:4512/$direct/; $2"
}

is_up() {
    curl --silent --output "$work/null" --unix-socket "$work/$1.sock" "$url/livez"
}

begin_proxy() {
    "${@:2}" >"$work/$1.log" 2>&1 &
    proxy=$!
    wait_until is_up "$1" || cat "$work/$1.log"
    through=(--unix-socket "$work/$1.sock")
}

end_proxy() {
    kill "$proxy"
    wait "$proxy" 2>"$work/null"
    proxy=''
}

# begin_nginx SED-SCRIPT
begin_nginx() {
    rm -f "$work/nginx.sock"
    {
        echo "daemon off; pid $work/nginx.pid; error_log stderr; $([ "$(id -u)" != 0 ] || echo 'user root;') events {}"
        echo "http { access_log off; client_body_temp_path $work/body; proxy_temp_path $work/proxied;"
        echo "fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;"
        lines_of nginx "s|listen .*|listen unix:$work/nginx.sock;|; $1"
        echo '}'
    } >"$work/nginx.conf"
    begin_proxy nginx nginx -p "$work" -c "$work/nginx.conf"
}

begin_haproxy() {
    {
        printf 'defaults\n    mode http\n    timeout connect 10s\n    timeout client 1h\n'
        lines_of haproxy "s|bind .*|bind unix@$work/haproxy.sock|"
    } >"$work/haproxy.cfg"
    begin_proxy haproxy haproxy -db -f "$work/haproxy.cfg"
}

serves_through() {
    test_case "$1 passes Host and the path on unchanged"
    answers 201 PUT "/kv/$1/a%2Fb/=%220%22" 1 "${json[@]}" "${through[@]}"
    gives '[.entries[].key]' "[[\"$1\",\"a/b\",\"0\"]]" GET "/list?prefix=$1" '' "${through[@]}"
    answers 421 host-not-allowed GET /version '' "${through[@]}" --header 'Host: evil.example'
    answers 201 PUT "/kv/$1/page" 1 "${json[@]}" "${through[@]}" --header "Origin: $url"

    test_case "$1 passes a body as large as the server accepts"
    {
        printf '{"mutations":[{"type":"set","key":["%s","large"],"value":"' "$1"
        head -c 1000000 /dev/zero | tr '\0' x
        printf '"}],"checks":[]%7000000s}' ''
    } >"$work/large"
    answers 200 POST /atomic "@$work/large" "${json[@]}" "${through[@]}"

    test_case "$1 passes an event on when it happens"
    watch "key=$1" "${through[@]}"
    request PUT "/kv/$1" 2 "${json[@]}" "${through[@]}"
    wait_until has_events 2
    is 'it has come' $? 0
    event 2 '[.entries[].value]' '[2]'
    end_watch
}

begin_nginx ''
serves_through nginx
end_proxy

test_case 'nginx without its line for Host sends another one, which is refused'
begin_nginx '/proxy_set_header Host/d'
answers 421 host-not-allowed GET /version '' "${through[@]}"
end_proxy

begin_haproxy
serves_through haproxy
end_proxy
finish
