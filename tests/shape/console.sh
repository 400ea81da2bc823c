#!/bin/bash
# Point 16: the modules of the console. Imports go down: ground, parts, pages, the
# shell. What turns text into markup or code, what keeps data in the browser, and what
# rounds numbers is not used; each file is in the program's table, and all are small.
. tests/shape/lib.sh

folder=api/console
BYTES_MAX=225280 # of all files, as the program has and serves them; tests/console limits the page /docs

# Each module's level: a module may import those of lower levels, and parts one another.
ground='icons dom api json key value merge session filter'
parts='dialog field rows pages tree chart signin conflict prefix columns list counter expiry change service bytes indexed date store values stored duplicates search import split'
pages='entry data draft index indexes rules queues query watch server access'

level() {
    case " $ground " in *" $1 "*) echo 1; return ;; esac
    case " $parts " in *" $1 "*) echo 2; return ;; esac
    case " $pages " in *" $1 "*) echo 3; return ;; esac
    case $1 in app | docs) echo 4 ;; *) return 1 ;; esac
}

for file in "$folder"/*.js "$folder"/docs/*.js; do
    name=${file##*/}
    own=$(level "${name%.js}")
    [ -n "$own" ] || { echo "$file: has no level in tests/shape/console.sh"; continue; }
    grep -oE "(from|import\(?)[ ]*'[^']+'" "$file" | sed -E "s/.*'(.*)'/\1/" | while read -r import; do
        other=${import#./}
        at=$(level "${other%.js}")
        [ "./$other" = "$import" ] && [ -e "$folder/$other" ] && [ -n "$at" ] ||
            { echo "$file: imports $import, which is no module of the console"; continue; }
        [ "$at" -le "$own" ] || echo "$file: imports $other, which is above it"
    done
done | blamed 16 "imports of the console against their order" 0

for file in "$folder"/*.js; do
    grep -oE "^import .* from '\./[^']+'" "$file" | sed -E "s|.*'\./(.*)'|${file##*/} \1|"
done | tsort 2>&1 >/dev/null | sed 's/^tsort: //' | blamed 16 "circles of imports of the console" 0

grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|localStorage|setHTMLUnsafe|createContextualFragment|EventSource\(' \
    "$folder"/*.js "$folder"/docs/*.js | grep -vE '^[^:]*:[0-9]+: *//' | cut -d: -f1,2 |
    blamed 16 "words that the console may not use" 0

# json.js has the reader and the writer that keep numbers. Keys have no other numbers
# than doubles, so key.js may compare them as texts of JSON.stringify.
grep -nE 'JSON\.(parse|stringify|rawJSON)|\.json\(' "$folder"/*.js "$folder"/docs/*.js |
    grep -vE '^[^:]*/json\.js:|^[^:]*/key\.js:[0-9]+:.*JSON\.stringify' | cut -d: -f1,2 |
    blamed 16 "readers and writers of JSON that round numbers" 0

grep -nE "style=\"|[^:]//[a-z]|\b(https?|wss?)://" "$folder"/*.js "$folder"/*.html "$folder"/*.css "$folder"/docs/* |
    grep -vE "w3\.org/2000/svg|location\.origin" | cut -d: -f1,2 | blamed 16 "styles in markup and other addresses" 0

for file in "$folder"/*.{js,css,svg,html} "$folder"/docs/*; do
    grep -q "\"${file#"$folder/"}\"" "$folder/console_files.c" || echo "$file: is not in console_files.c"
done | blamed 16 "files that the program leaves out" 0

# Only then served.sed takes nothing but comments and indentation away.
awk '{ open = gsub(/`/, "`") % 2 } open || /\/\*/ && !/\*\// || /\\$/ { print FILENAME ":" FNR }' "$folder"/{,docs/}*.{js,css} |
    blamed 16 "literals and comments of the console over several lines" 0

bytes=$(sed -E -f "$folder/served.sed" "$folder"/*.{js,css,svg,html} | wc -c)
row 16 "bytes of the console" "$bytes" "$BYTES_MAX" "$(within "$bytes" "$BYTES_MAX")"
