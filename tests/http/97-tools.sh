#!/bin/bash
# The command line's tools: index verify, bench, and what the shells complete.
. "$(dirname "$0")/../lib/http.sh"
needs zsh
. "$(dirname "$0")/../lib/cli.sh"
# A store whose index by_email has lost the entries of users 2 and 3, which
# nothing but a write past the program can do: users/=1 to =5 with their e-mail,
# the unique index by_email, then ROW_DELETE of two rows of TABLE_ENTRIES (as in
# tests/lib/store.h). A new EXTRACT_VERSION rebuilds the index, so that it has
# to be made again with that.
tar -xzf "$(dirname "$0")/../data/damaged-index.tar.gz" -C "$work"
mv "$work/damaged-index" "$work/data"
start_server
export KINDEX_URL=$url

test_case 'kindex index verify exits with 4 when it finds damage, and repairs it'
kindex index verify by_email
ends 4
is report "$(jq -c '[.state,.repair,.missing,.dangling,.stale,.duplicate,.mended]' "$work/out")" '["done",false,2,0,0,0,0]'
kindex index get by_email u2@x.org
ends 3
kindex index verify by_email --repair -o table
ends 0
is mended "$(awk '$1 == "mended" { print $2 }' "$work/out")" 2
kindex index get by_email u2@x.org
prints '{"email":"u2@x.org"}'
kindex index verify by_email
ends 0
kindex set d/1 '{"v":1}'
kindex set d/2 '{"v":1}'
kindex index add by_d d v --unique --wait
ends 4
kindex index verify by_d
ends 4
complains 'cannot be verified'

test_case 'kindex index verify of a correct index prints the report, and exits with 0'
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "{\"key\":[\"n\",%d],\"value\":{\"v\":%d}}\n", i, i }' >"$work/many"
kindex import "$work/many"
kindex index add by_v n v --unique --wait
kindex index verify by_v
ends 0
is report "$(jq -c '[.index,.state,.repair,.done,.missing,.dangling,.stale,.duplicate]' "$work/out")" '["by_v","done",false,10000,0,0,0,0]'
kindex index verify by_v --repair -o table
ends 0
is report "$(awk '$1 == "state" || $1 == "repair" || $1 == "mended" { print $2 }' "$work/out" | tr '\n' ' ')" 'done true 0 '
gives .repair true GET /indexes/by_v/verify

test_case 'kindex index verify exits with 3 for an absent index, with 4 for one that is not ready'
kindex index verify nothing
ends 3
kindex index verify
ends 2
request POST '/indexes?paused=1' '{"name":"later","prefix":["n"],"fields":["/v"]}'
kindex index verify later
ends 4
complains 'cannot be verified'

test_case 'kindex index verify shows progress, rate and remaining time on a terminal'
kindex index throttle by_v 4000
terminal "$KINDEX index verify by_v" | tr '\r' '\n' >"$work/seen"
is progress "$(grep -cE 'compared [0-9]+, [0-9]+/s  \[#*\.*\] +[0-9]+%, [0-9]+ s left' "$work/seen" | sed 's/^[1-9].*/some/')" some
kindex index verify by_v 2>"$work/complaint"
is 'progress without a terminal' "$(grep -c compared "$work/complaint")" 0

awk 'BEGIN { for (i = 0; i < 60000; i++) printf "{\"key\":[\"wide\",%d],\"value\":\"%0300d\"}\n", i, i }' >"$work/wide"
terminal "$KINDEX import '$work/wide' --batch 100 --jobs 1" | tr '\r' '\n' >"$work/seen"
is 'an import' "$(grep -cE 'imported [0-9]+, [0-9]+/s  \[#*\.*\] +[0-9]+%' "$work/seen" | sed 's/^[1-9].*/some/')" some
terminal "$KINDEX export wide -f '$work/export'" | tr '\r' '\n' >"$work/seen"
is 'an export' "$(grep -cE 'exported [0-9]+, [0-9]+/s  \[#*\.*\] +[0-9]+%' "$work/seen" | sed 's/^[1-9].*/some/')" some
is 'its end' "$(grep -c 'exported 60000 entries' "$work/seen")" 1

test_case 'kindex bench prints rates and percentiles, and leaves no entries'
commits() { curl -s "$url/metrics" | awk '/^kindex_txn_total.*commit/ { print $2 }'; }
before=$(commits)
kindex bench load/here --requests 600 --clients 8 --reads 50 -o json
ends 0
is answered "$(jq -s '[.[].count] | add' "$work/out")" 600
is requests "$(jq -r '"\(.request) \(.refused)"' "$work/out")" $'get 0\nput 0'
is 'both kinds' "$(jq -s 'all(.count > 150 and .perSecond > 0)' "$work/out")" true
is 'percentiles in order' "$(jq -s 'all(.milliseconds | [.p50,.p90,.p99,."p99.9",.max] | . == sort and .[0] > 0)' "$work/out")" true
kindex count load
prints 0
is 'the commits that the server saw' $(($(commits) - before > 1150)) 1

