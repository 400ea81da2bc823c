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
    mypy --strict --cache-dir "$scratch/mypy" "$@"
}
cat >"$scratch/wrong.py" <<'END'
import kindex

kindex.connect("http://127.0.0.1:4512").get(5)
END
expect 'types' types "$client/kindex"
MYPYPATH=$client refuse 'planted: a key that is a number' types "$scratch/wrong.py"

serve
expect "$($python --version)" $python test_client.py
restart
cp -r "$client/kindex" "$scratch/kindex"
sed -i 's/if request.writes:/if False:/' "$scratch/kindex/http.py"
PYTHONPATH=$scratch refuse 'planted: without idempotency keys a test fails' \
    $python test_client.py
finish
