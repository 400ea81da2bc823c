#!/bin/bash
# Lints openapi.yaml with Redocly and Spectral; needs no network.
#   lint.sh
#   lint.sh --self-test DOCUMENT.json    plants faults in it: each linter must name
#                                        the rule that each fault breaks
set -u
cd "$(dirname "$0")"
passed=0
failed=0

redocly() {
    node redocly.js "$1"
}

spectral() {
    node_modules/.bin/spectral lint --ruleset .spectral.json \
        --fail-severity hint "$1"
}

# Counts one result; shows what the command said when it is not as expected.
expect() {
    local name=$1 wanted=$2 output status=0
    shift 2
    output=$("$@" 2>&1) || status=1
    if [ "$status" -eq "$wanted" ]; then
        passed=$((passed + 1))
        echo "ok     $name"
    else
        failed=$((failed + 1))
        echo "FAILED $name"
        echo "$output"
    fi
}

# Each line plants one fault: linter, the rule that must name it, statement.
faults='
redocly  no-unresolved-refs        doc.paths["/count"].get.parameters[0].$ref += "x";
redocly  no-invalid-schema-examples  doc.components.schemas.Count.examples = [{ count: "1" }];
redocly  no-invalid-media-type-examples  at("/count").examples.users.value.count = "1";
redocly  no-unused-components      doc.components.schemas.Unused = { type: "string" };
spectral error-has-content         doc.paths["/list"].get.responses["404"] = { description: "No." };
spectral error-is-problem          const { content } = doc.components.responses.TooLarge; content["text/plain"] = content["application/problem+json"];
spectral content-has-examples      delete at("/count").examples;
spectral operation-has-default     delete doc.paths["/get"].post.responses.default;
spectral operation-has-sample      doc.paths["/get"].post["x-codeSamples"] = [];
'

# Writes the document with the faults for one linter.
plant() {
    node -e "const doc = JSON.parse(require('fs').readFileSync(
        '$document', 'utf8'));
        const at = (path) => doc.paths[path].get.responses['200'].content[
            'application/json'];
        $(sed -n "s/^$1 *[a-z0-9-]* *//p" <<<"$faults")
        process.stdout.write(JSON.stringify(doc))" >"$planted"
}

self_test() {
    local linter output rule
    document=$1
    planted=$(mktemp --suffix .yaml)
    trap 'rm -f "$planted"' EXIT
    for linter in redocly spectral; do
        plant "$linter"
        output=$("$linter" "$planted" 2>&1)
        for rule in $(sed -n "s/^$linter *\([a-z0-9-]*\).*/\1/p" \
            <<<"$faults"); do
            expect "$linter finds $rule" 0 grep -q "$rule" <<<"$output"
        done
    done
}

if [ "${1:-}" = --self-test ]; then
    self_test "$2"
else
    expect redocly 0 redocly ../../openapi.yaml
    expect spectral 0 spectral ../../openapi.yaml
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
