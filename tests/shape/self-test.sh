#!/bin/bash
# The checks of this folder must be able to fail: each rule is broken once in
# a copy of the tree, and the check has to say so, by the row that measures it
# and by the name of what was planted. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/../.."
root=$PWD
archive=$root/${BUILD:-build}/libkindex.a
case ${BUILD:-} in /*) archive=$BUILD/libkindex.a ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# What is copied once and what is worked in; all of the copy is dated long ago.
clean=$work/clean
tree=$work/tree
mkdir -p "$clean/tests" "$clean/build"
cp -r Makefile README.md src api deploy openapi.yaml "$clean/"
cp -r tests/shape tests/http "$clean/tests/"
cp --parents tests/{fault,fuzz}/FLAWS "$clean/"
find "$clean" -exec touch -d 2000-01-01 {} +
cp -a "$clean" "$tree"

# Takes back what was done in the tree: what is younger goes, and comes again.
restore() {
    find "$tree" -depth -newermt 2001-01-01 \( -type f -o -empty \) -delete
    cp -a --update "$clean/." "$tree"
}

# planted CHECK ROW BLAME: standard input is a script that breaks a rule in
# the tree. BLAME may be empty when the row alone tells.
planted() {
    local check=$1 what=$2 blame=$3 said
    said=$(cd "$tree" && export ARCHIVE=$archive OBJECTS=${archive%/*} BUILD=build &&
           bash -e && bash "tests/shape/$check.sh" 2>&1)
    if grep -qE "^row\|[0-9]+\|$what[^|]*\|.*\|FAIL$" <<<"$said" &&
            grep -qE "$blame" <<<"$said"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$check.sh: does not see a break of \"$what\""
    fi
    restore
}

# spared CHECK ROW: standard input is a script that breaks no rule.
spared() {
    local said
    said=$(cd "$tree" && bash -e && bash "tests/shape/$1.sh" 2>&1)
    if grep -qE "^row\|[0-9]+\|$2[^|]*\|.*\|ok$" <<<"$said"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1.sh: sees a break of \"$2\" where there is none"
    fi
    restore
}

# A C file of $1 lines in one function, and other things to plant.
cat >"$work/env" <<'END'
body() {
    printf '/* Planted. */\nint planted(void)\n{\n'
    for ((i = 0; i < $1; i++)); do echo "    ${2:-;}"; done
    printf '}\n'
}
END
export BASH_ENV=$work/env

planted layout "folders at the top" "" <<<'mkdir planted'
planted layout "strangers" planted.txt <<<'touch planted.txt'
planted layout "folders at the top" "" <<<'git init -q; mkdir planted; touch planted/file; git add .'
planted layout "strangers" planted.txt <<<'git init -q; touch planted.txt; git add .'
spared layout "folders at the top" <<<'git init -q; git add .; mkdir planted; touch planted/file'
spared layout "strangers" <<<'git init -q; git add .; touch planted.txt'
planted layout "lines of the Makefile" "" <<<'yes "" | head -131 >>Makefile'
planted layout "targets without help" shape-self-test <<<"sed -i '/^make shape-self-test/d' deploy/help.sh"
planted sizes "files of more than 900 lines" planted.c <<<'body 900 >src/planted.c'
spared sizes "files of more than 900 lines" \
    <<<'{ echo "/* One file because it is planted. */"; body 900; } >src/planted.c'
planted seams "functions that one file of their room calls" "only src/base/caller.c calls planted1" <<'END'
for n in {1..800}; do
    echo "int planted$n(void) { return 0; }" >>src/base/planted.c
    echo "int caller$n(void) { return planted$n(); }" >>src/base/caller.c
done
END
planted seams "functions that only their room calls" "" <<'END'
for n in {1..2000}; do
    echo "int planted$n(void) { return 0; }" >>src/base/planted.c
    for caller in caller other; do echo "static int $caller$n(void) { return planted$n(); }" >>src/base/$caller.c; done
done
END
planted sizes "lines of functions" "planted has 61 lines" \
    <<<'body 58 >src/planted.c'
planted sizes "lines of functions" "" \
    <<<'for n in {1..3000}; do body 20; done >src/planted.c'
planted sizes "functions with more than 5" planted \
    <<<'echo "int planted(int a, int b, int c, int d, int (*e)(int, int), int f) {}" >api/planted.c'
planted sizes "nesting" planted \
    <<<'printf "int f(void)\n{\n                if (1)\n}\n" >api/planted.c'
planted complexity "complexity" "planted has complexity 13" \
    <<<'body 12 "if (1);" >src/planted.c'
planted complexity "complexity" "" \
    <<<'for n in {1..2000}; do body 8 "if (1);"; done >src/planted.c'
planted contracts "public prototypes" planted \
    <<<'printf "\nint planted(void);\n" >>src/kindex/key.h'
