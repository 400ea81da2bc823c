#!/bin/bash
# Inside the fresh system: `make run`, the curl lines that it prints, one after
# another as they are, the page for browsers, then SIGTERM and a clean end.
set -u
log=$(mktemp)

make run >"$log" 2>&1 </dev/null &
make_pid=$!
for _ in $(seq 600); do
    curl -sf -o /dev/null http://127.0.0.1:4512/readyz 2>/dev/null && break
    kill -0 $make_pid 2>/dev/null || break
    sleep 0.5
done
cat "$log"

tried=0
failed=0
while read -r line; do
    tried=$((tried + 1))
    echo "+ $line"
    bash -c "curl -sS --fail-with-body ${line#curl }" && echo ||
        { echo "^ failed"; failed=$((failed + 1)); }
done < <(sed -nE 's/^ *(\$ *)?(curl .*:4512.*)$/\2/p' "$log")

# The console as a browser finds it: led from / to the page, and each of its files.
address=http://127.0.0.1:4512
page=$(curl -sSf --location --header 'Accept: text/html' "$address/")
base=$(sed -nE 's|.*src="(console/[^"]*/)app\.js".*|\1|p' <<<"$page")
files=0
for file in api/console/*.{js,css,svg}; do
    curl -sSf "$address/$base${file##*/}" | cmp - <(sed -E -f api/console/served.sed "$file") && files=$((files + 1)) || failed=$((failed + 1))
done
echo "console: $files files"
[ -n "$base" ] && [ $files -gt 0 ] || failed=$((failed + 1))

server=
for exe in /proc/[0-9]*/exe; do
    case $(readlink "$exe") in */kindex) server=${exe//[!0-9]/} ;; esac
done
[ -n "$server" ] && kill -TERM "$server"
wait $make_pid
status=$?
echo "make run: $tried curl lines, $failed failed; ended with $status"
[ $tried -ge 5 ] && [ $failed -eq 0 ] && [ $status -eq 0 ]
