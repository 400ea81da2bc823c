#!/bin/bash
# Entries out of the command line and into it: kindex export and import, what
# they leave out, and how they continue where they stopped.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server
export KINDEX_URL=$url

kindex set 'a b/=42n/=true/ü?' 1
kindex set users/=42 -t text 'forty two'
kindex set users/ada '{"name":"Ada","email":"ada@x.org"}'
kindex set users/bo '{"email":"BO@x.org","age":20}'
kindex index add by_email users email --unique --fold lower --wait

test_case 'export prints entries as lists have them, without those of indexes'
kindex export -f "$work/all"
ends 0
complains 'exported 4 entries'
kindex ls -o json --prefix users
cp "$work/out" "$work/users"
kindex export users
is users "$(cat "$work/out")" "$(cat "$work/users")"
kindex export --all
is lines "$(grep -c by_email "$work/out")" 2
kindex export users --from-key users/bo
is keys "$(jq -c .key "$work/out" | tr '\n' ' ')" '["users","bo"] ["users",42] '

test_case 'bytes are imported unchanged, regardless of the name of their type'
printf '{}' >"$work/given"
kindex set bytes/1 -f "$work/given" --type application/geo+json
ends 0
kindex get bytes/1
is bytes "$(wc -c <"$work/out")" 2
kindex del bytes/1

test_case 'the deepest value that is accepted can be listed, read and saved'
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

test_case 'the target of a link is replaced as a whole, and the link stays'
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

test_case 'import puts lines under a prefix, and leaves the entries there unchanged'
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
complains '3 existed already'
kindex get copy/=1/users/=42
prints 0
kindex import "$work/users" --prefix copy/=1 --overwrite
complains 'imported 3 entries'
kindex get copy/=1/users/=42
prints '"forty two"'

test_case 'the form of kv-utils is exported and imported again'
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

test_case 'many entries are imported in concurrent commits, and exported the same'
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "{\"key\":[\"many\",%d],\"value\":{\"n\":%d}}\n", i, i }' >"$work/many"
kindex import "$work/many" --state "$work/state" --jobs 8 --batch 500
ends 0
kindex count many
prints 20000
is place "$(cut -d " " -f 1 "$work/state")" "$(wc -c <"$work/many")"
kindex export many
is entries "$(jq -c '{key,value}' "$work/out" | cmp - "$work/many" && echo same)" same

test_case 'the first of several lines with one key wins, or the last with --overwrite'
for round in {1..40}; do
    for key in {1..60}; do
        printf '{"key":["often",%d],"value":%d}\n' $key $round
    done
done >"$work/often"
kindex import "$work/often" --jobs 8 --batch 40 --dry-run
ends 0
complains 'would import 60 entries'
complains '2340 existed already'
kindex import "$work/often" --jobs 8 --batch 40
ends 0
complains 'imported 60 entries'
complains '2340 existed already'
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
complains '2 existed already'
kindex get spelt/a
prints 1
is place "$(cut -d " " -f 1 "$work/state3")" "$(wc -c <"$work/given")"
kindex import --overwrite
complains 'imported 3 entries'
kindex get spelt/a
prints 3
input=/dev/null

test_case 'an import that stopped at a line continues after it'
{
    head -2500 "$work/many" | sed 's/many/again/'
    echo '{"key":["again",2500],"value":{"torn'
} >"$work/again"
kindex import "$work/again" --state "$work/state2" --batch 1000
ends 1
complains 'line 2501 is not an entry: column '
kindex count again
prints 2000
is place "$(cut -d " " -f 1 "$work/state2")" "$(head -2000 "$work/again" | wc -c)"
sed 's/many/again/' "$work/many" >"$work/again"
kindex import "$work/again" --state "$work/state2"
ends 0
complains 'imported 18000 entries'
kindex count again
prints 20000
kindex import "$work/again" --state "$work/state2"
ends 0
complains 'imported 0 entries in '
complains "an earlier run imported the first $(wc -c <"$work/again") bytes"
kindex import "$work/users" --state "$work/state2"
ends 1
complains 'does not match'

test_case 'the state of an import does not skip the lines of another file'
sed 's/again/third/' "$work/again" >"$work/third"
kindex import "$work/third" --state "$work/state2"
ends 1
complains 'does not match this input'
kindex count third
prints 0
head -1000 "$work/third" >"$work/begun"
kindex import "$work/begun" --state "$work/state4"
kindex import "$work/third" --state "$work/state4" --jobs 8 --batch 300
ends 0
complains 'imported 19000 entries'
kindex count third
prints 20000
cut -d ' ' -f 1 "$work/state4" >"$work/old"
kindex import "$work/third" --state "$work/old"
ends 1
complains 'not the state file'

