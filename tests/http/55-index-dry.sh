#!/bin/bash
# Declarations that are not carried out: what is wrong with those that are
# refused, and what a dry one tells.
. "$(dirname "$0")/../lib/http.sh"
start_server

by_tag='{"name":"by_tag","prefix":["p"],"fields":[{"path":"/tags","each":true,"fold":"lower"}]}'
request POST /indexes "$by_tag"
request PUT /kv/p/1 '{"tags":["x"]}'

test_case 'a declaration with an unknown member is refused with the nearest name'
while IFS='|' read -r declaration pointer meant; do
    answers 400 bad-index-definition POST /indexes "$declaration"
    is "pointer and name for $declaration" "$(value '[.pointer, .didYouMean]')" "[\"$pointer\",\"$meant\"]"
    field ".detail | contains(\"did you mean \\\"$meant\\\"? it has \")" true
done <<'END'
{"name":"i","prefix":["a"],"fields":["/a"],"uniqe":true}|/uniqe|unique
{"name":"i","prefix":["a"],"feilds":["/a"]}|/feilds|fields
{"name":"i","prefix":["a"],"fields":[{"path":"/a","eahc":true}]}|/fields/0/eahc|each
{"name":"i","prefix":["a"],"fields":["/a"],"store":{"field":["/a"]}}|/store/field|fields
{"name":"i","prefix":["a"],"fields":["/a"],"where":[{"path":"/a","exist":true}]}|/where/0/exist|exists
END

test_case 'a wrong member of a declaration is pointed at, a wrong JSON Pointer by its character'
while IFS='|' read -r members pointer words; do
    answers 400 bad-index-definition POST /indexes "{\"name\":\"i\",\"prefix\":[\"a\"],$members}"
    is "the pointer for $members" "$(value .pointer)" "$pointer"
    detail=$(value .detail)
    [[ $detail != *"$words"* ]] || detail=$words
    is "the detail for $members" "$detail" "$words"
done <<'END'
"fields":["a"]|/fields/0|character 1
"fields":["/é/b~2"]|/fields/0|character 5
"fields":["/b~"]|/fields/0|character 3
"fields":[{"path":"/a","key":1}]|/fields/0|either a path
"fields":[{"fold":"lower"}]|/fields/0|either a path
"fields":[{"key":0}]|/fields/0/key|from 1
"fields":["/a"],"depth":100000|/depth|from 1 to 2048
"fields":[{"key":1,"each":true}]|/fields/0|not an array
"fields":[{"key":3}],"depth":2|/fields/0|depth 2
"fields":[{"path":"/a","each":true},{"path":"/b","each":true}]|/fields/1|at most one
"fields":["/a"],"store":{"fields":[]}|/store/fields|at least one
"fields":["/a"],"store":{}|/store|needs fields
"fields":["/a"],"store":{"fields":["/a/b","/a"]}|/store/fields/1|contains another path
"fields":["/a"],"store":{"fields":[""]}|/store/fields/0|whole value
"fields":["/a"],"store":1|/store|pointer
"fields":["/a"],"where":1|/where|condition
"fields":["/a"],"where":{"eq":1}|/where|path
"fields":["/a"],"where":{"path":"/a"}|/where|comparison
"fields":["/a"],"where":{"path":"/a","gt":null}|/where/gt|null
"fields":["/a"],"where":{"path":"/a","eq":[1]}|/where/eq|string
"fields":["/a"],"where":{"path":"/a","in":[]}|/where/in|at least one
"fields":["/a"],"where":{"path":"/a","in":[1,{}]}|/where/in/1|string
"fields":["/a"],"where":[{"path":"/a","exists":1}]|/where/0/exists|true or false
"fields":["/a"],"missing":"fail"|/missing|"skip" or "error" or "null"
END
answers 400 bad-index-definition POST /indexes '{"name":"again","prefix":["by_tag"],"fields":["/a"]}'
field '[.pointer, (.detail | contains("by_tag"))]' '["/prefix",true]'
answers 400 bad-index-definition POST /indexes '{"name":"p","prefix":["x"],"fields":["/a"]}'
field '.pointer' /name

test_case 'a declaration with too many members, conditions or values is refused'
request POST /indexes "$(jq -nc '{name: "i", prefix: ["a"], fields: ["/a"], store: {fields: [range(17) | "/f\(.)"]}}')"
expect 400 bad-index-definition
request POST /indexes "$(jq -nc '{name: "i", prefix: ["a"], fields: ["/a"], where: [range(17) | {path: "/f\(.)", eq: 1}]}')"
expect 400 bad-index-definition
request POST /indexes "$(jq -nc '{name: "i", prefix: ["a"], fields: ["/a"], where: {path: "/a", in: [range(65)]}}')"
expect 400 bad-index-definition
request POST /indexes "{\"name\":\"i\",\"prefix\":[\"a\"],\"fields\":[\"/$(printf '%0512d' 0)\"]}"
expect 400 bad-index-definition

test_case 'a dry declaration counts a few entries exactly, and changes nothing'
for i in 1 2 3 4; do
    request PUT "/kv/dry/$i" "{\"email\":\"e$((i / 2))@x\",\"tags\":[1,2,$i]}"
done
request PUT /kv/dry/5 '{"tags":null}'
answers 200 POST '/indexes?dry=1' '{"name":"dry1","prefix":["dry"],"fields":["/email"],"unique":true}'
header Location ''
field '[.dry, .declaration.name, .estimate.exact]' '[true,"dry1",true]'
field '.estimate | [.sampled, .covered, .skipped, .entries, .conflicts]' '[5,5,1,4,1]'
field '.estimate.bytes > 100 and .estimate.seconds >= 0' true
field '.warnings | length == 1 and (.[0] | contains("e1@x") and contains("[\"dry\",\"2\"]"))' true
answers 404 index-not-found GET /indexes/dry1
request POST '/indexes?dry=1' '{"name":"dry1","prefix":["dry"],"fields":[{"path":"/tags","each":true}]}'
field '.estimate | [.entries, .skipped, .conflicts]' '[10,1,0]'

