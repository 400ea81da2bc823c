#!/bin/bash
# The command line, each command against a server: what it prints, what it has
# changed, and its exit status.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server
export KINDEX_URL=$url

test_case 'set stores a value and prints its versionstamp; get prints the value'
kindex set users/ada '{"name":"Ada","email":"ada@x.org"}'
ends 0
prints 00000000000000010000
kindex get users/ada
ends 0
prints '{"name":"Ada","email":"ada@x.org"}'
request GET /kv/users/ada
header ETag '"00000000000000010000"'

test_case 'parts of keys have their types; a space need not be escaped'
kindex set users/=42 -t text 'forty two'
ends 0
kindex set 'a b/=42n/=true/ü?' 1
ends 0
request GET '/list?keys=true'
field '[.entries[].key]' '[["a b",{"type":"bigint","value":"42"},true,"ü?"],["users","ada"],["users",42]]'
kindex get 'a b/=42n/=true/ü?'
prints 1

test_case 'what is not there is status 3, and says so'
kindex get users/42
ends 3
prints ''
complains 'There is no entry with this key'
kindex get users/ada users/42 -o json
ends 3
is lines "$(wc -l <"$work/out")" 2

test_case 'values come from standard input and files, as text, bytes and typed'
given <<<'{"from":"input"}'
kindex set v/input
input=/dev/null
ends 0
printf '\1\2\0\3' >"$work/bytes"
kindex set v/bytes -f "$work/bytes" -t bytes
ends 0
kindex get v/bytes
is bytes "$(od -An -tx1 "$work/out")" ' 01 02 00 03'
kindex set v/u64 '{"type":"KvU64","value":"7"}' -t typed
ends 0
kindex get v/u64 v/input -o raw
prints '{"type":"KvU64","value":"7"}
{"from":"input"}'
kindex set v/bad '{"torn":'
ends 1
complains JSON
kindex set v/bad hello
ends 1
complains 'With --type text'
kindex set v/bad hello --type typed
ends 1
is 'proposals of a text' "$(grep -c 'type text' <<<"$complaint")" 0

test_case 'conditions that do not hold are status 4'
kindex set users/ada 1 --if-absent
ends 4
kindex set users/ada 1 --if-match 00000000000000090000
ends 4
kindex set users/ada '{"age":36}' --merge --if-match 00000000000000010000
ends 0
kindex get users/ada --fields age
prints '{"age":36}'

test_case 'ttl ends an entry'
kindex set v/short 1 --ttl 1h
request POST /get '{"keys":[["v","short"]]}'
field '.entries[0].expiresAt > 0' true

test_case 'ls, count and tree list what is there, without colours'
kindex ls users
ends 0
is rows "$(wc -l <"$work/out")" 3
is colours "$(grep -c $'\033' "$work/out")" 0
kindex ls users -o raw
prints 'users/ada
users/=42'
kindex ls users -o raw --reverse --limit 1
prints users/=42
kindex ls -o json --start users/ada --end users/b --keys
is keys "$(jq -c .key "$work/out")" '["users","ada"]'
kindex count users
prints 2
kindex tree --depth 1
prints 'a%20b/  1
users/  2
v/  4'
kindex tree users
prints 'users
  ada
  =42'

test_case 'on a terminal there are colours, unless NO_COLOR is set'
is colours "$(terminal "$KINDEX ls users" | grep -c $'\033')" 3
is colours "$(NO_COLOR=1 terminal "$KINDEX ls users" | grep -c $'\033')" 0

test_case 'atomic commits a document, or finds out whether it would hold'
sum='{"mutations":[{"type":"sum","key":["n"],"value":2}]}'
kindex atomic --dry-run "$sum"
ends 0
kindex get n
ends 3
given <<<"$sum"
kindex atomic
input=/dev/null
ends 0
kindex get n
prints 2
kindex atomic '{"checks":[{"key":["n"],"versionstamp":null}],"mutations":[]}'
ends 4
complains failedChecks
kindex atomic 'no json'
ends 1

test_case 'del deletes keys and whole prefixes'
kindex del n
ends 0
request GET /kv/n
expect 404
kindex del --prefix v
ends 0
prints '4 deleted'
kindex count
prints 3
kindex del
ends 2

