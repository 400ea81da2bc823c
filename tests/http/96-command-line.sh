#!/bin/bash
# The command line, each command against a server: what it prints, what it has
# changed, and its exit status.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server
export KINDEX_URL=$url

test_case 'kindex set stores a value and prints its versionstamp; get prints the value'
kindex set users/ada '{"name":"Ada","email":"ada@x.org"}'
ends 0
prints 00000000000000010000
kindex get users/ada
ends 0
prints '{"name":"Ada","email":"ada@x.org"}'
request GET /kv/users/ada
header ETag '"00000000000000010000"'

test_case 'keys on the command line have parts with types; a space need not be escaped'
kindex set users/=42 -t text 'forty two'
ends 0
kindex set 'a b/=42n/=true/ü?' 1
ends 0
request GET '/list?keys=true'
field '[.entries[].key]' '[["a b",{"type":"bigint","value":"42"},true,"ü?"],["users","ada"],["users",42]]'
kindex get 'a b/=42n/=true/ü?'
prints 1

test_case 'kindex get of an absent entry exits with 3 and says so'
kindex get users/42
ends 3
prints ''
complains 'There is no entry with this key'
kindex get users/ada users/42 -o json
ends 3
is lines "$(wc -l <"$work/out")" 2

test_case 'kindex set takes values from standard input and files, as text, bytes and typed'
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

test_case 'kindex set exits with 4 when a condition does not hold'
kindex set users/ada 1 --if-absent
ends 4
kindex set users/ada 1 --if-match 00000000000000090000
ends 4
kindex set users/ada '{"age":36}' --merge --if-match 00000000000000010000
ends 0
kindex get users/ada --fields age
prints '{"age":36}'

test_case 'kindex patch changes members or applies operations, and names an operation that fails'
kindex patch v/doc '{"n":1,"tags":["a"]}' --if-absent
ends 0
stamp=$(cat "$work/out")
kindex patch v/doc '{"n":null,"m":2}' --if-match "$stamp" --ttl 1h
ends 0
kindex get v/doc
prints '{"tags":["a"],"m":2}'
given <<<'[{"op":"sum","path":"/m","value":-2,"min":0},{"op":"include","path":"/tags","value":"b"}]'
kindex patch v/doc --ops
input=/dev/null
ends 0
kindex get v/doc -o json
is 'the entry' "$(jq -c '[.value, .expiresAt > 0]' "$work/out")" '[{"tags":["a","b"],"m":0},true]'
kindex patch v/doc '[{"op":"sum","path":"/m","value":-1,"min":0}]' --ops
ends 4
complains 'the sum would be less than min'
kindex patch v/doc '[{"op":"spam","path":""}]' --ops
ends 1
complains 'operation 0'
kindex patch v/doc '{"torn":'
ends 1
complains JSON
kindex patch v/doc '{}' --if-match "$stamp"
ends 4
kindex patch v/doc '{}' --if-match "$stamp" --if-absent
ends 2
kindex patch v/doc '{}' --merge
ends 2
kindex patch
ends 2
kindex help patch
ends 0
is 'the option' "$(grep -c -- --ops "$work/out")" 2
kindex get v/doc
prints '{"tags":["a","b"],"m":0}'
kindex del v/doc

test_case 'kindex set --ttl makes an entry expire'
kindex set v/short 1 --ttl 1h
gives '.entries[0].expiresAt > 0' true POST /get '{"keys":[["v","short"]]}'

test_case 'kindex set keeps or removes the expiry, touch changes nothing else, and get shows it'
kindex touch v/short --ttl 2h
ends 0
stamp=$(cat "$work/out")
kindex get v/short -o json
is 'the entry' "$(jq -c '[.value, .versionstamp, .expiresAt / 1000 - now > 3600]' "$work/out")" "[1,\"$stamp\",true]"
kindex set v/short 2 --ttl keep
kindex get v/short -o table
ends 0
is 'the time' "$(grep -cE ' until 2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z 2$' "$work/out")" 1
kindex set v/short 3 --ttl none
kindex get v/short -o table
is 'without a time' "$(grep -c until "$work/out")" 0
kindex touch v/short
ends 2
complains '--ttl is missing'
kindex touch v/none --ttl 1h
ends 3
complains 'There is no entry with this key'

