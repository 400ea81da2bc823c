#!/bin/bash
# Backup of a running server and restore: what is in it, what is refused.
. "$(dirname "$0")/../lib/http.sh"
needs zstd
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/pack.sh"
. "$(dirname "$0")/../lib/flip.sh"
RANDOM=85
backup=$work/b.tar.zst

# Restores into a new directory $work/new.
restore() {
    rm -rf "$work/new"
    kindex restore "$@" --data "$work/new"
}

start_server
export KINDEX_URL=$url
kindex index add by_email users email --unique
kindex index add by_color users color
for i in {1..300}; do
    echo "{\"key\":[\"users\",$i],\"value\":{\"email\":\"u$i@x.org\",\"color\":\"c$((i % 7))\"}}"
done >"$work/users"
kindex import "$work/users"
head -c 6000000 /dev/urandom | base64 -w 60000 | sed 's/.*/{"key":["noise"],"value":"&"}/' |
    awk '{ sub(/"noise"/, "\"noise\"," NR); print }' >"$work/noise"
kindex import "$work/noise"
ends 0
kindex set last '"written"'
last=$out

test_case 'doctor warns while there is neither a backup nor an archive'
"$KINDEX" doctor --url "$url" >"$work/said"
is 'the exit status' $? 0
is 'what it says' "$(awk '$2 == "backup" || $2 == "archive" { print $1, $2, $3, $4 }' "$work/said")" \
    $'warn backup none was\nwarn archive no --archive,'

test_case 'a backup has its name only when it is complete'
kindex backup "$backup"
ends 0
complains 'saved * MB'
is 'the files' "$(cd "$work" && ls b.*)" b.tar.zst
is 'its mode' "$(stat -c %a "$backup")" 600

test_case 'a backup is a tar archive with checksums, for which everybody has the tools'
unpack "$backup" "$work/members"
is 'the checksums' "$(cd "$work/members" && sha256sum -c SHA256SUMS 2>&1 | grep -vc ': OK$')" 0
is 'the tables' "$(cd "$work/members" && ls ./*.db | tr '\n' ' ')" './catalog.db ./entries.db ./expiry.db '

test_case 'kindex backup without a name writes to standard output'
"$KINDEX" backup >"$work/piped" 2>"$work/null"
is 'the exit status' $? 0
"$KINDEX" restore "$work/piped" --data "$work/far/off/from-pipe" 2>"$work/null"
is 'its restore' $? 0

test_case 'a backup is restored from standard input'
input=$work/piped
kindex restore - --data "$work/from-input"
input=/dev/null
ends 0
complains '2 indexes verified'
cat "$work/piped" | "$KINDEX" restore - --data "$work/from-cat" 2>"$work/null"
is 'from a pipe' $? 0

if [ "$(id -u)" = 0 ]; then
    test_case 'files that root restores belong to the owner of the directory'
    install -d -m 700 -o 1234 -g 4321 "$work/theirs"
    kindex restore "$work/piped" --data "$work/theirs"
    ends 0
    is 'the owners' "$(stat -c %u:%g "$work/theirs" "$work/theirs"/* | sort -u)" 1234:4321
    install -d -m 700 -o 1234 -g 4321 "$work/refused"
    setpriv --bounding-set -chown "$KINDEX" restore "$work/piped" --data "$work/refused" 2>"$work/complaint"
    is 'without the right to do so' "$? $(grep -c 'could not be given to its owner' "$work/complaint")" '1 1'
fi

test_case 'a backup over HTTP says how large it is'
answers 200 GET /backup
header Content-Type application/zstd
header Kindex-Backup-Size '[1-9]*'
cp "$answer" "$work/curled"
"$KINDEX" restore "$work/curled" --data "$work/from-curl" 2>"$work/null"
is 'its restore' $? 0

test_case 'wrong use of the address is reported'
answers 400 unknown-parameter GET '/backup?full=1'
answers 405 method-not-allowed POST /backup

test_case 'a restored directory has every entry, every index, and later versionstamps'
request GET '/list?prefix=users&limit=1000'
cp "$answer" "$work/users-before"
restore "$backup"
ends 0
complains "up to versionstamp $last"
complains '2 indexes verified'
is 'modes' "$(find "$work/new" -type f ! -perm 600)" ''
stop_server
mv "$work/data" "$work/old"
mv "$work/new" "$work/data"
start_server
export KINDEX_URL=$url
request GET '/list?prefix=users&limit=1000'
is 'the users' "$(cmp "$answer" "$work/users-before" && echo same)" same
request GET '/count?prefix=noise'
field .count "$(wc -l <"$work/noise")"
gives .color c0 GET /indexes/by_email/get/u77@x.org
gives .count 43 GET '/count?index=by_color&prefix=c3'
kindex set more 1
[[ $out > $last ]]
is 'a later versionstamp' $? 0
is 'far later, as others may have been given' "$((16#${out:0:16} > 1 << 40))" 1
first=$out

test_case 'a second restore of a backup gives none of the versionstamps of the first'
kindex restore "$backup" --data "$work/second"
stop_server
mv "$work/data" "$work/first"
mv "$work/second" "$work/data"
start_server
export KINDEX_URL=$url
kindex set more 2
[[ $out > $first ]]
is 'a later versionstamp' $? 0

test_case 'a restore that had nothing to read does not prevent the next'
"$KINDEX" restore "$work/misspelt" --data "$work/again" 2>"$work/complaint"
is 'exit status' $? 1
is 'what is left' "$(ls -A "$work/again")" ''
"$KINDEX" restore "$backup" --data "$work/again" 2>"$work/complaint"
is 'exit status' $? 0

