#!/bin/bash
# An archive in S3 (tests/s3/serve.js), which is slow, has errors, loses connections and
# hangs: what can be restored from it is compared entry by entry with what was there.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/s3.sh"
archive=s3://backups/one/two
bucket=$work/s3/backups/one/two

. "$(dirname "$0")/../lib/archive.sh"

# objects PATTERN: how many of that name are in the bucket.
objects() {
    find "$bucket" -name "$1._S3rver_object" 2>"$work/null" | wc -l
}

archiving() {
    start_server --archive "$archive" --archive-interval 3s --archive-keep 100 \
        --checkpoint-interval 1s --checkpoint-log 1MiB "$@"
    export KINDEX_URL=$url
}

archived_at() {
    curl --silent "$url/metrics" |
        awk '$1 == "kindex_archive_last_success_timestamp_seconds" { print $2 }'
}
is_archived() { [ "$(archived_at)" -gt "$1" ]; }

test_case 'a wrong key, a missing key and a missing bucket are reported, and no server starts'
mkdir "$work/data"
serve=("$KINDEX" serve --data "$work/data" --listen 127.0.0.1:0 --archive)
refused() {
    timeout "$longest" "${serve[@]}" "$1" >"$work/null" 2>"$work/refusal"
    is 'the exit status' $? 1
    is "why: $2" "$(grep -c "$2" "$work/refusal")" 1
}
AWS_SECRET_ACCESS_KEY=deadbeef refused "$archive" 'answers 403 SignatureDoesNotMatch.*check AWS_ACCESS_KEY_ID'
is 'no key in it' "$(grep -c 'deadbeef\|S3RVER' "$work/refusal")" 0
AWS_ACCESS_KEY_ID=unknown refused "$archive" 'answers 403 InvalidAccessKeyId'
AWS_SECRET_ACCESS_KEY='' refused "$archive" 'AWS_SECRET_ACCESS_KEY, which is not set'
AWS_ENDPOINT_URL=ftp://127.0.0.1 refused "$archive" 'AWS_ENDPOINT_URL must be'
refused s3://elsewhere/x 'NoSuchBucket.*create the bucket first'
for name in s3:// s3://b s3://backups/ s3://backups//x s3://backups/a/../b 's3://backups/a b'; do
    refused "$name" 'it must be s3://BUCKET'
done
rm -r "$work/data"

test_case 'a server starts, serves and keeps its log while every request to S3 fails'
fault error 1 .
archiving
answers 201 PUT /kv/early 1
answers 200 GET /readyz
is 'nothing is archived' "$(archived_at)" 0
is 'it is told' "$(grep -c 'event=archive step=begin.*500 InternalError' "$log" | sed 's/[1-9].*/yes/')" yes
fault
wait_until is_archived 0
there_is_one() { [ "$(objects 'base-*')" -ge 1 ]; }
wait_until there_is_one
is 'the timeline' "$(ls "$bucket")" "$(cat "$work/data/timeline")"

test_case 'a server archives although requests fail, are cut or slow'
kindex index add by_email users email --unique
fault slow 6 . error 5 . cut 7 'PUT|POST' cut 5 'GET'
head -c 32000000 /dev/urandom | base64 -w 50000 |
    awk '{ printf "{\"key\":[\"noise\",%d],\"value\":\"%s\"}\n", NR, $0 }' >"$work/noise"
for round in {1..8}; do
    for n in {1..30}; do
        echo "{\"key\":[\"users\",$n],\"value\":{\"email\":\"u$n.$round@x.org\"}}"
    done >"$work/lines"
    kindex import "$work/lines" --overwrite
    sed -n "$((round * 80 - 79)),$((round * 80))p" "$work/noise" >"$work/lines"
    kindex import "$work/lines"
    kindex del --prefix "users/=$((RANDOM % 30))"
    kindex set round "$round"
    whole_list >"$work/list.$round"
    echo "$out $(date -u +%FT%T.%3NZ)" >"$work/point.$round"
done
in_parts() { grep -q 'PUT .*base-.*partNumber=2' "$requests"; }
wait_until in_parts
all_came() { [ "$(grep -o '\(error\|cut\|slow\)$' "$requests" | sort -u | xargs)" = 'cut error slow' ]; }
write_more() {
    kindex set more "$SECONDS"
    all_came
}
wait_until write_more
whole_list >"$work/list.8"
fault
stop_server
is 'its exit status' $? 0
is 'all faults came' "$(all_came && echo yes)" yes
is 'signatures' "$(grep -c 'Signature\|Mismatch\|AccessDenied' "$requests")" \
    "$(grep -c 'prefix=one%2Ftwo%2F SignatureDoesNotMatch' "$requests")"
is 'log files' "$(objects 'log.*.zst' | sed 's/^[1-9][0-9]*$/many/')" many
is 'nothing half done in the data directory' "$(find "$work/data" -name 'archive-*')" ''
is 'no key in the log' "$(grep -c S3RVER "$log")" 0