test_case 'an index is declared, waited for, shown and read'
kindex set users/bo '{"email":"BO@x.org","age":20}'
kindex index add by_email users email --unique --fold lower --wait
ends 0
is state "$(jq -r .state "$work/out")" ready
request GET /indexes/by_email
field .fields '[{"path":"/email","fold":"lower"}]'
field .unique true
kindex index get by_email Bo@x.org
prints '{"email":"BO@x.org","age":20}'
kindex index ls -o raw
prints by_email
kindex index ls
is state "$(awk '$1 == "by_email" { print $2, $3 }' "$work/out")" 'ready 2'
kindex ls -i by_email -o raw
prints 'users/ada
users/bo'
kindex count -i by_email
prints 2

test_case 'a declaration that differs is refused, one that is tried changes nothing'
kindex index add by_email users name
ends 4
kindex index add by_age users age --store /age,email --missing error --dry-run
ends 0
is store "$(jq -c .declaration.store "$work/out")" '{"fields":["/age","/email"]}'
kindex index show by_age
ends 3
kindex index add by_age
ends 2

test_case 'what is said of an index is taken, or refused'
echo '{"name":"by_age","prefix":["users"],"fields":["/age"]}' >"$work/by_age"
kindex index add -f "$work/by_age" --unique
ends 2
complains 'stands alone'
kindex index add -f "$work/by_age" --wait
ends 0
is state "$(jq -r .state "$work/out")" ready
kindex index rm by_age
kindex index add by_tag users tags --each /tags --dry-run
is field "$(jq -c .declaration.fields "$work/out")" '[{"path":"/tags","each":true}]'
kindex index add by_tag users tags --each tag
ends 2
complains 'none of the fields'
kindex index add by_tag users tags --where '{"path"'
ends 2
complains 'not JSON'
kindex index add by_tag users key:one
ends 2
kindex index throttle by_email fast
ends 2
kindex index migrate by_email --undo --store value
ends 2

test_case 'duplicates are a conflict, with their entries'
kindex set people/a '{"mail":"x"}'
kindex set people/b '{"mail":"x"}'
kindex index add by_mail people mail -u --wait
ends 4
kindex index conflicts by_mail
ends 4
prints '{"value":["x"],"keys":[["people","a"],["people","b"]]}'
kindex doctor
ends 1
is ill "$(awk '$1 == "ILL" { print $2 }' "$work/out")" by_mail
kindex set people/b '{"mail":"y"}'
kindex index watch by_mail
ends 0
kindex doctor
ends 0

test_case 'a migration that duplicates stop is not waited for'
kindex set twice/1 '{"v":1}'
kindex set twice/2 '{"v":1}'
kindex index add by_twice twice v --wait
ends 0
kindex index migrate by_twice --unique --wait
ends 4
kindex doctor
ends 1
is ill "$(awk '$1 == "ILL" { print $2, $3 }' "$work/out")" 'by_twice conflicted'
kindex index rm by_twice
kindex del twice/1
kindex del twice/2

test_case 'an index migrates, rests, goes on and is dropped'
kindex index migrate by_email --store value --wait
ends 0
request GET /indexes/by_email
field '[.store, .unique]' '["value",true]'
kindex index migrate by_email --not-unique --store pointer --wait
ends 0
request GET /indexes/by_email
field '[.store, .unique]' '["pointer",false]'
kindex index migrate by_email --unique --not-unique
ends 2
complains opposites
kindex index migrate by_email --unique --store value --wait
ends 0
request GET /indexes/by_email
field '[.store, .unique]' '["value",true]'
kindex index throttle by_email 5000
kindex index pause by_email
request GET /indexes/by_email
field .pace '{"paused":true,"perSecond":5000}'
kindex index resume by_email
kindex index throttle by_email null
request GET /indexes/by_email
field .pace null
kindex index rm by_mail
ends 0
request GET /indexes/by_mail
expect 404
kindex explain '{"prefix":["users"],"where":[{"path":"/email","fold":"lower","eq":"bo@x.org"}]}'
is request "$(jq -r .request "$work/out")" /list?index=by_email'&'prefix=bo%40x.org

