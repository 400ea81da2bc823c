#!/bin/bash
# Backups that are encrypted for a public key: restored with the secret key, and refused
# without it, with another one, and when a byte was changed, cut off, added or moved.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
whole_list() {
    curl --silent --globoff --header 'Accept: application/x-ndjson' "$url/list?prefix=[]"
}

# Restores a file to $work/new; more arguments are options.
restore() {
    rm -rf "$work/new"
    kindex restore "$1" --data "$work/new" "${@:2}"
}
# Nothing of it is a store.
nothing_restored() {
    [ -z "$(ls -A "$work/new" 2>"$work/null")" ] || {
        is 'the marker' "$(ls "$work/new/restoring")" "$work/new/restoring"
        timeout "$longest" "$KINDEX" serve --data "$work/new" --listen 127.0.0.1:0 \
            >"$work/null" 2>"$work/refusal"
        is 'a server on it' $? 1
    }
}

start_server
export KINDEX_URL=$url
head -c 600000 /dev/urandom | base64 -w 6000 |
    awk '{ printf "{\"key\":[\"needle\",%d],\"value\":\"%s\"}\n", NR, $0 }' >"$work/lines"
kindex import "$work/lines"
kindex index add by_email users email --unique
kindex set users/1 '{"email":"a@x.org"}'
whole_list >"$work/list"

test_case 'keygen makes two files, and never overwrites existing ones'
kindex keygen "$work/key"
ends 0
complains 'keep it on another machine'
is 'modes' "$(stat -c %a "$work/key" "$work/key.pub" | xargs)" '600 644'
cp "$work/key" "$work/key.before"
kindex keygen "$work/key"
ends 1
complains 'File exists'
is 'the key' "$(cmp "$work/key" "$work/key.before" && echo same)" same
rm "$work/key.before"
kindex keygen "$work/other"

test_case 'a backup for the key is encrypted, and is restored with all entries'
kindex backup "$work/backup" --encrypt-to "$work/key.pub"
ends 0
is 'its beginning' "$(head -n 1 "$work/backup")" kindex-encrypted-1
is 'zstd does not know it' "$(zstd -t "$work/backup" 2>&1 | grep -c 'unsupported format')" 1
is 'its mode' "$(stat -c %a "$work/backup")" 600
kindex backup "$work/plain"
is 'chunks' "$((($(stat -c %s "$work/backup") - $(stat -c %s "$work/plain")) < 1000))" 1
kindex backup --encrypt-to "$work/key.pub"
cp "$work/out" "$work/second"
given <"$work/second"
kindex restore - --data "$work/piped" --decrypt-with "$work/key"
ends 0
input=/dev/null
stop_server
restore "$work/backup" --decrypt-with "$work/key"
ends 0
complains '1 index verified'
mv "$work/data" "$work/first"
for place in new piped; do
    mv "$work/$place" "$work/data"
    start_server
    whole_list >"$work/restored"
    stop_server
    is "the entries of $place" "$(cmp "$work/list" "$work/restored" && echo same)" same
    rm -r "$work/data"
done

test_case 'an encrypted backup is restored only with its secret key'
restore "$work/backup"
ends 1
complains 'it is encrypted; --decrypt-with names the file'
nothing_restored
restore "$work/backup" --decrypt-with "$work/other"
ends 1
complains 'encrypted for another key, or damaged'
nothing_restored
restore "$work/backup" --decrypt-with "$work/key.pub"
ends 1
complains 'is not the file of a secret key'
nothing_restored
restore "$work/plain" --decrypt-with "$work/key"
ends 1
complains 'it is not encrypted'
nothing_restored
restore "$work/backup" --decrypt-with "$work/missing"
ends 1
complains 'No such file'

test_case 'an encrypted backup that was changed, cut, continued or reordered is refused'
size=$(stat -c %s "$work/backup")
start=$((19 + 80 + 24)) chunk=$((65536 + 17))
is 'several chunks' "$((size > start + 3 * chunk))" 1
for at in 5 30 110 $((start + 100)) $((start + chunk + 5)) $((size - 1)); do
    cp "$work/backup" "$work/changed"
    byte=$(od -An -tu1 -j "$at" -N 1 "$work/backup")
    printf "\\x$(printf %x $((byte ^ 1)))" |
        dd of="$work/changed" bs=1 seek="$at" conv=notrunc status=none
    restore "$work/changed" --decrypt-with "$work/key"
    ends 1
    complains "$work/changed: it"
    nothing_restored
done
for cut in 10 $start $((start + chunk)) $((start + 2 * chunk)) $((size - 1)); do
    head -c "$cut" "$work/backup" >"$work/changed"
    restore "$work/changed" --decrypt-with "$work/key"
    ends 1
    complains "$work/changed: it"
    nothing_restored
done
part() { tail -c +$(($1 + 1)) "$work/backup" | head -c "$2"; }
{ part 0 "$start"; part $((start + chunk)) "$chunk"; part "$start" "$chunk"
  part $((start + 2 * chunk)) "$size"; } >"$work/changed"
is 'the size stayed' "$(stat -c %s "$work/changed")" "$size"
restore "$work/changed" --decrypt-with "$work/key"
ends 1
complains 'it was changed or cut after it was encrypted'
nothing_restored
cat "$work/backup" "$work/second" >"$work/changed"
restore "$work/changed" --decrypt-with "$work/key"
ends 1
nothing_restored

test_case 'invalid options of encryption are refused'
kindex backup --link --encrypt-to "$work/key.pub"
ends 2
restore "$work/backup" --archive "$work" --decrypt-with "$work/key"
ends 2
kindex restore --archive "$work" --data "$work/new" --decrypt-with "$work/key"
ends 2
complains 'an archive is not encrypted'
kindex backup "$work/not" --encrypt-to "$work/key"
ends 1
complains 'is not the file of a public key'
is 'no file' "$(ls "$work/not" 2>&1 | grep -c 'No such')" 1

finish