test_case 'a restore does not touch a directory that is not empty'
mkdir "$work/full"
echo mine >"$work/full/note"
kindex restore "$backup" --data "$work/full"
ends 1
complains 'is not empty'
is 'what is in it' "$(ls "$work/full")" note
kindex restore "$backup" --data "$work/data"
ends 1
complains 'is not empty'

test_case 'a terminal shows the progress of a backup and a restore'
shown=$(terminal "$KINDEX backup $work/shown")
is 'of a backup' "$(grep -c 'MB saved .*%' <<<"$shown")" 1
shown=$(terminal "$KINDEX restore $work/shown --data $work/shown.d")
is 'of a restore' "$(grep -c 'MB read .*%' <<<"$shown")" 1

test_case 'incomplete arguments of restore are refused'
kindex restore "$backup"
ends 2
kindex restore --data "$work/x"
ends 2
kindex restore "$backup" --data "$work/x" --to "$last"
ends 2
kindex restore --archive "$work" --data "$work/x" --to yesterday
ends 2
is 'what was made' "$(ls -d "$work/x" 2>&1 | grep -c 'No such')" 1

test_case 'a file that is not a backup is refused as such'
restore "$work/users"
ends 1
complains 'users: it is not a backup'

test_case 'a flipped bit anywhere is refused'
for i in {1..15}; do
    cp "$backup" "$work/flipped"
    place=$(some_place "$backup")
    flip "$work/flipped" "$place"
    restore "$work/flipped"
    is "flipped at $place" "$code" 1
    complains 'flipped'
done

test_case 'a backup cut at any length is refused'
for i in {1..5}; do
    head -c "$(some_place "$backup")" "$backup" >"$work/cut"
    restore "$work/cut"
    is 'the exit status' "$code" 1
done
head -c -1 "$backup" >"$work/cut"
restore "$work/cut"
is 'without its last byte' "$code" 1

test_case 'a backup with more data after it is refused'
{ cat "$backup"; printf x; } >"$work/longer"
restore "$work/longer"
ends 1

test_case 'a server does not start on what a refused restore leaves'
is 'the note' "$(ls "$work/new/restoring")" "$work/new/restoring"
"$KINDEX" serve --data "$work/new" --listen 127.0.0.1:0 >"$work/null" 2>"$work/refusal"
is 'the exit status' $? 1
is 'why' "$(grep -c 'restore into it was interrupted' "$work/refusal")" 2

test_case 'a restore refuses to continue in the remains of a refused one, and says what to do'
kindex restore "$backup" --data "$work/new"
ends 1
complains 'has the files of a restore that failed; remove it'

test_case 'a backup without one of its members is refused'
for gone in log.0000000001 entries.db; do
    unpack "$backup" "$work/members"
    grep -v "$gone" "$work/members/SHA256SUMS" >"$work/kept"
    cp "$work/members/SHA256SUMS" "$work/stated"
    (cd "$work/members" && cp "$work/stated" SHA256SUMS &&
        tar --zstd --format=ustar -cf "$work/lacking" $(sed 's/.*  //' "$work/kept") SHA256SUMS)
    restore "$work/lacking"
    is "without $gone" "$code" 1
    complains 'checksums'
done

test_case 'a changed page is found by its own checksum'
kindex backup "$work/later"
unpack "$work/later" "$work/members"
flip "$work/members/entries.db" $((4096 * 20 + 2000))
sum_again "$work/members"
repack "$work/members" "$work/changed"
restore "$work/changed"
ends 1
complains 'page 20 of entries.db has a wrong checksum'

test_case 'a backup with members outside of the directory is refused'
mkdir "$work/evil"
echo x >"$work/evil/a"
(cd "$work/evil" && tar --zstd -cf "$work/evil.tar.zst" --transform 's,a,../a,' -P a)
restore "$work/evil.tar.zst"
ends 1
complains 'a member of the archive is not readable'
is 'what was written' "$(ls "$work/a" 2>&1 | grep -c 'No such')" 1

test_case 'the number of concurrent backups is limited'
slow=()
for i in 1 2 3 4; do
    mkfifo "$work/fifo$i"
    curl --silent --dump-header "$work/head$i" --output "$work/fifo$i" "$url/backup" &
    slow+=($!)
done
exec 5<>"$work/fifo1" 6<>"$work/fifo2" 7<>"$work/fifo3" 8<>"$work/fifo4"
all_begun() {
    [ "$(cat "$work"/head? 2>"$work/null" | grep -c ' 200')" = 4 ]
}
wait_until all_begun
answers 503 overloaded GET /backup
header Retry-After '[1-9]*'
kill "${slow[@]}"
wait "${slow[@]}" 2>"$work/null"
until_status 200 GET /backup

test_case 'a restore does not wait for a paused index'
export KINDEX_URL=$url
kindex set rest/1 '{"n":1}'
kindex index add by_rest rest n --wait
kindex index pause by_rest
kindex backup "$work/paused"
ends 0
kindex restore "$work/paused" --data "$work/unpaused"
ends 0
complains ' verified'

test_case 'a restore reports that an index which is not ready was not compared'
kindex set twin/1 '{"n":1}'
kindex set twin/2 '{"n":1}'
kindex index add by_twin twin n --unique
until_field .state conflicted GET /indexes/by_twin
kindex backup "$work/unready"
ends 0
kindex restore "$work/unready" --data "$work/with-unready"
ends 0
complains ' verified, 1 not ready'

finish
