#!/bin/bash
# Points 8, 9 and 10: who may include what, where transactions begin, who
# knows the libraries. src/LAYERS has the layers, the lowest first; a file
# catalog_rows.c that it does not name belongs to catalog. The public headers,
# kindex.h and those of src/kindex, are one module, kindex.
. tests/shape/lib.sh

# Lines "file header" of the quoted includes.
includes() {
    grep -oE '^#include "[^"]+"' "$@" | sed -E 's/^([^:]*):#include "(.*)"/\1 \2/'
}

includes "${core[@]}" | awk '
    function module(path) {
        if (path ~ /(^|\/)kindex\//) return "kindex"
        sub(/.*\//, "", path); sub(/\.[ch]$/, "", path)
        while (!(path in layer) && sub(/_[^_]*$/, "", path)) { }
        return path
    }
    NR == FNR { for (i = 2; i <= NF; i++) layer[$i] = NR; next }
    {
        from = module($1); to = module($2)
        if (!(from in layer)) unknown[$1] = from
        else if (!(to in layer)) print $1 ": includes " $2 ", which is in no layer"
        else if (layer[to] > layer[from]) print $1 ": includes " $2 " of a higher layer"
    }
    END { for (f in unknown) print f ": is in no layer" }
    ' src/LAYERS - | sort | blamed 8 "includes against the layers of src" 0

for name in $(sed 's/^[^:]*://' src/LAYERS); do
    [ -e "src/$name.c" ] || [ -e "src/$name.h" ] || echo "src/LAYERS: there is no $name"
done | blamed 8 "layers without a file" 0

includes "${doors[@]}" | while read -r file header; do
    [[ $header == kindex.h || $header == kindex/* ]] ||
        [ -e "api/$header" ] || [ -e "api/${header/%.pb-c.h/.proto}" ] ||
        echo "$file: includes $header, which is neither public nor in api"
done | blamed 8 "includes of api past the public headers" 0

includes "${public[@]}" | awk '$2 !~ /^kindex\// {
    print $1 ": includes " $2 ", which is not public" }' |
    blamed 8 "includes of public headers past themselves" 0

grep -nwiE 'https?|urls?|uris?|etag|curl|microhttpd' "${core[@]}" |
    blamed 8 "words of the doors in src" 0

grep -lE '(->|\.)txn_begin\(' "${sources[@]}" | grep -vx src/txn.c |
    sed 's/$/: begins a transaction/' | blamed 9 "begin transactions beside txn.c" 0
grep -nE '\bDB_TXN\b.*(->|\.)(commit|abort)\(|\btxn->(commit|abort)\(' \
    "${sources[@]}" | grep -v '^src/txn\.c:' |
    blamed 9 "end transactions beside txn.c" 0

# knows HEADER FILE...: those that include the header but may not
knows() {
    local header=$1 file
    shift
    for file in $(grep -lE "^#include [<\"]$header[>\"]" "${sources[@]}"); do
        case " $* " in *" $file "*) ;; *) echo "$file: includes $header" ;; esac
    done
}
storage=$(awk '$1 == "storage:" { for (i = 2; i <= NF; i++) print "src/" $i ".c src/" $i ".h" }' src/LAYERS)
knows db.h $storage | blamed 10 "know Berkeley DB beside storage" 0
knows microhttpd.h api/http1.c | blamed 10 "know libmicrohttpd beside http1.c" 0
knows nghttp2/nghttp2.h api/http2.c | blamed 10 "know nghttp2 beside http2.c" 0
