#!/bin/bash
# make help: the targets of the Makefile, a line each.
cat <<'END'
make run              install what is missing, build, serve (LISTEN, DATA)
make test             install what is missing, build, run all tests
make cluster          a PostgreSQL with a standby, and three nodes (CLUSTER, PORTS)

make all              build build/kindex (also without a target)
make install          program, manual page, completion, unit (DESTDIR, PREFIX)
make deb              a Debian package in build/deb
make release          everything that a release has, in build/release
make deps-GROUP       install the packages of a group: build, test, try, bench ..
make clean            remove build
make help             print this help

While you work:
make quick            check the changes since main: format, shape, tests
make compile_commands.json  how each file is compiled, for editors

Parts of the test:
make format           format the sources
make format-check     find sources that are not formatted
make shape            check rooms, sizes and contracts of the sources
make shape-self-test  check that make shape finds broken rules
make quick-self-test  check that make quick finds a failing test, and runs no others
make http-self-test   check that a failing story or unit test is reported, and repeated once
make clang            compile everything with clang
make clang-rest       compile with clang what fuzz-short does not
make cppcheck         static analysis
make unit             unit tests
make http             stories over HTTP, with the command line and with curl
make http-broad       stories on memory, and on clients that hold what they get
make http-postgresql  some stories on the PostgreSQL engine; all that apply:
                      ENGINE=postgresql make http
make http-postgresql-14  the same and those of several nodes, on version 14
make http-postgresql-18  the same on version 18
make deno             stories of Deno's own client
make fault            kills, power cuts, failing disks, lack of memory
make fault-server     those of one server
make fault-nodes      those of several nodes in front of one database
make packaging        package, manual page, unit and manifests
make openapi-check    compare openapi.yaml with the service, and use it as a generator does
make clients          the client packages against the service
make console          the console in a real browser
make fuzz-short       some thousands of inputs for each parser
make instructions     count the instructions of a request

Not part of the test:
make screenshots      pictures of the console, in build/screenshots
make asan-TARGET      another target (all, unit, http ..) with sanitizers
make cover            the lines and branches that tests run, by room (gcov)
make prove            fault, with many more runs
make prove-nodes      fault-nodes, with many more runs
make fuzz             a million inputs for each parser
make fuzz-grow        add to the inputs that fuzzing starts with
make tidy             static analysis with clang-tidy, too
make tsan             unit tests and stories with the thread sanitizer
make valgrind         unit tests and stories with valgrind
make bench            benchmarks (tests/bench/README.md has the figures)
make bench-peers      benchmarks of other services as well
make bench-large      what grows with the data: 20 million entries
make fresh            both commands on a fresh Debian 12, and 13 (as root)
END
