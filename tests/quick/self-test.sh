#!/bin/bash
# tests/quick/run.sh must be able to fail: in a copy of the tree a unit test that
# fails is planted in one room, and only that room's tests may run. The copy takes
# the objects of $BUILD, so that make compiles only what is planted; the check of
# the shape and the stories only say that they were asked. Ends with "N passed, N failed".
set -u
unset MAKEFLAGS # BUILD here is not that of the copy
cd "$(dirname "$0")/../.."
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
room=src/schema
passed=0
failed=0

copy() {
    mkdir -p "$tree/build/api"
    git ls-files --cached --others --exclude-standard -z Makefile src api tests openapi.yaml deploy .clang-format |
        tar --create --null --files-from=- --ignore-failed-read 2>"$work/null" |
        tar --extract --directory="$tree"
    cp -a "$build/src" "$build/libkindex.a" "$build/kindex" "$tree/build/"
    cp -a "$build/api/." "$tree/build/api/"
    echo /build >"$work/ignored"
    printf '#!/bin/sh\necho "$@" >>%s/stories\necho "1 passed, 0 failed"\n' "$work" >"$tree/tests/http/run.sh"
    printf '#!/bin/sh\necho "$@" >>%s/units\nexec bash %s/units.sh "$@"\n' "$work" "$work" >"$tree/tests/unit/run.sh"
    cp tests/unit/run.sh "$work/units.sh"
    printf '#!/bin/sh\ncase " $* " in *" shape "*) echo "1 passed, 0 failed" ;; *) exec make "$@" ;; esac\n' >"$work/make"
    chmod +x "$work/make"
    cd "$tree" && git init -q -b main && git config core.excludesFile "$work/ignored" &&
        git add -A && git -c user.name=x -c user.email=x@x.example commit -qm before &&
        git switch -qc change
}

# quick: what it says is in $work/said.
quick() {
    rm -f "$work/units" "$work/stories"
    touch "$work/units" "$work/stories"
    BUILD=build MAKE=$work/make CFLAGS= tests/quick/run.sh >"$work/said" 2>&1
}

plant() {
    cat >"tests/unit/$room/planted_test.c" <<END
#include "unit.h"

TEST(planted)
{
    assert_int_equal($1, 1);
}
END
}

# ok SENTENCE COMMAND...
ok() {
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        cat "$work/said"
    fi
}

fails_in() {
    ! quick && grep -qE "^FAIL +$1 " "$work/said"
}
asked_for() { # FILE [WORD...]
    [ "$(xargs -n 1 <"$work/$1" | sort)" = "$(printf '%s\n' "${@:2}" | xargs -n 1 | sort)" ]
}

copy || { echo "0 passed, 1 failed"; exit 1; }
mapfile -t units < <(find "tests/unit/$room" -name '*_test.c' ! -name '*random*' | sed 's#^tests#build#; s#\.c$##')
mapfile -t stories < <(sed -nE "s#^$room: *##p" tests/http/ROOMS | tr ' ' '\n' | sed 's#.*#tests/http/&.sh#')

plant 2
ok 'a unit test that fails is seen' fails_in unit
plant 1
ok 'a unit test that passes is no failure' quick
ok 'the unit tests of a changed room run, and no others' asked_for units "${units[@]}" "build/unit/$room/planted_test"
ok 'the stories of a changed room run, and no others' asked_for stories "${stories[@]}"
printf 'int  planted;\n' >"tests/unit/$room/planted_test.c"
ok 'a format that is not ours is seen' fails_in format
rm "tests/unit/$room/planted_test.c"
echo >>openapi.yaml
ok 'a change in no room passes' quick
ok 'a change in no room runs no unit test' asked_for units
ok 'a change in no room runs no story' asked_for stories
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