test_case 'kindex sum adds to a number within bounds, and prints the result'
kindex sum n/visits
prints 1
kindex sum n/visits 41 --ttl 1h --ttl-of new
prints 42
kindex sum n/visits -40 --min 0
prints 2
kindex sum --min 0 -- n/visits -40
ends 4
complains bounds
kindex sum --min 0 --out clamp -- n/visits -40
prints 0
kindex sum n/visits 5 --max 4 --out skip
prints 0
kindex sum n/visits 1 -o json
is 'the answer' "$(jq -c '[.ok, .results[0].value]' "$work/out")" '[true,1]'
kindex sum n/visits x
ends 2
complains 'value is not a number: x'
kindex sum n/visits --file "$work/number"
ends 2
complains 'unknown option --file'
kindex export --out skip
ends 2
complains 'unknown option --out'
kindex del n/visits

test_case 'kindex ls, count and tree list entries, without colours'
kindex ls users
ends 0
is rows "$(wc -l <"$work/out")" 3
is colours "$(grep -c $'\033' "$work/out")" 0
kindex ls users -o raw
prints 'users/ada
users/=42'
kindex ls users -o raw --reverse --limit 1
prints users/=42
KINDEX_OUTPUT=raw kindex ls users --limit 1
prints users/ada
kindex ls nothing
ends 0
is heading "$(cut -d ' ' -f 1 "$work/out")" KEY
kindex ls --index nothing
ends 3
prints ''
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

test_case 'kindex uses colours on a terminal, unless NO_COLOR is set'
is colours "$(terminal "$KINDEX ls users" | grep -c $'\033')" 3
is colours "$(NO_COLOR=1 terminal "$KINDEX ls users" | grep -c $'\033')" 0

test_case 'kindex atomic commits a document, or reports whether it would hold'
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

test_case 'kindex del deletes keys and whole prefixes'
kindex del n
ends 0
answers 404 GET /kv/n
kindex del --prefix v --dry-run
ends 0
prints '4 would be deleted'
kindex count
prints 7
kindex del --prefix v
ends 0
prints '4 deleted'
kindex count
prints 3
kindex del
ends 2
complains 'a key, --prefix or --index is missing'
kindex del users/ada --dry-run
ends 2
complains '--dry-run needs --prefix or --index'
kindex get users/ada
ends 0

test_case 'kindex patch changes all entries of a range or an index, and del removes them'
for n in 0 1 2; do
    kindex set "many/=$n" "{\"n\":$n}"
done
kindex patch --prefix many '{"seen":true}'
ends 0
prints '3 patched'
kindex index add by_n many n --wait
kindex patch --index by_n --start =1 '[{"op":"sum","path":"/n","value":10}]' --ops --dry-run
prints '2 would be patched'
given <<<'[{"op":"sum","path":"/n","value":10}]'
kindex patch --index by_n --start =1 --ops -o json
input=/dev/null
prints '{"patched":2}'
kindex get many/=2
prints '{"n":12,"seen":true}'
kindex patch --index by_n --prefix =0 '[{"op":"sum","path":"/n","value":-1,"min":0}]' --ops
ends 4
complains 'the sum would be less than min'
kindex patch --index none --prefix =0 '{}'
ends 3
for wrong in '--prefix many many/=1 {}' '--prefix many {} --if-absent' 'many/=1 {} --dry-run'; do
    # shellcheck disable=SC2086
    kindex patch $wrong
    ends 2
done
kindex del --index by_n --prefix =11 --dry-run -o json
prints '{"deleted":1}'
kindex del --index by_n --prefix =11
prints '1 deleted'
kindex del --index by_n --start =0 --if-match 00000000000000010000
ends 2
kindex del --index by_n --start =0 -o raw
prints 2
kindex index rm by_n

test_case 'kindex patch changes more entries than fit one commit, each once'
for ((n = 0; n < 1500; n++)); do
    echo "{\"key\":[\"many\",$n],\"value\":{}}"