test_case 'kindex bench takes reads or writes only, and a time instead of a number'
kindex bench load --reads 100 --requests 50 -o raw
ends 0
is lines "$(cut -d ' ' -f 1 "$work/out")" get
kindex bench load --reads 0 --seconds 1 --clients 4 --size 1KiB
ends 0
is rows "$(awk 'NR > 1 { print $1, $3, NF }' "$work/out")" 'put 0 9'

test_case 'kindex bench refuses a prefix with entries'
kindex set taken/1 '"mine"'
kindex bench taken --requests 10
ends 4
complains 'there are entries under taken'
kindex get taken/1
prints '"mine"'
kindex count taken
prints 1

test_case 'kindex bench ends when its values are refused, and leaves no entries'
kindex bench load --size 2MiB --requests 10 --clients 2
ends 1
complains 'the server answered 413'
kindex count load
prints 0

test_case 'kindex bench cleans up when interrupted; refused requests make its rates invalid'
begin() {
    # Without --foreground timeout would pass the signal on twice, and the second
    # ends kindex at once.
    timeout --foreground "$longest" "$KINDEX" bench load --seconds 600 "$@" >"$work/out" 2>"$work/complaint" &
    bench=$!
    until_field .count 1000 GET /count?prefix=load
}
end() {
    kill -INT "$bench"
    wait $bench
    code=$?
    complaint=$(cat "$work/complaint")
}
begin
end
ends 1
complains 'interrupted'
kindex count load
prints 0
begin --reads 100
request DELETE '/list?prefix=load&limit=1000'
refused() { [ "$(curl -s "$url/metrics" | grep '^kindex_http_requests_total.*4xx' | awk '{ sum += $2 } END { print sum + 0 }')" -gt 100 ]; }
wait_until refused
end
ends 1
complains 'the last with status 404'

test_case 'kindex bench exits with 2 for mistakes, and with 5 without a server'
kindex bench --reads 101
ends 2
kindex bench --clients 0
ends 2
kindex bench a b
ends 2
kindex bench --url http://127.0.0.1:1
ends 5

test_case 'kindex reports output that it cannot write, and fails'
kindex set full/1 1
unwritten() {
    exchange="kindex $*"
    timeout "$longest" "$KINDEX" "$@" >/dev/full 2>"$work/complaint" </dev/null
    code=$?
    complaint=$(cat "$work/complaint")
    ends 1
    complains 'cannot be written: No space left'
    is lines "$(wc -l <<<"$complaint")" 1
}
unwritten get full/1
unwritten ls full
unwritten tree full
unwritten count full
unwritten export full
unwritten man
unwritten --help
unwritten --version
unwritten serve --print-config
timeout "$longest" "$KINDEX" watch full/1 >/dev/full 2>"$work/complaint"
code=$?
complaint=$(cat "$work/complaint")
ends 1
complains 'cannot be written'
timeout "$longest" "$KINDEX" get full/1 >&- 2>"$work/complaint"
code=$?
complaint=$(cat "$work/complaint")
ends 1
complains 'cannot be written'
(
    trap '' PIPE
    "$KINDEX" ls full 2>"$work/complaint"
) | true
is 'when a reader has gone' "$(cat "$work/complaint")" ''

test_case 'kindex recognizes a server that is not Kindex'
node -e 'require("http").createServer((request, reply) => {
    reply.writeHead(200, { "Content-Type": "application/json" });
    reply.end("{\"entries\":[{\"key\":[\"\u001b[31m");
}).listen(0, "127.0.0.1", function () {
    require("fs").writeFileSync(process.argv[1], `${this.address().port}\n`);
})' "$work/other" &
other=$!
wait_until test -s "$work/other"
elsewhere=http://127.0.0.1:$(cat "$work/other")
echo '{"key":["a"],"value":1}' >"$work/one"
foreign() {
    kindex "$@" --url "$elsewhere"
    ends "$foreign"
    is 'control characters' "$(tr -d '\n' <"$work/complaint" | grep -c '[[:cntrl:]]')" 0
}
foreign=1
foreign index verify any
foreign del --prefix a
foreign count
foreign get a b
foreign index conflicts any
foreign import "$work/one"
complains 'imported 0 entries'
foreign=5
foreign ls
foreign watch a
kill $other
wait $other 2>"$work/null"

