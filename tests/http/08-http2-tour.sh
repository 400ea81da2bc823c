#!/bin/bash
# The stories of the REST tour once more, word for word, over HTTP/2: curl finds
# the option in its configuration. Sanitizers see a part of the tour; the whole is
# for the program without them (make http).
. "$(dirname "$0")/../lib/http.sh"
here=$(dirname "$0")
echo --http2-prior-knowledge >"$work/.curlrc"
start_server

test_case 'curl speaks HTTP/2 when its configuration says so'
CURL_HOME=$work request GET /livez '' \
    --write-out '%{http_code} %{http_version}'
is 'status and version' "$status" '200 2'

tour='10-first-steps 12-keys 14-values 16-conditions 20-patch 22-generated-keys
    30-list 32-cursors 34-delete-range 38-batch-get 40-atomic 50-guide-pointer
    52-guide-value 56-index-rules'
[ $partial = no ] || tour='10-first-steps 30-list 38-batch-get 40-atomic'
for story in $tour; do
    test_case "$story"
    KX_RECORD='' CURL_HOME=$work bash "$here/$story.sh" >"$work/story" 2>&1
    is "$story" "$? $(tail -n 8 "$work/story")" \
        "0 $(tail -n 1 "$work/story")"
done
finish