done >"$work/many"
kindex import "$work/many"
kindex patch --prefix many '[{"op":"sum","path":"/n","value":1}]' --ops
prints '1500 patched'
kindex set many/=1400 '{"n":"x"}'
kindex patch --prefix many '[{"op":"sum","path":"/n","value":1}]' --ops
ends 4
complains '1000 were patched before.'
kindex export many
is values "$(jq -c .value "$work/out" | LC_ALL=C sort | uniq -c | tr -s ' ')" ' 1 {"n":"x"}
 499 {"n":1}
 1000 {"n":2}'
kindex del --prefix many
prints '1500 deleted'

test_case 'a word of - and a digit that follows an argument is an argument, and not an option'
kindex sum n/negative -3
prints -3
kindex sum n/negative -0.5
prints -3.5
kindex sum n/negative -1e1
prints -13.5
kindex set n/negative -7
ends 0
kindex get n/negative
prints -7
kindex sum n/negative -3x
ends 2
complains 'value is not a number: -3x'
kindex ls -3
ends 2
complains 'unknown option -3'
kindex sum n/negative -x
ends 2
complains 'unknown option -x (put an argument that begins with - after --)'
kindex del n/negative

test_case '--url may come before the command, of one word or two'
elsewhere=http://127.0.0.1:1
KINDEX_URL=$elsewhere kindex --url "$url" get users/ada
ends 0
KINDEX_URL=$elsewhere kindex "--url=$url" index ls -o json
ends 0
KINDEX_URL=$elsewhere kindex --url "$url" sum -- n/negative -3
prints -3
KINDEX_URL=$elsewhere kindex --url "$url" del n/negative
ends 0
kindex --url "$elsewhere" get users/ada
ends 5
kindex --url "$elsewhere" get users/ada --url "$url"
ends 0
for incomplete in --url "--url $url"; do
    # shellcheck disable=SC2086
    kindex $incomplete
    ends 2
    complains 'a command is missing'
done
kindex --url "$url" --token x ls
ends 2
complains '--token comes after the command'
kindex --url "$url" index
ends 2
complains 'a command of index is missing'
kindex --url "$url" swim
ends 2
complains 'unknown command swim'

test_case 'kindex prints letters beyond ASCII as they are, and escaped for programs'
kindex set 'städte/日本' 1
kindex set 'städte/%E2%80%AEx%C2%85%2F' 1
kindex ls städte
is keys "$(awk 'NR > 1 { print $1 }' "$work/out" | tr '\n' ' ')" 'städte/%E2%80%AEx%C2%85%2F städte/日本 '
kindex get 'städte/日本'
prints 1
kindex tree städte
prints 'städte
  %E2%80%AEx%C2%85%2F
  日本'
kindex ls städte -o raw --reverse -n 1
prints 'st%C3%A4dte/%E6%97%A5%E6%9C%AC'
kindex del --prefix städte

test_case 'kindex points to the entries under a key that has none itself'
kindex set under/a 1
kindex set under/=2 1
kindex del under/a under none
ends 0
prints '1 deleted'
complains 'no entry under, but there are entries under it: kindex del --prefix under deletes them'
is lines "$(wc -l <"$work/complaint")" 1
kindex del none -o json
prints '{"deleted":0}'
kindex get under
ends 3
complains 'kindex ls under lists the entries under it.'
kindex get none
ends 3
is 'what it says of entries under it' "$(grep -c under "$work/complaint")" 0
kindex get none under/=2 under -o json
ends 3
complains 'no entry under, but there are entries under it: kindex ls under lists them'
timeout "$longest" "$KINDEX" watch under -n 1 >"$work/seen" 2>"$work/complaint"
is 'what it says' "$(cat "$work/complaint")" \
    'kindex: there is no entry under, but there are entries under it: kindex watch --prefix under prints those that change'
kindex del --prefix under
prints '1 deleted'

test_case 'kindex index declares an index, waits for it, shows it and reads by it'
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
is fields "$(awk '$1 == "by_email" { print $(NF - 2), $(NF - 1), $NF }' "$work/out")" 'users email (lower)'
kindex index add by_years users age --where '{"path":"/age","ge":65}' --store value
kindex index ls
is 'store and where' "$(sed -n 's/^by_years .* users *age store/store/p' "$work/out")" \
    'store "value" where [{"path":"/age","ge":65}]'
kindex index rm by_years
kindex ls -i by_email -o raw
prints 'users/ada
users/bo'
kindex count -i by_email
prints 2

