#!/bin/bash
# A standby that follows an archive in S3, whose requests fail, are cut or slow, and which
# cannot be reached for a while.
ENGINE=bdb # this story says itself which server has which data
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/s3.sh"
archive=s3://backups/one
. "$(dirname "$0")/../lib/standby.sh"
trap 's3_ends; end_both' EXIT
has_base() { [ -n "$(find "$work/s3" -name 'base-*')" ]; }
ready() { request GET /readyz; [ "$status" = "$1" ]; }

test_case 'a standby of an archive in S3 shows what is committed'
start_primary --followed
at_primary
kindex index add by_email users email --unique
answers 201 PUT /kv/users/ada '{"email":"ada@x.org"}'
wait_until has_base
start_standby
at_standby
answers 201 PUT /kv/users/bob '{"email":"bob@x.org"}'
wait_until shows /indexes/by_email/get/bob@x.org '{"email":"bob@x.org"}'
expect 200

test_case 'it misses nothing although requests fail, are cut or slow'
fault slow 6 . error 5 . cut 7 'PUT|POST' cut 5 'GET'
at_primary
head -c 24000000 /dev/urandom | base64 -w 50000 |
    awk '{ printf "{\"key\":[\"noise\",%d],\"value\":\"%s\"}\n", NR, $0 }' >"$work/noise"
kindex import "$work/noise"
for i in {1..200}; do
    echo "{\"key\":[\"users\",$i],\"value\":{\"email\":\"u$i@x.org\"}}"
done >"$work/lines"
kindex import "$work/lines"
list_here users >"$work/list"
at_standby
wait_until same_list
is 'the list' "$(list_here users | sha256sum)" "$(sha256sum <"$work/list")"
noise=$(list_here noise | sha256sum)
at_primary
is 'the noise' "$noise" "$(list_here noise | sha256sum)"
at_standby

test_case 'while S3 does not answer, the standby is not ready; then it continues'
fault error 1 .
wait_until ready 503
expect 503
is 'the reason' "$(grep -c 'The followed archive was not read' "$answer")" 1
fault
wait_until ready 200
expect 200
at_primary
answers 201 PUT /kv/users/eve '{"email":"eve@x.org"}'
at_standby
wait_until shows /kv/users/eve '{"email":"eve@x.org"}'
expect 200
ends_at "$standby" TERM
standby=''
ends_at "$primary" TERM
primary=''

finish