test_case 'restores from S3 to a versionstamp, to a time and to the end have the entries of then'
for round in 2 5; do
    read -r stamp _ <"$work/point.$round"
    restore --to "$stamp"
    ends 0
    complains "up to versionstamp $stamp"
    complains '1 index verified'
    same_as "$work/list.$round"
done
read -r stamp moment <"$work/point.7"
restore --to "${moment%Z}999Z"
ends 0
same_as "$work/list.7"
restore
ends 0
same_as "$work/list.8"

test_case 'restores from S3 whose downloads are cut, slow or fail have the entries of then'
fault cut 2 'GET.*(zst|tail)' error 3 . slow 9 .
restore
ends 0
same_as "$work/list.8"
fault error 1 .
restore
ends 1
complains '500 InternalError'
fault
AWS_SECRET_ACCESS_KEY=deadbeef restore
ends 1
complains '403 SignatureDoesNotMatch'

test_case 'a list of more than a thousand objects comes in pages'
timeline=$bucket/$(cat "$work/data/timeline")
node -e '
const fs = require("fs"), [from, to] = process.argv.slice(1);
for (const kind of ["object", "object.md5", "metadata.json"])
    for (let i = 0; i < 1100; i++)
        fs.linkSync(`${from}._S3rver_${kind}`, `${to}/a${i}._S3rver_${kind}`);
' "$(find "$timeline" -name 'log.*.tail.*_object' | head -1 | sed 's/._S3rver_object//')" "$timeline"
restore
ends 0
same_as "$work/list.8"
is 'it came in pages' "$(grep -c 'continuation-token' "$requests" | sed 's/[1-9].*/yes/')" yes
rm "$timeline"/a*

test_case 'a server that is killed while it uploads a backup makes another'
fault slow 1 partNumber
: >"$requests"
before=$(objects 'base-*')
archiving
in_upload() { grep -q partNumber "$requests"; }
wait_until in_upload
kill -KILL "$server"
wait "$server" 2>"$work/null"
fault
archiving
kindex set after '"the kill"'
one_more() { [ "$(objects 'base-*')" -gt "$before" ]; }
wait_until one_more
whole_list >"$work/list.9"
stop_server
is 'what the kill left' "$(find "$work/data" -name 'archive-*')" ''
restore
ends 0
same_as "$work/list.9"

test_case 'a server whose S3 archive hangs stops all the same, and archives at its next start'
archiving --archive-interval 24h
kindex set before '"the silence"'
fault hang 1 .
kindex set during '"the silence"'
whole_list >"$work/list.10"
hangs() { grep -q 'hang$' "$requests"; }
wait_until hangs
stop_server
is 'its exit status' $? 0
fault
archiving --archive-interval 24h
wait_until is_archived 0
stop_server
restore
ends 0
same_as "$work/list.10"

test_case 'a damaged data directory is restored from S3 at the next start'
cp -r "$work/data" "$work/whole"
printf 'xxxx' | dd of="$work/data/entries.db" bs=1 seek=9000 conv=notrunc status=none
archiving --archive-interval 24h
is 'what the log says' "$(grep -c "event=restored archive=$archive" "$log")" 1
whole_list >"$work/restored"
stop_server
same_as "$work/list.10"
rm -rf "$work/data"
mv "$work/whole" "$work/data"
# What it has archived itself since, if it came to that, is another continuation.
find "$bucket" -mindepth 1 -maxdepth 1 ! -path "$timeline" -exec rm -r {} +

test_case 'old backups in S3 are removed, with the log before them'
archiving --archive-keep 2
few() { [ "$(find "$timeline" -name 'base-*_object' | wc -l)" -le 2 ]; }
wait_until few
stop_server
first=$(find "$timeline" -name 'base-*_object' -printf '%f\n' | sort | head -1 | cut -d- -f3)
is 'log from before' "$(find "$timeline" -name 'log.*_object' -printf '%f\n' |
    awk -F. -v first="$first" '$2 < first' | wc -l)" 0
restore
ends 0
same_as "$work/list.10"

test_case 'a restore notices an object that S3 lost: a log file, and a piece of one'
archive=s3://backups/lost
rm -rf "$work/data"
archiving --archive-interval 24h
fault drop 2 'PUT .*log.*zst'
kindex import "$work/noise"
stop_server
is 'one was lost' "$(grep -c 'PUT .*lost.*zst drop' "$requests" | sed 's/[1-9].*/yes/')" yes
fault
restore
ends 1
complains 'log file [0-9]* is missing in s3://backups/lost'
archive=s3://backups/piece
rm -rf "$work/data"
fault drop 3 'PUT .*piece.*tail'
archiving --archive-interval 24h
for n in 1 2 3 4 5; do
    pieces=$(grep -c 'PUT .*piece.*tail' "$requests")
    kindex set n "$n"
    another() { [ "$(grep -c 'PUT .*piece.*tail' "$requests")" -gt "$pieces" ]; }
    wait_until another
done
kill -KILL "$server"
wait "$server" 2>"$work/null"
server=''
fault
restore
ends 1
complains 'the piece from byte [0-9]* on is missing'

finish