test_case 'kindex index add refuses a different declaration, and --dry-run changes nothing'
kindex index add by_email users name
ends 4
kindex index add by_age users age --store /age,email --missing error --dry-run
ends 0
is store "$(jq -c .declaration.store "$work/out")" '{"fields":["/age","/email"]}'
kindex index show by_age
ends 3
kindex index add by_age
ends 2

test_case 'kindex index add accepts each form of a field, and refuses contradictions'
echo '{"name":"by_age","prefix":["users"],"fields":["/age"]}' >"$work/by_age"
kindex index add -f "$work/by_age" --unique
ends 2
complains '--file excludes'
kindex index add -f "$work/by_age" --wait
ends 0
is state "$(jq -r .state "$work/out")" ready
kindex index rm by_age
kindex index add by_tag users tags --each /tags --dry-run
is field "$(jq -c .declaration.fields "$work/out")" '[{"path":"/tags","each":true}]'
kindex index add by_tag users tags:desc /n:x:asc key:1:desc --each tags --missing null --dry-run
ends 0
is 'the declaration' "$(jq -c '.declaration | [.fields, .missing]' "$work/out")" '[[{"path":"/tags","each":true,"order":"desc"},{"path":"/n:x"},{"key":1,"order":"desc"}],"null"]'
kindex index add by_tag users --changes --dry-run
ends 0
is 'the fields' "$(jq -c .declaration.fields "$work/out")" '[{"versionstamp":true}]'
kindex index add by_tag users tags --changes --tombstones 7d --dry-run
ends 0
is 'the declaration' "$(jq -c '.declaration | [.fields, .tombstones]' "$work/out")" '[[{"path":"/tags"},{"versionstamp":true}],"7d"]'
kindex index add -f "$work/by_age" --changes
ends 2
complains '--file excludes'
kindex index add by_tag users tags --tombstones 7d --dry-run
ends 1
complains versionstamp
kindex index add by_tag users key:1:down
ends 2
kindex index add by_tag users tags --each tag
ends 2
complains 'not one of the fields'
kindex index add by_tag users tags --where '{"path"'
ends 2
complains 'not JSON'
kindex index add by_tag users key:one
ends 2
kindex index throttle by_email fast
ends 2
kindex index migrate by_email --undo --store value
ends 2

test_case 'kindex index reports duplicates as a conflict, with their entries'
kindex set people/a '{"mail":"x"}'
kindex set people/b '{"mail":"x"}'
kindex index add by_mail people mail -u --wait
ends 4
kindex index conflicts by_mail
ends 4
prints '{"value":["x"],"keys":[["people","a"],["people","b"]]}'
kindex doctor
ends 1
is failing "$(grep '^FAIL' "$work/out" | tr -s ' ')" \
    'FAIL by_mail conflicted: "kindex index conflicts by_mail" lists the entries'
kindex set people/b '{"mail":"y"}'
kindex index watch by_mail
ends 0
kindex doctor
ends 0

test_case 'kindex index migrate --wait does not wait for a migration that duplicates stop'
kindex set twice/1 '{"v":1}'
kindex set twice/2 '{"v":1}'
kindex index add by_twice twice v --wait
ends 0
kindex index migrate by_twice --unique --wait
ends 4
kindex doctor
ends 1
is failing "$(awk '$1 == "FAIL" { print $2, $3 }' "$work/out")" 'by_twice conflicted:'
kindex index rm by_twice
kindex index add by_none twice none --missing error --wait
kindex doctor
ends 1
is failing "$(grep -c '^FAIL *by_none *failed: an entry cannot be indexed, because there is nothing at "/none": \["twice","1"\]' "$work/out")" 1
kindex index rm by_none
kindex set twice/3 '{"v":{"an":"object"}}'
kindex index add by_v twice v --wait
ends 0
kindex doctor
ends 0
is 'what is worth a look' "$(awk '$2 == "by_v"' "$work/out" | tr -s ' ')" 'warn by_v ready: leaves out 1 entries'
is 'access without a token' "$(awk '$2 == "access"' "$work/out" | tr -s ' ')" 'ok access every client may do everything, without a token'
kindex index rm by_v
kindex del twice/3
kindex del twice/1
kindex del twice/2

