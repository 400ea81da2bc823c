#!/bin/bash
# The functions of Deno's guide, which keep their indexes by hand, against
# declared indexes: they run unchanged, and lose the same races as before.
. "$(dirname "$0")/../lib/http.sh"
start_server

# What the guide stores in an index: the id, or the user.
held() { # FORM USER
    [ "$1" = pointer ] && jq -c .id <<<"$2" || printf '%s' "$2"
}

# The operation of insertUser: both keys must be free, both are set.
insert_user() { # FORM USER
    local id email color
    { read -r id && read -r email && read -r color; } < <(jq -r ".id, .email, .favoriteColor" <<<"$2")
    printf '{"checks":[{"key":["users","%s"],"versionstamp":null},{"key":["users_by_email","%s"],"versionstamp":null}],
        "mutations":[{"type":"set","key":["users","%s"],"value":%s},
            {"type":"set","key":["users_by_email","%s"],"value":%s},
            {"type":"set","key":["users_by_favorite_color","%s","%s"],"value":%s}]}' \
        "$id" "$email" "$id" "$2" "$email" "$(held "$1" "$2")" \
        "$color" "$id" "$(held "$1" "$2")"
}

# Of deleteUser: the user must be as it was read, all its keys are deleted.
delete_user() { # USER VERSIONSTAMP [VERSIONSTAMP of the email key]
    local id email color
    { read -r id && read -r email && read -r color; } < <(jq -r ".id, .email, .favoriteColor" <<<"$1")
    printf '{"checks":[{"key":["users","%s"],"versionstamp":%s}%s],
        "mutations":[{"type":"delete","key":["users","%s"]},
            {"type":"delete","key":["users_by_email","%s"]},
            {"type":"delete","key":["users_by_favorite_color","%s","%s"]}]}' \
        "$id" "$2" "${3:+,{\"key\":[\"users_by_email\",\"$email\"],\"versionstamp\":$3\}}" \
        "$id" "$email" "$color" "$id"
}

stamp_of() { # KEY
    request POST /get "{\"keys\":[$1]}"
    jq -c '.entries[0].versionstamp' "$answer"
}

user() { # ID EMAIL COLOR
    printf '{"id":"%s","email":"%s","favoriteColor":"%s"}' "$@"
}

raced() {
    [ "$(wc -l <"$work/raced")" = 10 ]
}

# Sends ten bodies at once; what they were answered.
race() { # COMMAND, given the number
    local i
    for i in {0..9}; do
        "$@" "$i" >"$work/body$i"
        curl -s -o "$work/answer$i" -w '%{http_code}\n' -X POST "$url/atomic" --data-binary "@$work/body$i" &
    done >"$work/raced"
    wait_until raced
    sort "$work/raced" | uniq -c | xargs
}

same_email() {
    insert_user "$form" "$(user "racer$1" same@x.org red)"
}

same_delete() {
    delete_user "$zoe" "$stamp"
}