test_case 'watch prints an entry, and again when it changes'
exchange='kindex watch'
timeout "$longest" "$KINDEX" watch watched -n 3 >"$work/seen" 2>&1 &
watcher=$!
seen() { [ "$(wc -l <"$work/seen")" -ge "$1" ]; }
wait_until seen 1
kindex set watched '{"n":1}'
wait_until seen 2
kindex set watched '{"n":2}'
wait $watcher
is 'the exit status' $? 0
is 'what was seen' "$(jq -c '[.key[0],.value]' "$work/seen" | tr '\n' ' ')" \
    '["watched",null] ["watched",{"n":1}] ["watched",{"n":2}] '

test_case 'watch --prefix prints the entries under it that change'
timeout "$longest" "$KINDEX" watch --prefix watched -n 3 >"$work/seen" 2>"$work/err" &
watcher=$!
watches() { curl -s "$url/metrics" | grep -q '^kindex_watch_streams 1$'; }
wait_until watches
kindex set watched 0
kindex set watched/a 1
kindex set watched/=2/b '{"n":2}'
kindex del watched/a
wait $watcher
is 'the exit status' $? 0
is 'what was seen' "$(jq -c '[.key[1],.value]' "$work/seen" | tr '\n' ' ')" \
    '["a",1] [2,{"n":2}] ["a",null] '
is 'what it said' "$(cat "$work/err")" ''
kindex del watched/=2/b
timeout "$longest" "$KINDEX" watch --prefix watched -n 1 >"$work/seen" 2>"$work/err" &
watcher=$!
wait_until watches
kindex index add by_none none n
said_so() { grep -q 'more may have changed than is shown' "$work/err"; }
wait_until said_so
is 'exit status' $? 0
kindex index rm by_none
kindex set watched/b 1
wait $watcher
is 'the exit status' $? 0
is 'what was seen' "$(jq -c .key "$work/seen")" '["watched","b"]'
kindex del watched/b
kindex watch
ends 2
complains 'a key or --prefix is missing'
kindex watch a --prefix b
ends 2
complains '--prefix stands alone'

test_case 'export prints entries as lists have them, without those of indexes'
kindex export -f "$work/all"
ends 0
complains 'exported 7 entries'
kindex ls -o json --prefix users
cp "$work/out" "$work/users"
kindex export users
is users "$(cat "$work/out")" "$(cat "$work/users")"
kindex export --all
is lines "$(grep -c by_email "$work/out")" 2
kindex export users --from-key users/bo
is keys "$(jq -c .key "$work/out" | tr '\n' ' ')" '["users","bo"] ["users",42] '

test_case 'bytes come as they are, whatever their type is called'
printf '{}' >"$work/given"
kindex set bytes/1 -f "$work/given" --type application/geo+json
ends 0
kindex get bytes/1
is bytes "$(wc -c <"$work/out")" 2
kindex del bytes/1

test_case 'the deepest value that is taken can be listed, read and saved'
deep=$(printf '[%.0s' {1..64})1$(printf ']%.0s' {1..64})
kindex set deep/=1 1
kindex set deep/=2 "$deep"
ends 0
kindex set deep/=3 3
kindex ls -o json --prefix deep
ends 0
is lines "$(wc -l <"$work/out")" 3
kindex get deep/=2 -o json
ends 0
kindex export deep --deno
ends 0
is lines "$(wc -l <"$work/out")" 3
kindex set deep/=2 "[$deep]"
ends 1
kindex export deep -f "$work/deepest"
kindex import "$work/deepest" --prefix deepest
ends 0
kindex get deepest/deep/=2
prints "$deep"

test_case 'a file behind a link is replaced as a whole, and the link stays'
kindex export users -f "$work/saved"
ends 0
ln -s saved "$work/link"
kindex export deep -f "$work/link"
ends 0
is lines "$(wc -l <"$work/saved")" 3
is link "$(readlink "$work/link")" saved
kindex export deep --reverse --from-key deep/=2
ends 2
echo '{}' >"$work/broken.part"
kindex export deep -f "$work/broken" --from-key deep/=2
ends 1
is 'what was saved' "$(cat "$work/broken.part")" '{}'
flock "$work/broken.part" -c "KINDEX_URL=$url $KINDEX export deep -f $work/broken" 2>"$work/err"
is 'exit status' $? 1
is 'what was saved' "$(cat "$work/broken.part")" '{}'
kindex export deep -f "$work/broken"
ends 0
is lines "$(wc -l <"$work/broken")" 3
kindex del deep/=1
kindex export deep -f "$work/link"
is lines "$(wc -l <"$work/saved")" 2