test_case 'kindex index migrates, pauses, resumes and drops an index'
kindex index migrate by_email --store value --wait
ends 0
is 'what it prints' "$(jq -c '[.state, .store]' "$work/out")" '["ready","value"]'
gives '[.store, .unique]' '["value",true]' GET /indexes/by_email
kindex index migrate by_email --not-unique --store pointer --wait
ends 0
gives '[.store, .unique]' '["pointer",false]' GET /indexes/by_email
kindex index migrate by_email --unique --not-unique
ends 2
complains 'exclude each other'
kindex index migrate by_email
ends 2
kindex index migrate by_email age:desc email --where '{"path":"/email","exists":true}' --missing null --wait
ends 0
request GET /indexes/by_email
field '[.fields[0], .where, .missing, .state]' '[{"path":"/age","order":"desc"},[{"path":"/email","exists":true}],"null","ready"]'
kindex index migrate by_email email --fold lower --where null --missing skip --wait
ends 0
gives '[.fields, .where, .missing]' '[[{"path":"/email","fold":"lower"}],null,"skip"]' GET /indexes/by_email
kindex index migrate by_email --unique --store value --wait
ends 0
gives '[.store, .unique]' '["value",true]' GET /indexes/by_email
kindex index add by_rest users email --paused
ends 0
gives '[.state, .pace.paused]' '["building",true]' GET /indexes/by_rest
kindex index resume by_rest
kindex index watch by_rest
ends 0
kindex index rm by_rest
kindex index add by_rest users email --paused --wait
ends 2
kindex index throttle by_email 5000
kindex index pause by_email
gives .pace '{"paused":true,"perSecond":5000}' GET /indexes/by_email
kindex index resume by_email
kindex index throttle by_email null
gives .pace null GET /indexes/by_email
kindex index rm by_mail
ends 0
answers 404 GET /indexes/by_mail
kindex index show by_mail
ends 3
complains 'kindex index ls lists'
kindex explain '{"prefix":["users"],"where":[{"path":"/email","fold":"lower","eq":"bo@x.org"}]}'
is request "$(jq -r .request "$work/out")" /list?index=by_email'&'prefix=bo%40x.org

test_case 'kindex index shows, applies, reads back and prunes a file of declarations'
kindex index ls -o declarations
ends 0
jq '. + {by_age: {prefix: ["users"], fields: ["/age"]}, by_no: {prefix: ["nothing"], fields: ["/a"]}}' "$work/out" >"$work/indexes.json"
kindex index apply "$work/indexes.json" --plan -o table
ends 0
grep -q '^by_age  *declared  .* entries .* bytes .* s 0 conflicts' "$work/out" || is 'the plan of by_age' "$(cat "$work/out")" 'declared'
grep -q '^"there are no entries' "$work/out" || is 'the warning' "$(cat "$work/out")" 'no entries'
kindex index show by_age
ends 3
kindex index apply "$work/indexes.json" --wait -o json
ends 0
given <"$work/indexes.json"
kindex index apply - -o json
is 'twice is once' "$(jq -c '[.indexes[].change] | unique' "$work/out")" '["unchanged"]'
jq 'del(.by_no)' "$work/indexes.json" >"$work/fewer.json"
kindex index apply "$work/fewer.json" --prune -o json
is 'what is dropped' "$(jq -c '[.indexes[] | select(.change != "unchanged") | [.name, .change]]' "$work/out")" '[["by_no","dropped"]]'
jq '.by_age.prefix = ["nothing"]' "$work/fewer.json" >"$work/moved.json"
kindex index apply "$work/moved.json" --wait -o json
is 'what is changed' "$(jq -c '[.indexes[] | select(.change != "unchanged") | [.name, .change]]' "$work/out")" '[["by_age","changed"]]'
kindex index show by_age -o json
is 'its prefix' "$(jq -c .prefix "$work/out")" '["nothing"]'
kindex index apply "$work/fewer.json" --plan --wait
ends 2
kindex index apply "$work/none.json"
ends 1
kindex index rm by_age
kindex ls -o declarations
ends 2