test_case 'a warning names a field that no entry has, and the nearest name that exists'
answers 200 POST '/indexes?dry=1' '{"name":"dry1","prefix":["dry"],"fields":["/emial"],"store":{"fields":["/tag"]}}'
field '.warnings | length' 2
field '.warnings[0] | contains("/emial") and contains("did you mean /email?") and contains("5 sampled")' true
field '.warnings[1] | contains("/tag") and contains("did you mean /tags?")' true
request POST '/indexes?dry=1' '{"name":"dry1","prefix":["dry"],"fields":["/emial"],"where":{"path":"/emial","ge":"a","lt":"b"}}'
field '[.warnings[] | select(contains("/emial"))] | length' 1

test_case 'a dry declaration warns of no entries, of a where that none fulfils, and of a build that would fail'
request POST '/indexes?dry=1' '{"name":"dry1","prefix":["nobody"],"fields":["/a"]}'
field '.warnings | length == 1 and (.[0] | contains("no entries"))' true
request POST '/indexes?dry=1' '{"name":"dry1","prefix":["dry"],"fields":["/tags"],"where":{"path":"/email","eq":"q"}}'
field '.warnings | length == 1 and (.[0] | contains("where"))' true
request POST '/indexes?dry=1' '{"name":"dry1","prefix":["dry"],"fields":["/email"],"missing":"error"}'
field '.warnings | length == 1 and (.[0] | contains("would fail") and contains("[\"dry\",\"5\"]"))' true
answers 200 POST '/indexes?dry=1' "$by_tag"
field '.warnings[0] | contains("already declared")' true

test_case 'a dry declaration is refused as a real one would be'
answers 409 index-exists POST '/indexes?dry=true' '{"name":"by_tag","prefix":["p"],"fields":["/x"]}'
answers 409 index-name-used POST '/indexes?dry=1' '{"name":"dry","prefix":["p"],"fields":["/x"]}'
answers 400 bad-index-definition POST '/indexes?dry=1' '{"name":"i","prefix":["p"],"fields":[]}'
answers 400 bad-parameter POST '/indexes?dry=maybe' '{"name":"i","prefix":["p"],"fields":["/a"]}'
answers 400 unknown-parameter POST '/indexes?dri=1' '{"name":"i","prefix":["p"],"fields":["/a"]}'

# A declaration in earnest comes while the dry one looks through the entries: if it
# was planned again for each part of them, it would now be refused.
test_case 'a dry declaration is planned once, however long it compares hand-kept entries'
jq -nc 'range(20) as $p | {mutations: [range(1000) | {type: "set", key: ["by_hand", $p * 1000 + ., 1], value: 1}]}' >"$work/pages"
while read -r page; do
    curl -s -o "$work/null" "$url/atomic" -d "$page"
done <"$work/pages"
node -e '
    const session = require("node:http2").connect(process.argv[1]);
    const ask = (method, path, body) => new Promise((resolve) => {
        const stream = session.request({ ":method": method, ":path": path });
        let status, text = "";
        stream.on("response", (head) => { status = head[":status"]; });
        stream.setEncoding("utf8").on("data", (part) => { text += part; });
        stream.on("end", () => resolve([status, text])).end(JSON.stringify(body));
    });
    const by_hand = { name: "by_hand", prefix: ["dry"], fields: ["/email"], adopt: true };
    (async () => {
        const dry = ask("POST", "/indexes?dry=1", by_hand);
        await ask("PUT", "/kv/after/it", 1); // answered no sooner than the plan was
        const [status] = await ask("POST", "/indexes", { ...by_hand, unique: true });
        console.log(status, (await dry)[0]);
        session.close();
    })();' "$url" >"$work/both"
is 'the declaration, and the dry one' "$(cat "$work/both")" '202 200'

test_case 'a dry declaration samples large entries, but not all of them'
printf '{"a":"%01000000d"}' 0 >"$work/million"
curl -s -o "$work/null" -X PUT "$url/kv/large/[1-24]" -d "@$work/million"
request POST '/indexes?dry=1' '{"name":"dry1","prefix":["large"],"fields":["/b"]}'
field '.estimate | [.exact, .sampled >= 10, .sampled < 24]' '[false,true,true]'

# How many there are is told from the shape of the tree, which tells less of a
# tree that most was taken out of again: in a store of their own.
stop_server
rm -r "$work/data"
start_server
test_case 'a dry declaration samples many entries, and its numbers are about right'
jq -nc 'range(1; 21) as $p | {mutations: [range(1000) | {type: "set", key: ["many", $p * 1000 + .], value: {n: ., half: (if . % 2 == 0 then 1 else null end)}}]}' >"$work/pages"
while read -r page; do
    curl -s -o "$work/null" "$url/atomic" -d "$page"
done <"$work/pages"
answers 200 POST '/indexes?dry=1' '{"name":"dry1","prefix":["many"],"fields":["/half"]}'
field '.estimate.exact' false
field '.estimate.sampled <= 2000 and .estimate.sampled >= 500' true
field '.estimate.covered > 10000 and .estimate.covered < 40000' true
field '.estimate | (.entries / .covered) > 0.4 and (.entries / .covered) < 0.6' true
field '.estimate | .skipped + .entries - .covered | . >= -1 and . <= 1' true
field '.warnings' '[]'

finish