test_case 'import puts lines under a prefix, and leaves what is there'
kindex import "$work/users" --prefix copy/=1 --dry-run
ends 0
complains 'would import 3 entries'
kindex count copy
prints 0
kindex import "$work/users" --prefix copy/=1
ends 0
complains 'imported 3 entries'
kindex get copy/=1/users/=42
prints '"forty two"'
kindex set copy/=1/users/=42 0
kindex import "$work/users" --prefix copy/=1
complains 'imported 0 entries'
complains '3 were there already'
kindex get copy/=1/users/=42
prints 0
kindex import "$work/users" --prefix copy/=1 --overwrite
complains 'imported 3 entries'
kindex get copy/=1/users/=42
prints '"forty two"'

test_case 'the form of kv-utils goes out and comes back'
kindex set deno/=1n/=b64:AQID '{"a":[1,"x",null,true]}'
kindex export deno --deno
is line "$(jq -c 'del(.versionstamp)' "$work/out")" '{"key":[{"type":"string","value":"deno"},{"type":"bigint","value":"1"},{"type":"Uint8Array","value":"AQID","byteLength":3}],"value":{"type":"object","value":{"a":{"type":"Array","value":[{"type":"number","value":1},{"type":"string","value":"x"},{"type":"null","value":null},{"type":"boolean","value":true}]}}}}'
cp "$work/out" "$work/deno"
kindex del deno/=1n/=b64:AQID
given <"$work/deno"
kindex import --deno
input=/dev/null
ends 0
kindex get deno/=1n/=b64:AQID
prints '{"a":[1,"x",null,true]}'

test_case 'many entries go in, in several commits at a time, and come out the same'
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "{\"key\":[\"many\",%d],\"value\":{\"n\":%d}}\n", i, i }' >"$work/many"
kindex import "$work/many" --state "$work/state" --jobs 8 --batch 500
ends 0
kindex count many
prints 20000
is place "$(cat "$work/state")" "$(wc -c <"$work/many")"
kindex export many
is entries "$(jq -c '{key,value}' "$work/out" | cmp - "$work/many" && echo same)" same

test_case 'of lines with one key the first wins, or the last with --overwrite'
for round in {1..40}; do
    for key in {1..60}; do
        printf '{"key":["often",%d],"value":%d}\n' $key $round
    done
done >"$work/often"
kindex import "$work/often" --jobs 8 --batch 40 --dry-run
ends 0
complains 'would import 60 entries'
complains '2340 were there already'
kindex import "$work/often" --jobs 8 --batch 40
ends 0
complains 'imported 60 entries'
complains '2340 were there already'
kindex ls -o json --prefix often
is values "$(jq .value "$work/out" | sort | uniq -c | tr -s ' ')" ' 60 1'
kindex import "$work/often" --jobs 8 --batch 40 --overwrite
ends 0
complains 'imported 2400 entries'
kindex ls -o json --prefix often
is values "$(jq .value "$work/out" | sort | uniq -c | tr -s ' ')" ' 60 40'
given <<'END'
{"key":["spelt","a"],"value":1}
{"key":["spelt","\u0061"],"value":2}
{"key":["spelt","a"],"value":3}
END
kindex import --state "$work/state3"
ends 0
complains 'imported 1 entries'
complains '2 were there already'
kindex get spelt/a
prints 1
is place "$(cat "$work/state3")" "$(wc -c <"$work/given")"
kindex import --overwrite
complains 'imported 3 entries'
kindex get spelt/a
prints 3
input=/dev/null

test_case 'an import that broke off at a line goes on after it'
{
    head -2500 "$work/many" | sed 's/many/again/'
    echo '{"key":["again",2500],"value":{"torn'
} >"$work/again"
kindex import "$work/again" --state "$work/state2" --batch 1000
ends 1
complains 'line 2501 is no entry: column '
kindex count again
prints 2000
is place "$(cat "$work/state2")" "$(head -2000 "$work/again" | wc -c)"
sed 's/many/again/' "$work/many" >"$work/again"
kindex import "$work/again" --state "$work/state2"
ends 0
complains 'imported 18000 entries'
kindex count again
prints 20000
kindex import "$work/users" --state "$work/state2"
ends 1
complains 'does not belong'