test_case 'kindex watch prints an entry, and again when it changes'
exchange='kindex watch'
rm -f "$work/seen"
timeout "$longest" "$KINDEX" watch watched -n 3 >"$work/seen" 2>&1 &
watcher=$!
seen() { [ -e "$work/seen" ] && [ "$(wc -l <"$work/seen")" -ge "$1" ]; }
wait_until seen 1
kindex set watched '{"n":1}'
wait_until seen 2
kindex set watched '{"n":2}'
wait $watcher
is 'the exit status' $? 0
is 'what was seen' "$(jq -c '[.key[0],.value]' "$work/seen" | tr '\n' ' ')" \
    '["watched",null] ["watched",{"n":1}] ["watched",{"n":2}] '

test_case 'kindex watch --prefix prints the entries under it that change'
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
said_so() { grep -q 'more entries may have changed than are shown' "$work/err"; }
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
complains 'a key, --prefix or --index is missing'
kindex watch a --prefix b
ends 2
complains '--prefix excludes keys'

test_case 'help, completion and the manual page know every command'
kindex --help
commands=$(awk '$1 == "kindex" { print $2, $3 }' "$work/out" | grep -oE '^((index|queue|rule|token|engine|cluster) )?[a-z-]+' |
    grep -vx 'serve\|COMMAND\|help\|index\|queue\|rule\|token\|engine\|cluster')
is 'some commands' "$([ "$(wc -l <<<"$commands")" -ge 15 ] && echo yes)" yes
kindex man
cp "$work/out" "$work/page"
kindex completion bash
cp "$work/out" "$work/completion"
while read -r command; do
    is "help of $command" "$("$KINDEX" help $command | head -1 | grep -c "^usage: kindex $command")" 1
    is "$command in the page" "$(grep -cF "\\fBkindex ${command//-/\\-}\\fR" "$work/page")" 1
    is "$command in completion" "$(grep -cE "^ *'$command ?'\\*?\\)" "$work/completion")" 1
done <<<"$commands"
for command in restore man 'completion bash' 'token generate'; do
    is "what $command has for a server" "$("$KINDEX" help ${command% bash} | grep -c -e '--\(url\|token\|output\) ')" 0
    KINDEX_URL='no?server' kindex $command --help
    ends 0
    kindex $command --url "$url"
    ends 2
done
is completed "$(bash -c 'source "$0"; COMP_WORDS=(kindex index mig); COMP_CWORD=2
    _kindex; echo "${COMPREPLY[@]}"' "$work/completion")" migrate
kindex completion fish
ends 2

test_case 'kindex exits with 2 for mistakes in the command line'
kindex
ends 2
kindex nothing
ends 2
kindex ls --nothing
ends 2
complains 'unknown option --nothing'
kindex ls --lim 3
ends 2
complains 'unknown option --lim (did you mean --limit?)'
kindex ls --keys=1
ends 2
complains '--keys takes no value'
kindex ls --limit
ends 2
complains 'a value is missing after --limit'
kindex ls -n
ends 2
complains 'a value is missing after -n'
kindex ls -rkn1 users --output=raw
ends 0
prints users/=42
KINDEX_OUTPT=raw kindex ls users -kn1
ends 0
complains 'no option reads the variable KINDEX_OUTPT (did you mean KINDEX_OUTPUT?)'
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
complains 'not allowed there'
KINDEX_TOKEN= KINDEX_OUTPUT= kindex get users/ada
ends 0
KINDEX_TOKEN=$'x\r' kindex get users/ada
ends 2
kindex set users/ada 1 --type $'text/plain\nX: y'
ends 1
complains 'cannot be made'
kindex ls -zk
ends 2
complains 'unknown option -z '
kindex set n -x
complains 'after --'
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

test_case 'kindex help explains serve, and the first of two words'
kindex help serve
ends 0
is usage "$(head -1 "$work/out")" 'usage: kindex serve [options]'
kindex help token
ends 0
is commands "$(awk '{ print $3 }' "$work/out" | tr '\n' ' ')" 'create ls show self revoke generate '
kindex index
ends 2
complains 'kindex help index'
kindex help index nothing
ends 2
complains 'unknown command index nothing; '
kindex index list
ends 2
complains 'unknown command index list (did you mean index ls?); '
kindex token delete x
ends 2
complains '(did you mean token revoke?)'
kindex help delete
ends 2
complains 'unknown command delete (did you mean del?); '
for help in 'index --help' 'index -h' 'index help'; do
    # shellcheck disable=SC2086
    kindex $help
    ends 0
    is "commands of $help" "$(head -1 "$work/out" | tr -s ' ')" ' kindex index add declare an index'
