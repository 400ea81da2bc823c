#!/bin/bash
# The container's health check: asks /readyz on the port of KINDEX_LISTEN,
# with nothing but bash, because the image has no curl.
set -eu
listen=${KINDEX_LISTEN:-127.0.0.1:4512}
exec 3<>"/dev/tcp/127.0.0.1/${listen##*:}"
printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r -t 2 _ status _ <&3
[ "$status" = 200 ]
