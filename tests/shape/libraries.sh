#!/bin/bash
# Points 8, 9 and 10: where transactions begin and end, which files know the
# libraries, and that the core does not know what it is used for.
. tests/shape/lib.sh

grep -nwiE 'https?|urls?|uris?|etag|curl|microhttpd' "${core[@]}" |
    blamed 8 "words of HTTP in src" 0

grep -lE '(->|\.)txn_begin\(' "${sources[@]}" | grep -vx src/bdb/txn.c |
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
storage=$(printf '%s ' src/bdb/*.[ch] src/storage/*.[ch])
knows db.h $storage | blamed 10 "know Berkeley DB beside bdb and storage" 0
knows postgresql/libpq-fe.h $(printf '%s ' src/postgres/*.[ch]) | blamed 10 "know libpq beside src/postgres" 0
knows microhttpd.h api/http1/http1.c | blamed 10 "know libmicrohttpd beside http1.c" 0
knows nghttp2/nghttp2.h $(printf '%s ' api/http2/*.[ch]) | blamed 10 "know nghttp2 beside api/http2" 0
knows sqlite3.h api/cli/bulk/cli_sqlite.c | blamed 10 "know SQLite beside cli_sqlite.c" 0