test_case 'an import that a commit of is refused says which line'
kindex set users/cy '{"email":"cy@x.org"}'
given <<'END'
{"key":["users","di"],"value":{"email":"di@x.org"}}
{"key":["users","dup"],"value":{"email":"CY@x.org"}}
END
kindex import
input=/dev/null
ends 4
complains 'that is line 2'
kindex get users/di
ends 3

test_case 'what an import leaves out, or stops at, is said with its line'
given <<'END'
{"key":["when",1],"value":1,"expiresAt":4000000000123}
{"key":["when",2],"value":2,"expiresAt":1e12}
END
kindex import
ends 0
complains 'imported 1 entries'
complains '1 had expired'
kindex ls when -o json
is expiry "$(jq .expiresAt "$work/out")" 4000000000123
for line in '"value":1,"expiresAt":"2036-01-01"' '"value":1,"expiresAt":null' \
    '"value":1,"expiresAt":9007199254740992' \
    '"value":1,"typed":{"type":"KvU64","value":"1"}'; do
    given <<<"{\"key\":[\"when\",3],$line}"
    kindex import
    ends 1
    complains 'line 1 is no entry'
done
for first in 1 2; do
    given <<<"$(sed "s/many/bad$first/" "$work/many" | head -1200)
{\"key\":[\"bad\",{\"type\":\"none\"}],\"value\":1}"
    kindex import $([ $first = 1 ] || echo --overwrite)
    ends 1
    complains 'that is line 1201'
    complains 'imported 1000 entries'
    complains 'the same command stores what is missing'
done
head -c 9000000 /dev/zero | tr '\0' x | sed 's/.*/{"key":["huge"],"value":"&"}/' >"$work/huge"
{ head -10 "$work/many" && cat "$work/huge"; } >"$work/given"
kindex import
ends 1
complains 'that is in the lines 1 to 11'
input=/dev/null
kindex import "$work/users" --state "$work"
ends 1
complains 'Is a directory'

test_case 'a file of an export is there when it is whole'
echo before >"$work/file"
kindex export many -f "$work/file" --url http://127.0.0.1:1
ends 5
kindex export many -f "$work/file" --all --url http://127.0.0.1:1
ends 5
is 'the file' "$(cat "$work/file" "$work/file.part" 2>&1 | head -1)" before
is 'and no other' "$(ls "$work/file.part" 2>&1 | grep -c 'No such')" 1
kindex export many -f "$work/file"
ends 0
is lines "$(wc -l <"$work/file")" 20000
kindex export many -f /dev/null
ends 0
node -e 'const listener = require("http").createServer((request, reply) => {
    reply.write(`{"key":["a"],"value":1}\n`, () => reply.destroy());
    listener.close();
}).listen(0, "127.0.0.1", () => require("fs").writeFileSync(
    process.argv[1], `${listener.address().port}\n`))' "$work/cutter" &
cutter=$!
wait_until test -s "$work/cutter"
kindex export --all -f "$work/file" --url "http://127.0.0.1:$(cat "$work/cutter")"
ends 5
complains "not all are in $work/file.part"
is 'what came' "$(cat "$work/file.part")" '{"key":["a"],"value":1}'
is 'the file' "$(wc -l <"$work/file")" 20000
wait $cutter

test_case 'help, completion and the manual page know every command'
kindex --help
commands=$(awk '$1 == "kindex" { print $2, $3 }' "$work/out" | grep -oE '^((index|token) )?[a-z]+' |
    grep -vx 'serve\|COMMAND\|help\|index\|token')
is 'some commands' "$([ "$(wc -l <<<"$commands")" -ge 15 ] && echo yes)" yes
kindex man
cp "$work/out" "$work/page"
kindex completion bash
cp "$work/out" "$work/completion"
while read -r command; do
    is "help of $command" "$("$KINDEX" help $command | head -1 | grep -c "^usage: kindex $command")" 1
    is "$command in the page" "$(grep -cF "\\fBkindex $command\\fR" "$work/page")" 1
    is "$command in completion" "$(grep -cE "^ *'$command ?'\\*?\\)" "$work/completion")" 1