ada=$(user ada ada@x.org blue)
bob=$(user bob bob@x.org blue)
zoe=$(user zoe zoe@x.org green)
for form in pointer value; do
    request POST /indexes "{\"name\":\"users_by_email\",\"prefix\":[\"users\"],\"fields\":[\"/email\"],\"unique\":true,\"store\":\"$form\"}"
    expect 201
    request POST /indexes "{\"name\":\"users_by_favorite_color\",\"prefix\":[\"users\"],\"fields\":[\"/favoriteColor\"],\"store\":\"$form\"}"
    expect 201

    test_case "insertUser stores the user and both index entries ($form)"
    answers 200 POST /atomic "$(insert_user $form "$ada")"
    stamp=$(value .versionstamp)
    request POST /get '{"keys":[["users","ada"],["users_by_email","ada@x.org"],["users_by_favorite_color","blue","ada"]]}'
    field '[.entries[].versionstamp] | unique' "[\"$stamp\"]"
    field '.entries[1:] | map(.value) | unique' "[$(held $form "$ada")]"
    answers 200 POST /atomic "$(insert_user $form "$bob")"
    gives '[.entries[].key[2]]' '["ada","bob"]' GET '/list?prefix=users_by_favorite_color/blue'

    test_case "insertUser fails by its checks when the id or the email is used ($form)"
    answers 409 check-failed POST /atomic "$(insert_user $form "$(user ada other@x.org red)")"
    field '[.failedChecks[].key]' '[["users","ada"]]'
    answers 409 check-failed POST /atomic "$(insert_user $form "$(user eve ada@x.org red)")"
    field '.failedChecks[] | [.check, .key, .expected, .actual]' "[1,[\"users_by_email\",\"ada@x.org\"],null,\"$stamp\"]"
    answers 409 check-failed POST /atomic "$(insert_user $form "$ada")"
    field '.failedChecks | length' 2
    answers 404 GET /kv/users/eve

    test_case "insertUser without its checks is refused by the index ($form)"
    request POST /atomic "$(insert_user $form "$(user eve ada@x.org red)" | jq -c '.checks = []')"
    expect 409 unique-violation
    field '[.existingKey, .attemptedKey]' '[["users","ada"],["users","eve"]]'

    test_case "one of many concurrent insertUser with one email wins, the others fail by their checks ($form)"
    is 'the answers' "$(race same_email)" '1 200 9 409'
    is 'the reasons' "$(jq -r 'select(.status) | .code' "$work"/answer[0-9] | sort -u)" check-failed
    gives .count 3 GET /count?prefix=users_by_email
    request GET /indexes/users_by_email/get/same@x.org
    winner=$(cat "$answer")
    request GET "/kv/users/$(jq -r .id <<<"$winner")"
    body_is "$winner"

    test_case "deleteUser removes all three keys ($form)"
    stamp=$(stamp_of '["users","bob"]')
    answers 200 POST /atomic "$(delete_user "$bob" "$stamp")"
    request POST /get '{"keys":[["users","bob"],["users_by_email","bob@x.org"],["users_by_favorite_color","blue","bob"]]}'
    field '[.entries[].versionstamp]' '[null,null,null]'

    test_case "deleteUser that has read both keys checks both ($form)"
    stamp=$(stamp_of '["users","ada"]')
    email=$(stamp_of '["users_by_email","ada@x.org"]')
    answers 409 check-failed POST /atomic "$(delete_user "$ada" "$stamp" '"00000000000000010000"')"
    field '.failedChecks[] | [.key[0], .actual]' "[\"users_by_email\",$email]"
    answers 200 POST /atomic "$(delete_user "$ada" "$stamp" "$email")"
    answers 404 GET /kv/users_by_email/ada@x.org

    test_case "deleteUser loses against a change of the user, and succeeds when it is repeated ($form)"
    request POST /atomic "$(insert_user $form "$ada")"
    stamp=\"$(value .versionstamp)\"
    answers 200 PATCH /kv/users/ada '{"email":"ada@y.org"}'
    answers 409 check-failed POST /atomic "$(delete_user "$ada" "$stamp")"
    field '.failedChecks[0].expected' "$(jq -r . <<<"$stamp")"
    stamp=$(stamp_of '["users","ada"]')
    answers 200 POST /atomic "$(delete_user "$(user ada ada@y.org blue)" "$stamp")"
    gives '[.entries[].key[1]]' '["same@x.org"]' GET '/list?prefix=users_by_email'

    test_case "one of many concurrent deleteUser of one user wins ($form)"
    request POST /atomic "$(insert_user $form "$zoe")"
    stamp=\"$(value .versionstamp)\"
    is 'the answers' "$(race same_delete)" '1 200 9 409'
    is 'the reasons' "$(jq -r 'select(.status) | .code' "$work"/answer[0-9] | sort -u)" check-failed

    test_case "deleteUser that forgets to check deletes nothing of another user ($form)"
    request POST /atomic "$(insert_user $form "$zoe")"
    request PATCH /kv/users/zoe '{"email":"zoe@y.org"}'
    answers 200 POST /atomic "$(insert_user $form "$(user eve zoe@x.org red)")"
    request POST /atomic '{"mutations":[{"type":"delete","key":["users","zoe"]},{"type":"delete","key":["users_by_email","zoe@x.org"]}]}'
    expect 409 index-owned-key
    field '[.index, .mutation, .key]' '["users_by_email",1,["users_by_email","zoe@x.org"]]'
    field .detail 'the key belongs to index users_by_email, which holds a value there after this commit: ["users_by_email","zoe@x.org"]'
    field ".holds | tojson" "$(held $form "$(user eve zoe@x.org red)")"
    answers 200 GET /kv/users/zoe

    test_case "a mistake in the code of the guide is refused with the entry of the index ($form)"
    request POST /atomic "$(insert_user $form "$(user max max@x.org blue)" | sed 's/"users_by_email","max@x.org"\],"value"/"users_by_email","MAX@x.org"],"value"/')"
    expect 409 index-owned-key
    field '[.key, .holds]' '[["users_by_email","MAX@x.org"],null]'
    field '.detail | contains("holds nothing there after this commit: [\"users_by_email\",\"MAX@x.org\"]")' true
    request POST /atomic "$(insert_user $form "$(user max max@x.org blue)" | sed 's/"blue","max"\],"value":.*/"blue","max"],"value":"maxi"}]}/')"
    expect 409 index-owned-key
    field '[.index, .mutation]' '["users_by_favorite_color",2]'
    field ".holds | tojson" "$(held $form "$(user max max@x.org blue)")"
    answers 404 GET /kv/users/max

    request DELETE '/list?prefix=users'
    request DELETE /indexes/users_by_email
    request DELETE /indexes/users_by_favorite_color
done

test_case 'a pointer to a key of several parts is an array of them'
request POST /indexes '{"name":"by_name","prefix":["t"],"fields":["/n"],"unique":true}'
request POST /atomic '{"mutations":[{"type":"set","key":["t","eu",7,true],"value":{"n":"a"}},{"type":"set","key":["by_name","a"],"value":["eu",7,true]}]}'
expect 200
request POST /atomic '{"mutations":[{"type":"set","key":["t","eu",8,true],"value":{"n":"b"}},{"type":"set","key":["by_name","b"],"value":["t","eu",8,true]}]}'
expect 409 index-owned-key
field .holds '["eu",8,true]'

test_case 'a hand-written value of an index may be written in another way if it is equal'
request POST /indexes '{"name":"copy_by_n","prefix":["v"],"fields":["/n"],"store":"value"}'
request POST /atomic '{"mutations":[{"type":"set","key":["v",1],"value":{"n":100,"s":"é"}},{"type":"set","key":["copy_by_n",100,1],"value": { "s":"\u00e9", "n":1e2 }}]}'
expect 200
request GET /kv/copy_by_n/=100/=1
body_is '{"n":100,"s":"é"}'

finish
