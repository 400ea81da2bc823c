#!/bin/bash
# What 0.1.0 had on disk when it was killed is opened where it is: 0.1.0-first is the
# first program with a number of the format, 0.1.0 the last of that version. Beside the
# directory is what the program answered, and an archive and a backup if it had these
# (upgrade_data.js). 91-format has the data from before there was a number.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/upgrade.sh"

for version in 0.1.0-first 0.1.0; do
    unpack
    cp -r "$old/data" "$work/data"

    test_case "data of $version are opened, with the answers that it gave"
    : >"$log"
    start_server
    same_answers "$old/answers"
    proves 'data directory' "$version"
    rebuilt >"$work/rebuilt"
    request GET /indexes
    # All indexes of the first program are rebuilt, which counts.
    field '[.indexes[].leftOut | select(. == null)] | length > 0' \
        "$([ "$version" = 0.1.0-first ] && echo false || echo true)"

    test_case "indexes of $version are right"
    is 'indexes' "$(names | wc -l)" "$(jq -r 'select(.request[1] | test("^/indexes/[a-z_]+$")) | .request[1]' "$old/answers" | wc -l)"
    is 'wrong ones' "$(wrong)" ''

    test_case "indexes of $version count what they leave out once they are verified"
    request GET /indexes
    field '[.indexes[] | select(.state == "ready" and .leftOut == null) | .name]' '[]'

    test_case "data of $version are upgraded once"
    stop_server
    : >"$log"
    start_server
    is 'lines in the log' "$(grep -Ec 'event=(upgraded|index-outdated)' "$log")" 0
    sed 's/.*/event=index-outdated index=& /' "$work/rebuilt" >>"$log"
    same_answers "$old/answers"

    test_case "data of $version take the requests of a client of then"
    request GET /kv/users/=1
    stamp=$(header_value ETag)
    answers 200 PUT /kv/users/=1 '{"name":"Ada","email":"ada@new.org"}' -H "If-Match: $stamp"
    field ".versionstamp > $stamp" true
    answers 412 precondition-failed PUT /kv/users/=1 '{}' -H "If-Match: $stamp"
    request GET /indexes/by_email/get/ADA@new.org
    body_is '{"name":"Ada","email":"ada@new.org"}'
    answers 404 GET /indexes/by_email/get/ada@example.org
    answers 409 unique-violation PUT /kv/users/new '{"email":"FAY@example.org"}'
    field .existingKey '["users",6]'
    answers 200 POST /atomic '{"checks":[{"key":["users","new"],"versionstamp":null}],
        "mutations":[{"type":"set","key":["users","new"],"value":{"email":"new@x.org","tags":["all"]}},
            {"type":"sum","key":["counters","sum"],"value":1},{"type":"delete","key":["users",2]}]}'
    request GET /kv/counters/sum
    body_is 43
    gives '[.entries[].key[1]]' '["new",4,5,6]' GET '/list?index=by_tag&prefix=all'
    is 'wrong ones' "$(wrong)" ''
    proves 'requests of HTTP clients' "$version"
    stop_server
    rm -rf "$work/data"
done

export KINDEX_URL=none
test_case "a backup of $version is restored"
kindex restore "$old/backup.tar" --data "$work/data"
ends 0
: >"$log"
start_server
same_answers "$old/answers"
proves backup "$version"
stop_server
rm -rf "$work/data"

test_case "an archive of $version is restored"
kindex restore --archive "$old/archive" --data "$work/data"
ends 0
: >"$log"
start_server
same_answers "$old/answers"
is 'wrong ones' "$(wrong)" ''
proves archive "$version"

test_case 'the comparison finds a changed versionstamp, a changed value and a missing entry'
# planted FROM TO: in the first answer's body.
planted() {
    head -n 1 "$old/answers" | node -e '
        const line = JSON.parse(require("fs").readFileSync(0, "utf8")), [from, to] = process.argv.slice(1);
        const body = Buffer.from(line.answer.body, "base64").toString();
        if (!body.includes(from)) throw new Error(`there is no ${from}`);
        line.answer.body = Buffer.from(body.replace(from, to)).toString("base64");
        console.log(JSON.stringify(line))' "$@" >"$work/planted"
    # shellcheck disable=SC2046 # names of indexes
    node "$here/upgrade_data.js" compare "$url" "$work/planted" $(rebuilt) | tail -n 1
}
is 'nothing changed' "$(planted 0.10 0.10)" '1 asked, 0 differ'
is 'a stamp' "$(planted '["counters","max"],"value":9,"versionstamp":"0' '["counters","max"],"value":9,"versionstamp":"1')" '1 asked, 1 differ'
is 'a number' "$(planted 12345678901234567890 12345678901234567891)" '1 asked, 1 differ'
is 'an entry' "$(planted '{"key":["users",1],' '{"key":["users",0],')" '1 asked, 1 differ'

test_case 'the verification finds a damaged index'
stop_server
rm -rf "$work/data"
tar -xzf "$(dirname "$0")/../data/damaged-index.tar.gz" -C "$work"
mv "$work/damaged-index" "$work/data"
start_server
wait_until ready
is 'one' "$([ -n "$(wrong)" ] && echo found)" found
finish