test_case 'import restores exact expiries, and an expired entry does not lose its expiry'
request POST /atomic '{"mutations":[
    {"type":"set","key":["times",1],"value":1,"expiresAt":4000000000001},
    {"type":"set","key":["times",2],"value":2,"expiresAt":9007199254740991},
    {"type":"set","key":["times",3],"typed":{"type":"KvU64","value":"7"},"expiresAt":4102444800999},
    {"type":"set","key":["times",4],"value":4},
    {"type":"set","key":["times",5],"value":5,"ttl":"1h"}]}'
kindex export times -f "$work/times"
ends 0
kindex del --prefix times
sed -i '/"times",5/s/"expiresAt":[0-9]*/"expiresAt":1/' "$work/times"
kindex import "$work/times"
ends 0
complains '1 had expired'
kindex export times
is 'the times' "$(jq -c '[.key[1], .expiresAt]' "$work/out" | xargs)" \
    "$(jq -c 'select(.key[1] != 5) | [.key[1], .expiresAt]' "$work/times" | xargs)"
is 'how many' "$(grep -c key "$work/out")" 4
kindex del --prefix times

test_case 'an import names the line of a refused commit'
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

test_case 'an import names the line that it leaves out or stops at'
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
    complains 'line 1 is not an entry'
done
for first in 1 2; do
    given <<<"$(sed "s/many/bad$first/" "$work/many" | head -1200)
{\"key\":[\"bad\",{\"type\":\"none\"}],\"value\":1}"
    kindex import $([ $first = 1 ] || echo --overwrite)
    ends 1
    complains 'that is line 1201'
    complains 'imported 1000 entries'
    complains 'correct the input, then continue'
    complains 'all lines before line 1001 are stored'
    is 'advice for a break' "$(grep -c 'what is missing' <<<"$complaint")" 0
done
head -c 9000000 /dev/zero | tr '\0' x | sed 's/.*/{"key":["huge"],"value":"&"}/' >"$work/huge"
{ head -10 "$work/many" && cat "$work/huge"; } >"$work/given"
kindex import
ends 1
complains 'that is in lines 1 to 11'
input=/dev/null
kindex import "$work/users" --state "$work"
ends 1
complains 'Is a directory'

# Begins an import of a pipe with 1500 lines, interrupts it when the first of
# them are stored, and continues with 2500 lines as it says.
head -2500 "$work/many" >"$work/some"
mkfifo "$work/pipe"
interrupted_import() {
    "$KINDEX" import "$work/pipe" --prefix "$@" 2>"$work/advice" &
    importing=$!
    exec 8>"$work/pipe"
    head -1500 "$work/some" >&8
    some_stored() { [ "$(curl -s "$url/count?prefix=$1" | jq .count)" -gt 0 ]; }
    wait_until some_stored "$1"
    kill -INT $importing
    wait $importing
    is 'the exit status' $? 130
    exec 8>&-
    is 'what it says' "$(head -1 "$work/advice")" 'kindex: interrupted'
    first=$(sed -n 's/^imported \([0-9]*\) entries .*/\1/p' "$work/advice")
    kindex count "$1"
    prints "$first"
}
continues() {
    ends 0
    complains "imported $((2500 - first)) entries"
    is 'entries that were stored twice' "$(grep -c 'existed already' <<<"$complaint")" 0
    kindex count "$1"
    prints 2500
}

test_case 'an interrupted import names the line to continue with'
interrupted_import told
line=$(sed -n 's/.*(tail -n +\([0-9]*\)).*/\1/p' "$work/advice")
is 'the line' "$line" $((first + 1))
tail -n "+$line" "$work/some" >"$work/given"
kindex import "$work/given" --prefix told
continues told

test_case 'an interrupted import with a state file continues by itself'
interrupted_import kept --state "$work/kept"
is 'the advice' "$(grep -c "the same command continues with line $((first + 1))$" "$work/advice")" 1
kindex import "$work/some" --prefix kept --state "$work/kept"
continues kept

test_case 'the lines of a full batch are stored while the import waits for others'
"$KINDEX" import "$work/pipe" --prefix waits --batch 10 2>"$work/complaint" &
importing=$!
exec 8>"$work/pipe"
head -25 "$work/some" >&8
two_batches() { [ "$(curl -s "$url/count?prefix=waits" | jq .count)" = 20 ]; }
wait_until two_batches
is 'that they are' $? 0
exec 8>&-
wait $importing
is 'the exit status' $? 0

test_case 'the file of an export appears when it is whole'
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
complains "$work/file.part is incomplete"
is 'what came' "$(cat "$work/file.part")" '{"key":["a"],"value":1}'
is 'the file' "$(wc -l <"$work/file")" 20000
wait $cutter

test_case 'an interrupted export keeps what it has, and says so'
node -e 'const { writeFileSync } = require("fs");
require("http").createServer((request, reply) => {
    let lines = 0;
    const long = "x".repeat(10000);
    const timer = setInterval(() =>
        reply.write(`{"key":["a",${++lines}],"value":"${long}"}\n`), 10);
    reply.on("close", () => clearInterval(timer));
}).listen(0, "127.0.0.1", function () {
    writeFileSync(process.argv[1], `${this.address().port}\n`);
})' "$work/endless" &
endless=$!
wait_until test -s "$work/endless"
"$KINDEX" export --all -f "$work/cut" --url "http://127.0.0.1:$(cat "$work/endless")" 2>"$work/advice" &
exporting=$!
wait_until test -s "$work/cut.part"
kill -INT $exporting
wait $exporting
is 'the exit status' $? 130
is 'what it says' "$(head -1 "$work/advice")" 'kindex: interrupted'
is 'the advice' "$(grep -c "$work/cut.part is incomplete; to continue, use --from-key" "$work/advice")" 1
is lines "$(jq -c .key "$work/cut.part" | wc -l)" \
    "$(sed -n 's/^exported \([0-9]*\) entries .*/\1/p' "$work/advice")"
is 'and no file' "$(ls "$work/cut" 2>&1 | grep -c 'No such')" 1
kill $endless
wait $endless 2>"$work/null"

test_case 'import --overwrite stores the last of several lines, also when commits are sent again'
stop_server
start_server --queue-max 1
export KINDEX_URL=$url
kindex import "$work/often" --jobs 8 --batch 40 --overwrite
ends 0
kindex ls -o json --prefix often
is values "$(jq .value "$work/out" | sort | uniq -c | tr -s ' ')" ' 60 40'

test_case 'an import survives a server that is killed and started again'
stop_server
start_server
port=${url##*:}
export KINDEX_URL=$url
jq -nc 'range(3000) | {key: ["through", .], value: .}' >"$work/through"
timeout "$longest" "$KINDEX" import "$work/through" --jobs 4 --batch 3 >"$work/out" 2>"$work/err" &
importing=$!
for entry in 300 1500; do
    until_status 200 GET "/kv/through/=$entry"
    kill -KILL "$server"
    wait "$server" 2>"$work/null"
    start_server --listen "127.0.0.1:$port"
done
wait $importing
is 'the exit status' $? 0
is 'what was imported' "$(sed -n 's/^imported \([0-9]*\) entries in [0-9.]* s$/\1/p' "$work/err")" 3000
gives .count 3000 GET '/count?prefix=through'

test_case 'an entry whose answer was lost is imported, and did not exist before'
node -e '
// Passes bytes on, and cuts every third connection when its first answer comes.
let count = 0;
const net = require("net");
const server = net.createServer((client) => {
  const cuts = count++ % 3 === 0;
  const up = net.connect(process.argv[1], "127.0.0.1");
  client.on("data", (data) => up.write(data)).on("error", () => up.destroy())
    .on("close", () => up.destroy());
  up.on("data", (data) => cuts ? client.destroy() : client.write(data))
    .on("error", () => client.destroy()).on("close", () => client.destroy());
}).listen(0, "127.0.0.1", () =>
  require("fs").writeFileSync(process.argv[2], `${server.address().port}`));
' "$port" "$work/cutting" &
cutting=$!
wait_until test -s "$work/cutting"
kindex import "$work/through" --prefix lost --jobs 2 --url "http://127.0.0.1:$(cat "$work/cutting")"
ends 0
complains 'imported 3000 entries in '
is 'entries that existed already' "$(grep -c 'existed already' <<<"$complaint")" 0
kindex count lost
prints 3000
kill $cutting
wait $cutting 2>"$work/null"

test_case 'an import without a server exits with 5'
stop_server
kindex import "$work/many"
ends 5

finish