planted contracts "inner prototypes" planted \
    <<<'for n in {1..200}; do echo "int planted$n(void);"; done >src/planted.h'
planted contracts "lines with comments" "" <<<'body 99999 >src/planted.c'
planted contracts "lines with comments" "" \
    <<<'yes "/* planted */" | head -99999 >src/planted.c'
planted contracts "files without a first comment" planted \
    <<<'echo "int planted;" >src/planted.c'
planted contracts "notes of unfinished work" planted \
    <<<'echo "/* TO""DO */" >src/planted.c'
planted fan-in "most included" planted.h \
    <<<'for f in $(find src api -name "*.[ch]"); do echo "#include \"planted.h\"" >>$f; done'
planted rooms "uses against the order" "src/base/planted.c: uses src/storage/env.h" \
    <<<'echo "#include \"storage/env.h\"" >src/base/planted.c'
planted rooms "uses against the order" "src/base/planted.c: uses src/storage/env.c" <<<'
echo "int env_open(void); int planted(void) { return env_open(); }" >src/base/planted.c
mkdir -p build/src/base && gcc -w -c -o build/src/base/planted.o src/base/planted.c'
planted rooms "uses against the order" "src/planted/planted.c: is in no room" <<<'
mkdir src/planted; echo "#include \"base/file.h\"" >src/planted/planted.c'
planted rooms "uses against the order" "src/planted uses planted" \
    <<<'echo "planted: planted2" >>src/ROOMS'
planted rooms "uses against the order" "no longer so" \
    <<<'echo "src/base/planted.c: uses src/storage/env.h" >>tests/shape/upward.txt'
planted rooms "includes of api past" planted \
    <<<'echo "#include \"storage/env.h\"" >api/http/planted.c'
planted rooms "includes of public headers" "kindex/key.h" \
    <<<'sed -i "s/^#include .kindex.bytes.h./#include \"bytes.h\"/" src/kindex/key.h'
planted rooms "rooms of less than" "src/planted: has 0 files" <<<'echo "planted:" >>src/ROOMS'
planted rooms "rooms whose stories" "no planted.sh for src/base" \
    <<<'sed -i "s|^src/base:|& planted|" tests/http/ROOMS'
planted rooms "circles of files" "planted1.h" <<<'
echo "#include \"base/planted2.h\"" >src/base/planted1.h
echo "#include \"base/planted1.h\"" >src/base/planted2.h'
planted libraries "words of HTTP" planted \
    <<<'echo "/* speaks HTTP */" >src/planted.c'
planted libraries "begin transactions" planted \
    <<<'echo "int f = env->txn_begin(env);" >src/planted.c'
planted libraries "end transactions" planted \
    <<<'echo "int f = txn->commit(txn, 0);" >src/planted.c'
planted libraries "know Berkeley DB" planted \
    <<<'echo "#include <db.h>" >src/planted.c'
planted libraries "know libmicrohttpd" planted \
    <<<'echo "#include <microhttpd.h>" >api/planted.c'
planted libraries "know nghttp2" planted \
    <<<'echo "#include <nghttp2/nghttp2.h>" >api/planted.c'
planted symbols "names of the core" stranger <<<'
echo "int stranger;" | gcc -c -o planted.o -x c -
cp "$ARCHIVE" build/ && ar r build/libkindex.a planted.o'
planted symbols "missing when the core" MHD_planted <<<'
echo "int MHD_planted(void); int planted(void) { return MHD_planted(); }" |
    gcc -c -o planted.o -x c -
cp "$ARCHIVE" build/ && ar r build/libkindex.a planted.o'
planted errors "statuses without a line" KX_PLANTED \
    <<<'sed -i "s/^    X(KX_OK,.*/&\n    X(KX_PLANTED, \"\")/" src/kindex/status.h'
planted errors "hints of the command line for no code" planted \
    <<<'sed -i "s/{.token-not-found./{\"planted\"/" api/cli/cli_http.c'
planted macros "function-like macros" PLANTED \
    <<<'echo "#define PLANTED(x) x" >src/planted.c'
planted words "words that make" src/planted.c \
    <<<'echo "/* le""st it fail */" >src/planted.c'
planted words "words that make" "nobody: .* lines" \
    <<<'for n in {1..300}; do echo "no""body"; done >>openapi.yaml'
planted readmes "rooms without a README" "src/base/README.md: does not exist" \
    <<<'rm -f src/base/README.md'
planted readmes "rooms without a README" "api/http/README.md: has" <<<'yes "" | head -70 >>api/http/README.md'
planted readmes "lines of README.md" "" <<<'yes "" | head -251 >>README.md'
planted readmes "tags of structs" "planted1 is also at" <<<'
for n in {1..50}; do echo "struct planted$n { int n; };" | tee -a src/base/planted.c >>src/json/planted.c; done'
planted flaws "flaws that plant" "src/storage/env.c: the flaw noflush" \
    <<<'sed -i "s/log_flush(env->db/log_flush( env->db/" src/storage/env.c'
