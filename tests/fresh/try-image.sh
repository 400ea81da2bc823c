#!/bin/bash
# Inside the second stage of the image, as its user and with its environment,
# but on another port: the service starts, its health check says so, SIGTERM
# ends it with 0, and the health check says that too.
#   try-image.sh HEALTH-CHECK
set -u
export KINDEX_LISTEN=0.0.0.0:4513
healthy() {
    sh -c "$1" >/dev/null 2>&1
}
kindex serve &
server=$!
healthy=no
for _ in $(seq 100); do
    healthy "$1" && healthy=yes && break
    kill -0 $server 2>/dev/null || break
    sleep 0.1
done
kill -TERM $server
wait $server
status=$?
healthy "$1" && healthy="yes, though stopped"
echo "image: healthy: $healthy; ended with $status"
[ "$healthy" = yes ] && [ $status -eq 0 ]
