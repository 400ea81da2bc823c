#!/bin/bash
# The archive of a server: its log as it is written, backups, and restores to a
# versionstamp or a time, each compared with what was there then.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
archive=$work/archive
needs faketime

. "$(dirname "$0")/../lib/archive.sh"

bases() {
    find "$archive" -name 'base-*.tar.zst' | wc -l
}

archiving() {
    start_server --archive "$archive" --archive-interval 1s --archive-keep 100 \
        --checkpoint-interval 1s --checkpoint-log 1MiB "$@"
    export KINDEX_URL=$url
}

archiving
kindex index add by_email users email --unique
kindex index add by_color users color --store value

test_case 'a backup is soon in the archive, in a directory of the timeline'
there_is_one() { [ "$(bases)" -ge 1 ]; }
wait_until there_is_one
is 'the timeline' "$(ls "$archive")" "$(cat "$work/data/timeline")"
is 'modes' "$(find "$archive" -type f ! -perm 600)" ''

test_case 'doctor says how old the last backup and the archive are, and when that is too old'
copies() { awk '$2 == "backup" || $2 == "archive" { print $1, $2, $3, $4 }' "$work/out"; }
kindex set first 1
kindex doctor
ends 0
is 'what it says' "$(copies)" $'ok backup the last\nok archive the last'
# libfaketime and the address sanitizer do not start together.
if [ -z "${partial-}" ]; then
    faketime -f +15m timeout "$longest" "$KINDEX" doctor >"$work/out"
    is 'the exit status after 15 minutes' $? 1
    is 'what it says then' "$(copies)" $'ok backup the last\nFAIL archive the last'
    faketime -f +49h timeout "$longest" "$KINDEX" doctor >"$work/out"
    is 'what it says after two days' "$(copies)" $'warn backup the last\nFAIL archive the last'
fi

# Fourteen rounds of writes; what was there after each is kept.
head -c 32000000 /dev/urandom | base64 -w 50000 |
    awk '{ printf "{\"key\":[\"noise\",%d],\"value\":\"%s\"}\n", NR, $0 }' >"$work/noise"
for round in {1..14}; do
    for i in {1..40}; do
        n=$((RANDOM % 100))
        echo "{\"key\":[\"users\",$n],\"value\":{\"email\":\"u$n.$round@x.org\",\"color\":\"c$((RANDOM % 9))\"}}"
    done | sort -u -t, -k2,2 >"$work/lines"
    kindex import "$work/lines" --overwrite
    sed -n "$((round * 60 - 59)),$((round * 60))p" "$work/noise" >"$work/lines"
    kindex import "$work/lines"
    kindex del --prefix "users/=$((RANDOM % 100))"
    [ $((round % 5)) != 0 ] || kindex del --prefix noise
    kindex set round "$round"
    whole_list >"$work/list.$round"
    echo "$out $(date -u +%FT%T.%3NZ)" >"$work/point.$round"
done

test_case 'the archive has more than one file of the log, which are removed from the directory'
stop_server
is 'log files' "$(find "$archive" -name 'log.*.zst' | wc -l | sed 's/[2-9]/many/')" many
is 'what recovery does not need' "$(ls "$work/data/log.0000000001" 2>&1 | grep -c 'No such')" 1
is 'several backups' "$(bases | sed 's/^[1-9][0-9]*$/many/')" many

test_case 'a restore to a versionstamp has the entries of then, and of nothing later'
for round in 2 5 6 13; do
    read -r stamp _ <"$work/point.$round"
    restore --to "$stamp"
    ends 0
    complains "up to versionstamp $stamp"
    complains '2 indexes verified'
    same_as "$work/list.$round"
done

test_case 'a restore to a time has the entries of then, and of nothing later'
for round in 3 12; do
    read -r stamp moment <"$work/point.$round"
    restore --to "${moment%Z}999Z"
    ends 0
    complains "up to versionstamp $stamp"
    same_as "$work/list.$round"
done

test_case 'a restore without a point goes as far as the archive does'
restore
ends 0
same_as "$work/list.14"

test_case 'a restore to a point before the first backup, or after the end, is refused'
restore --to 2001-01-01T00:00:00Z
ends 1
complains 'no backup from before'
mkdir "$work/empty"
kindex restore --archive "$work/empty" --data "$work/new"
ends 1
complains "$work/empty has no complete backup"
for point in 1970-01-01T00:00:00Z 00000000000000000000 2026-02-31T00:00:00Z \
    2026-11-21T17:30:00.5; do
    restore --to "$point"
    ends 2
    complains 'neither a versionstamp nor a time'
done
restore --to 0fffffffffffffff0000
ends 1
complains 'ends at versionstamp'