done
kindex help get set
ends 2
while read -r command option meaning; do
    is "what $option is for $command" "$("$KINDEX" help "$command" | grep -e "^ .*$option [A-Z]" | sed 's/.*  //')" "$meaning"
done <<'END'
ls --prefix only entries under this key
del --prefix delete all entries under this key
patch --prefix patch all entries under this key
import --prefix put this in front of every imported key
import --file read from this file; - is standard input
export --file write to this file
tree --depth show this many parts of the keys
END
too_long() { terminal "$KINDEX $1" | tr -d '\r' | awk 'length > 80'; }
for command in help 'help index' 'help import' 'help serve'; do
    is "lines of $command that a terminal would break" "$(too_long "$command")" ''
done
kindex help quixotic
ends 2
complains 'unknown command quixotic; kindex --help lists them'
kindex watch 1 2 3 4 5 6 7 8 9 10 11
ends 2
complains 'unexpected argument 11: watch takes 10 at most'

test_case 'kindex sends its token as Bearer, and never shows it'
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

test_case 'kindex reports a server that is not Kindex differently from an absent entry'
rm "$work/listener"
node -e 'const listener = require("http").createServer((request, reply) => {
    reply.statusCode = Number(request.url.split("/").pop());
    reply.end(request.url.includes("json") ? "{\"error\":\"none\"}" : "<html>none");
}).listen(0, "127.0.0.1", () => require("fs").writeFileSync(
    process.argv[1], `${listener.address().port}\n`))' "$work/listener" &
listener=$!
wait_until test -s "$work/listener"
other=http://127.0.0.1:$(cat "$work/listener")
for key in html/404 json/404 html/409 html/412 html/405; do
    kindex get $key --url "$other"
    ends 1
    complains "$other is not a Kindex server: it answered ${key#*/} "
done
kindex get html/503 --url "$other"
ends 5
complains 'the server answered 503 <html>none'
kill $listener
wait $listener 2>"$work/null"

test_case 'hints are in the words of the command line'
echo '{"name":"taken","prefix":["users"],"fields":["/age"]}' >"$work/taken"
kindex set taken/x 1
kindex index add taken users age
ends 4
complains '--adopt takes them over (--dry-run shows'
echo '{"taken":{"prefix":["users"],"fields":["/age"]}}' >"$work/taken.json"
for command in "add -f $work/taken" "apply $work/taken.json"; do
    # shellcheck disable=SC2086
    kindex index $command
    ends 4
    complains '"adopt": true in the declaration takes them over.'
    is 'what it says of --adopt' "$(grep -c -e --adopt "$work/complaint")" 0
done
jq '. + {adopt: true}' "$work/taken" >"$work/adopting"
kindex index add -f "$work/adopting"
is 'proposals of --adopt' "$(grep -c -e --adopt "$work/complaint")" 0
kindex index rm taken
kindex set bounded 3
kindex sum --min 0 -- bounded -9
ends 4
complains '--out clamp stores the bound'
complains 'present: 3'
kindex atomic '{"mutations":[{"type":"sum","key":["bounded"],"value":-9,"min":0}]}'
ends 4
complains '"out": "clamp" stores the bound'
kindex atomic '{"mutatoins":[]}'
complains 'allowed: '
kindex set bounded 1 --if-match 00000000000000090000
complains '--if-match takes the versionstamp that kindex get KEY -o json shows'
kindex del bounded
# For every code, the document of the server is the answer to a command.
rm "$work/listener"
node -e 'const http = require("http");
const listener = http.createServer((request, reply) => {
    http.get(`${process.argv[2]}/problems/${request.url.split("/").pop()}`, (problem) => {
        let text = "";
        problem.on("data", (part) => { text += part; }).on("end", () =>
            reply.writeHead(JSON.parse(text).status, { "Content-Type": "application/problem+json" }).end(text));
    });
}).listen(0, "127.0.0.1", () => require("fs").writeFileSync(
    process.argv[1], `${listener.address().port}\n`))' "$work/listener" "$url" &
