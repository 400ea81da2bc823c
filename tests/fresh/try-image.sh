#!/bin/bash
# Inside the second stage of the image, as its user: the service starts on
# /data, its health check says so, and SIGTERM ends it with 0.
set -u
kindex serve --data /data --listen 127.0.0.1:4513 &
server=$!
healthy=no
for _ in $(seq 100); do
    kindex health --listen 127.0.0.1:4513 && healthy=yes && break
    kill -0 $server 2>/dev/null || break
    sleep 0.1
done
kill -TERM $server
wait $server
status=$?
kindex health --listen 127.0.0.1:4513 2>/dev/null && healthy="yes, though stopped"
echo "image: healthy: $healthy; ended with $status"
[ "$healthy" = yes ] && [ $status -eq 0 ]
