#!/bin/bash
# The Python client: its types, and its tests against a server with Debian's Python.
# BUILD says where the program was built.
set -u
cd "$(dirname "$0")"
. ../lib.sh
client=$(realpath ../../../api/clients/python)
export PYTHONPATH=$client PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3

types() {
    MYPYPATH=$client mypy --strict --cache-dir "$work/mypy" "$@"
}
cat >"$work/wrong.py" <<'END'
import kindex

kindex.connect("http://127.0.0.1:4512").get(5)
END
works 'the types of the Python client are right' types "$client/kindex"
refused 'planted: a key that is a number has no right type' types "$work/wrong.py"

restart
works "the Python client works in $($python --version)" $python test_client.py
is 'the connections that were left open' "$(grep -c ResourceWarning "$work/said")" 0

restart
cp -r "$client/kindex" "$work/kindex"
sed -i 's/if request.writes:/if False:/' "$work/kindex/http.py"
PYTHONPATH=$work refused 'planted: without idempotency keys a test fails' \
    $python test_client.py
finish