listener=$!
wait_until test -s "$work/listener"
other=http://127.0.0.1:$(cat "$work/listener")
codes=0
while read -r _ problem; do
    kindex del "$problem" --url "$other"
    is "the hints of $problem" "$(grep -c '^  [^ ]' "$work/complaint")" 1
    is "what $problem says of HTTP" "$(grep -E '(GET|POST|PUT|PATCH|DELETE) |[hH]eader|ETag|If-|Retry-After|Authorization|Content-|Idempotency|Last-Event|chunked|\?[a-z]+=|/openapi|consistency' <(sed 1d "$work/complaint"))" ''
    codes=$((codes + 1))
done < <("$KINDEX" serve --print-problems)
is 'the number of codes' "$codes" "$("$KINDEX" serve --print-problems | wc -l)"
kill $listener
wait $listener 2>"$work/null"

test_case 'kindex watch exits with 5 when the server ends it'
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

test_case 'kindex exits with 5 without a server, with the reason of the system'
kindex count
ends 5
complains "no server answers at $url (Connection refused)"
kindex import "$work/many"
complains 'Connection refused'
kindex count --url http://x.invalid
ends 5
complains 'resolve host'

test_case 'a reader of the output of kindex may pause for longer than --timeout'
# The output fills a pipe (64 KiB) and all but 20 bytes of a buffer (4 KiB). So one more
# short line waits for the reader, and has too few bytes for the time that this takes.
rm "$work/listener"
node -e 'const line = (size) => `{"key":["k"],"value":"${"x".repeat(size - 25)}"}\n`;
const burst = line(128).repeat(543) + line(108);
const listener = require("http").createServer((request, reply) => {
    reply.setHeader("Content-Type", "application/x-ndjson");
    reply.write(burst);
    setTimeout(() => reply.write(line(40)), 300);
    setTimeout(() => reply.end("{\"end\":true}\n"), 600);
}).listen(0, "127.0.0.1", () => require("fs").writeFileSync(
    process.argv[1], `${listener.address().port}\n`))' "$work/listener" &
listener=$!
wait_until test -s "$work/listener"
"$KINDEX" export --all --url "http://127.0.0.1:$(cat "$work/listener")" --timeout 1s 2>"$work/complaint" | {
    sleep 2
    cat
} | wc -lc >"$work/out"
is 'lines and bytes' "$(tr -s ' ' <"$work/out")" ' 545 69652'
is 'what it said' "$(sed 's/ in .*//' "$work/complaint")" 'exported 545 entries'
kill $listener
wait $listener 2>"$work/null"

test_case 'an answer that comes too slowly, or does not end, is an error of kindex'
rm "$work/listener"
node -e 'const listener = require("http").createServer((request, reply) => {
    const watches = request.url.startsWith("/watch");
    reply.setHeader("Content-Type", watches ? "text/event-stream" : "application/json");
    let left = watches ? 30 : Infinity;
    const write = (text) => reply.write(text, () => request.url.startsWith("/kv/endless") && write(text));
    if (request.url.startsWith("/kv/endless")) write(" ".repeat(1 << 20));
    else if (request.url.startsWith("/kv/")) reply.end("{}");
    else setInterval(() => {
        if (left-- > 0) return reply.write(watches ? ":\n" : " ");
        reply.end("event: change\ndata: {\"entries\":[{\"key\":[\"a\"],\"value\":1}]}\n\n");
    }, 100).unref();
}).listen(0, "127.0.0.1", () => require("fs").writeFileSync(
    process.argv[1], `${listener.address().port}\n`))' "$work/listener" &
listener=$!
wait_until test -s "$work/listener"
other=http://127.0.0.1:$(cat "$work/listener")
for command in ls count 'index ls' 'del --prefix a' 'import '"$work/many"; do
    # shellcheck disable=SC2086
    kindex $command --url "$other" --timeout 1s
    ends 5
    complains "the answer of $other came at less than 64 bytes per second for 1.0 s; --timeout waits longer"
done
kindex watch a -n 1 --url "$other" --timeout 1s
ends 0
prints '{"key":["a"],"value":1}'
kindex get endless --url "$other"
ends 1
complains 'more than 256 MiB'
KINDEX_TIMEOUT=1ms kindex ls
ends 2
kill $listener
wait $listener 2>"$work/null"
finish