planted flaws "flaws that plant" "src/entry/key.c: the flaw key" <<<'echo >src/entry/key.c'
planted threats "threats whose test" "no test: .*71-jwt.: a stream" \
    <<<'sed -i "s/a stream ends with its token/a stream may end/" tests/http/71-jwt.sh'

# The two checks that run as parts of their own.
echo 'int  planted;' >"$work/planted.c"
echo 'struct unknown planted;' >"$work/planted.h"
planted console "imports of the console against" 'dom.js: imports app.js' <<<"echo \"import './app.js';\" >>api/console/dom.js"
planted console "imports of the console against" 'new.js: has no level' <<<'touch api/console/new.js'
planted console "circles of imports" pages.js <<'END'
echo "import { Pages } from './pages.js';" >>api/console/rows.js
echo "import { Rows } from './rows.js';" >>api/console/pages.js
END
planted console "words that the console" dom.js <<<"echo \"node.innerHTML = '';\" >>api/console/dom.js"
planted console "styles in markup" index.html <<<"echo '<p style=\"color: red\">' >>api/console/index.html"
planted console "styles in markup" dom.js <<<"echo \"fetch('https://example.com');\" >>api/console/dom.js"
planted console "files that the program" new.css <<<'touch api/console/new.css'
planted console "readers and writers of JSON" watch.js <<<"echo 'JSON.parse(data);' >>api/console/watch.js"
planted console "readers and writers of JSON" query.js <<<"echo 'post(JSON.stringify(question));' >>api/console/query.js"
planted console "readers and writers of JSON" key.js <<<"echo 'JSON.parse(text);' >>api/console/key.js"
planted console "readers and writers of JSON" server.js <<<"echo 'await response.json();' >>api/console/server.js"
planted console "literals and comments of the console" dom.js:10 <<<"sed -i '10s|.*|const text = \`|; 11s|.*|// text\`;|' api/console/dom.js"
planted console "literals and comments of the console" console.css:3 <<<"sed -i '3s|.*|/* a comment|; 4s|.*|of two lines */|' api/console/console.css"
planted console "bytes of the console" "" <<<'yes "" | head -225280 | tr "\n" "x" >>api/console/dom.js'

for check in "format.sh $work/planted.c" "clang.sh -Wall $work/planted.h"; do
    # shellcheck disable=SC2086 # a command and its arguments
    if tests/shape/$check 2>&1 | grep -q '^0 passed, 1 failed$'; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "${check%% *}: does not see what was planted"
    fi
done

# The drivers must not take silence or a crash for success. wrong COMMAND:
# it has to end with a failure, and to count one.
wrong() {
    local said
    if ! said=$("$@" 2>&1) && tail -1 <<<"$said" | grep -q '[1-9][0-9]* failed$'; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$*: takes a failure for success"
    fi
}
plant() {
    printf '#!/bin/bash\n%s\n' "$2" >"$work/$1"
    chmod +x "$work/$1"
}
export MAKE=$work/make BUILD=$work
for part in 'exit 0' 'echo 0 passed, 0 failed' 'echo 2 passed, 1 failed' \
        'echo 2 passed, 0 failed; exit 1'; do
    plant make "case \$* in *all*) ;; *) $part ;; esac"
    wrong tests/run.sh planted
done
plant program '' && wrong tests/unit/run.sh "$work/program"
plant program 'echo "[  PASSED  ] 2 test(s)."; kill -SEGV $$' &&
    wrong tests/unit/run.sh "$work/program"
plant program 'echo "[  PASSED  ] 2 test(s)."; echo "[  FAILED  ] 1 test(s)"' &&
    wrong tests/unit/run.sh "$work/program"
plant program '' && wrong tests/http/run.sh "$work/program"
plant program 'echo 3 passed, 0 failed; exit 1' &&
    wrong tests/http/run.sh "$work/program"

# On a machine where nothing is installed, apt is asked for the packages of all
# uses named; where everything is, for nothing.
plant dpkg-query '[ ! -e "$0.all" ] || awk "/^[a-z]/ { sub(\"/.*\", \"\", \$2); print \$2, \"installed\" }" deploy/packages'
plant sudo '"$@"'
plant apt-get 'echo "$@" >>"$0.log"'
PATH=$work:$PATH deploy/packages.sh build try >"$work/said"
touch "$work/dpkg-query.all"
PATH=$work:$PATH deploy/packages.sh build try test >>"$work/said"
if [ "$(grep -c '^install .* gcc .* curl$' "$work/apt-get.log")" = 1 ] &&
        [ "$(wc -l <"$work/apt-get.log")" = 2 ] &&
        grep -q '^  gcc  *the compiler$' "$work/said"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "deploy/packages.sh: does not ask apt for what is missing"
    cat "$work/apt-get.log"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