done <<<"$commands"
is completed "$(bash -c 'source "$0"; COMP_WORDS=(kindex index mig); COMP_CWORD=2
    _kindex; echo "${COMPREPLY[@]}"' "$work/completion")" migrate
kindex completion fish
ends 2

test_case 'mistakes in the command line are status 2'
kindex
ends 2
kindex nothing
ends 2
kindex ls --nothing
ends 2
complains 'unknown option --nothing'
kindex get users/ada --limit 3
ends 2
kindex ls a b
ends 2
kindex ls -o yaml
ends 2
kindex ls --limit many
ends 2
kindex get users/ada --url nonsense://x
ends 2
kindex get users/ada --url "$url/#"
ends 2
complains 'do not belong'
KINDEX_TOKEN=$'x\r' kindex get users/ada
ends 2
kindex set users/ada 1 --type $'text/plain\nX: y'
ends 1
complains 'cannot be made'
kindex ls -zk
ends 2
complains 'unknown option -z '
kindex set n -5
complains 'comes after --'
kindex set n -- -5
ends 0
kindex ls users --prefix many
ends 2
complains 'users and --prefix exclude each other'
kindex import "$work/users" -f "$work/many"
ends 2
kindex atomic --dry-run '[1]'
ends 1
complains 'not a JSON object'

test_case 'help of serve, and of the first of two words'
kindex help serve
ends 0
is usage "$(head -1 "$work/out")" 'usage: kindex serve [options]'
kindex help token
ends 0
is commands "$(awk '{ print $3 }' "$work/out" | tr '\n' ' ')" 'create ls show revoke generate '
kindex index
ends 2
complains 'kindex help index'
kindex help index nothing
ends 2
complains 'no command index nothing'
kindex help get set
ends 2
for command in ls del import export; do
    is "what --prefix is for $command" "$("$KINDEX" help $command | grep -e '--prefix' |
        grep -c 'under this key (del: all of it); import: put in front')" 1
done
kindex help nosuch
ends 2
complains 'no command nosuch; kindex --help lists them'
kindex watch 1 2 3 4 5 6 7 8 9 10 11
ends 2
complains 'stray argument 11: watch takes 10 at most'

test_case 'the token is sent as Bearer, and shown to nobody'
node -e 'const listener = require("http").createServer((request, reply) => {
    reply.end(JSON.stringify(request.headers.authorization ?? null));
    listener.close();
}).listen(0, "127.0.0.1", () => require("fs").writeFileSync(
    process.argv[1], `${listener.address().port}\n`))' "$work/listener" &
listener=$!
wait_until test -s "$work/listener"
KINDEX_TOKEN=secret kindex get users/bo --url "http://127.0.0.1:$(cat "$work/listener")"
prints '"Bearer secret"'
wait $listener
kindex get users/bo --token secret --url http://127.0.0.1:1
ends 5
is token "$(grep -c secret "$work/complaint")" 0

test_case 'a watch that the server ends is status 5'
for what in 'watched' '--prefix watched'; do
    # shellcheck disable=SC2086
    timeout "$longest" "$KINDEX" watch $what >"$work/seen" 2>>"$work/ends" &
    watchers+=($!)
done
both_watch() { curl -s "$url/metrics" | grep -q '^kindex_watch_streams 2$'; }
wait_until both_watch
stop_server
server=''
for watcher in "${watchers[@]}"; do
    wait "$watcher"
    is 'the exit status' $? 5
done
is 'what they said' "$(sort -u "$work/ends")" 'kindex: the server ended the watch'

test_case 'no server is status 5'
kindex count
ends 5
complains 'no server answers'
kindex import "$work/many"
ends 5

test_case 'the last line wins also where commits are refused and sent again'
start_server --queue-max 1
export KINDEX_URL=$url
kindex import "$work/often" --jobs 8 --batch 40 --overwrite
ends 0
kindex ls -o json --prefix often
is values "$(jq .value "$work/out" | sort | uniq -c | tr -s ' ')" ' 60 40'
stop_server
finish