test_case 'kindex watch prints the error with which the server ends it'
node -e 'require("http").createServer((request, reply) => {
    reply.writeHead(200, { "Content-Type": "text/event-stream" });
    reply.end("event: error\ndata: " + JSON.stringify({
        type: "/problems/payload-too-large", title: "Payload too large",
        status: 413, code: "payload-too-large", detail: "Too many bytes." }) + "\n\n");
}).listen(0, "127.0.0.1", function () {
    require("fs").writeFileSync(process.argv[1], `${this.address().port}\n`);
})' "$work/ending" &
other=$!
wait_until test -s "$work/ending"
kindex watch a --url "http://127.0.0.1:$(cat "$work/ending")"
ends 1
complains 'Payload too large: Too many bytes.'
kill $other
wait $other 2>"$work/null"

test_case 'kindex ready reports the health of a server by its exit status'
kindex ready
ends 0
prints ready
kindex ready -o json
is checks "$(jq -c '[.ok, (.checks | length > 2)]' "$work/out")" '[true,true]'
kindex ready --url http://127.0.0.1:1
ends 5

test_case 'every output form of kindex says the same'
kindex set 't/a/=1' 1
kindex set 't/a/=2' 2
kindex set 't/b c' 3
kindex tree t -o json --depth 2
prints '{"key":["t","a"],"below":2}
{"key":["t","b c"],"below":0}'
kindex tree t -o raw
prints 't/a/=1
t/a/=2
t/b%20c'
kindex tree t -o table
prints 't
  a
    =1
    =2
  b%20c'
kindex index show by_v -o table
is state "$(awk '$1 == "state" { print $2 }' "$work/out")" ready
kindex index conflicts by_d -o raw
ends 4
prints 'd/1
d/2'
kindex index conflicts by_d -o table
prints '[1]
  d/1
  d/2'
kindex atomic '{"mutations":[]}' -o table
is ok "$(head -1 "$work/out" | tr -s ' ')" 'ok true'
kindex del --prefix t -o raw
prints 3
kindex doctor -o json
is documents "$(jq -r '.what' "$work/out" | head -4 | tr '\n' ' ')" 'version ready storage accepting '

# ---- Completion, by the shells themselves ----------------------------------

"$KINDEX" completion bash >"$work/bash"
"$KINDEX" completion zsh >"$work/_kindex"

# bash_words WORD...: what bash offers after them for the last, begun one
bash_words() {
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _kindex; printf "%s\n" "${COMPREPLY[@]}"' - "$work/bash" "$@" | sort | tr '\n' ' '
}

test_case 'bash completes commands, options and their values'
is commands "$(bash_words kindex e)" 'engine explain export '
is 'second words' "$(bash_words kindex index p)" 'pause '
is 'second words of another' "$(bash_words kindex token gen)" 'generate '
is options "$(bash_words kindex ls --re)" '--reverse '
is 'options of two words' "$(bash_words kindex index verify n --re)" '--repair '
is 'options of the server' "$(bash_words kindex serve --log)" '--log-level '
is values "$(bash_words kindex ls -o '')" 'json raw table '
is shells "$(bash_words kindex completion '')" 'bash zsh '
is nothing "$(bash_words kindex get users/a)" ' '

# An interactive zsh on a new terminal; control-G notes the line as it is
# and begins a new one.
cat >"$work/.zshrc" <<'END'
PS1=
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit && compinit -u -d $ZDOTDIR/dump
note() { print -r -- "$BUFFER" >>$ZDOTDIR/lines; BUFFER=; }
zle -N note
bindkey '^G' note
END
cat >"$work/keys.zsh" <<'END'
zmodload zsh/zpty
zpty shell "TERM=xterm ZDOTDIR=$1 zsh -i"
shift
for keys in "$@"; do zpty -w -n shell $keys$'\a'; done
until [[ -e $ZDOTDIR/lines && $(wc -l <$ZDOTDIR/lines) -ge $# ]]; do
    zpty -r -t shell text || sleep 0.02
done
zpty -d shell
END
zsh_lines() {
    rm -f "$work/lines"
    ZDOTDIR=$work timeout "$longest" zsh -f "$work/keys.zsh" "$work" "$@"
    cat "$work/lines"
}

test_case 'zsh completes with the key of a terminal, from its path of functions'
is 'the lines' "$(zsh_lines $'kindex expl\t' $'kindex index migr\t' \
    $'kindex index verify n --rep\t' $'kindex ls -o ta\t' \
    $'kindex help throt\t')" 'kindex explain 
kindex index migrate 
kindex index verify n --repair 
kindex ls -o table 
kindex help throt'

test_case 'zsh takes the script when it is sourced, too'
is 'what is defined' "$(zsh -f -c 'autoload -Uz compinit && compinit -u -d $2/dump2
    source $1 && print -r -- $_comps[kindex]' - "$work/_kindex" "$work")" _kindex
finish
