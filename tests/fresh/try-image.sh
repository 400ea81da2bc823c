#!/bin/bash
# Inside the second stage of the image, as its user and with its environment and
# command, but on another port: the service starts, its health check says so, the
# access token that it has made opens it and nothing else does, SIGTERM ends it
# with 0, and the health check says that too.
#   try-image.sh HEALTH-CHECK COMMAND...
set -u
health=$1
shift
export KINDEX_LISTEN=0.0.0.0:4513
healthy() {
    sh -c "$health" >/dev/null 2>&1
}
url=http://127.0.0.1:4513
"$@" &
server=$!
healthy=no
for _ in $(seq 100); do
    healthy && healthy=yes && break
    kill -0 $server 2>/dev/null || break
    sleep 0.1
done
opened=no
kindex set a 1 --url $url 2>/dev/null && opened=to-all
KINDEX_TOKEN=$(cat /data/token) kindex set a 1 --url $url &&
    [ $opened = no ] && opened=yes
kill -TERM $server
wait $server
status=$?
healthy && healthy="yes, though stopped"
echo "image: healthy: $healthy; opened: $opened; ended with $status"
[ "$healthy" = yes ] && [ $opened = yes ] && [ $status -eq 0 ]