test_case 'a missing log file is reported, with the state that can still be restored'
timeline=$archive/$(ls "$archive")
gone=$(find "$timeline" -name 'log.*.zst' | sort | tail -1)
cp -r "$timeline" "$work/whole"
find "$timeline" -name 'base-*' | sort | tail -n +2 | xargs rm
rm "$gone"
restore
ends 1
complains 'is missing'
told=${complaint##* }
read -r stamp _ <"$work/point.1"
restore --to "$stamp"
ends 0
same_as "$work/list.1"
restore --to "$told"
ends 0
complains "up to versionstamp $told"
rm -rf "$timeline"
cp -r "$work/whole" "$timeline"

test_case 'a damaged log file is reported, with the state that can still be restored'
find "$timeline" -name 'base-*' | sort | tail -n +2 | xargs rm
printf 'xxxx' | dd of="$gone" bs=1 seek=5000 conv=notrunc status=none
restore
ends 1
complains 'is damaged'
told=${complaint##* }
restore --to "$stamp"
ends 0
same_as "$work/list.1"
restore --to "$told"
ends 0
complains "up to versionstamp $told"
rm -rf "$timeline"
cp -r "$work/whole" "$timeline"

test_case 'a damaged backup is reported, with the earlier one that can be restored'
newest=$(find "$timeline" -name 'base-*' -printf '%f\n' | sort | tail -1)
printf 'xxxx' | dd of="$timeline/$newest" bs=1 seek=2000 conv=notrunc status=none
restore
ends 1
complains "$newest: "
complains 'without that file the backup before it is restored'
rm "$timeline/$newest"
restore
ends 0
same_as "$work/list.14"
cp "$work/whole/$newest" "$timeline/"

test_case 'a part of the log that cannot be looked at is not taken for absent'
unseen=$(find "$timeline" -name 'log.*.tail' | sort | tail -1)
ln -sf "${unseen##*/}" "$unseen"
restore
ends 1
complains "${unseen##*/}: Too many levels of symbolic links"
rm -rf "$timeline"
cp -r "$work/whole" "$timeline"

test_case 'a restored store archives under a new name'
read -r stamp _ <"$work/point.8"
rm -rf "$work/new"
kindex restore --archive "$archive" --data "$work/new" --to "$stamp"
mv "$work/data" "$work/first"
mv "$work/new" "$work/data"
archiving
kindex set second '"timeline"'
second=$out
two() { [ "$(find "$archive" -name 'base-*' -printf '%h\n' | sort -u | wc -l)" = 2 ]; }
wait_until two
kindex set second '"again"'
stop_server
restore
ends 0
is 'the newest' "$(grep -c '"again"' "$work/restored")" 1
restore --to "$second"
ends 0
is 'a point of the second' "$(grep -c '"timeline"' "$work/restored")" 1
read -r stamp _ <"$work/point.10"
restore --to "$stamp"
ends 0
same_as "$work/list.10"

test_case 'restoring from two stores that both continued requires the name of one'
mv "$work/data" "$work/second"
mv "$work/first" "$work/data"
archiving
kindex set first '"went on"'
stop_server
rm -rf "$work/new"
kindex restore --archive "$archive" --data "$work/new"
ends 1
complains 'more than one continuation'
rm -rf "$work/new"
both=$archive
archive=$archive/$(cat "$work/data/timeline")
restore
archive=$both
ends 0
is 'what the first had' "$(grep -c '"went on"' "$work/restored")" 1
is 'and not the second' "$(grep -c '"again"' "$work/restored")" 0
rm -r "$both/$(cat "$work/data/timeline")" "$work/data"
mv "$work/second" "$work/data"

test_case 'a copy of a data directory is warned that another server archives under its name'
cp -r "$work/data" "$work/copy"
archiving
listed() {
    (cd "$work/copy" && find . | sort)
}
listed >"$work/listed"
serve=("$KINDEX" serve --data "$work/copy" --archive "$archive" --listen 127.0.0.1:0
    --port-file "$work/copy-port")
timeout "$longest" "${serve[@]}" >"$work/null" 2>"$work/refusal"
is 'the exit status' $? 1
is 'why' "$(grep -c "another server archives in $archive/$(cat "$work/data/timeline")," "$work/refusal")" 1
is 'nothing has changed' "$(listed | cmp - "$work/listed" && echo same)" same
rm "$work/copy/timeline"
"${serve[@]}" >"$work/null" 2>"$work/refusal" &
copy=$!
copy_serves() { [ -s "$work/copy-port" ]; }
wait_until copy_serves
is 'a new name' "$(cat "$work/data/timeline" "$work/copy/timeline" | fold -w 36 | sort -u | wc -l)" 2
kill "$copy"
wait "$copy"
stop_server
rm -rf "$archive/$(cat "$work/copy/timeline")" "$work/copy"

test_case 'old backups in the archive are removed, with the log before them'
archiving --archive-keep 2
few() { [ "$(find "$archive/$(cat "$work/data/timeline")" -name 'base-*' | wc -l)" -le 2 ]; }
wait_until few
is 'few' "$(few && echo yes)" yes
stop_server
restore
ends 0

finish
