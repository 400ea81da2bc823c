# Kindex. `make run` and `make test` install what is missing (deploy/packages),
# build and go; every other target (`make help`) expects that and does one thing.
# Another build beside this one: make BUILD=build/x CFLAGS="..." HARDEN=

CC      = gcc
HOSTCC  = gcc
BUILD   = build
CFLAGS  = -O2 -g
HARDEN  = -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
DATA    = kindex-data
LISTEN  = localhost:4512
PREFIX  = /usr/local
JOBS    = $(shell nproc)

STD     = -std=gnu11 -D_GNU_SOURCE -pthread -fPIE
WARN    = -Wall -Wextra -Wshadow -Wswitch-enum -Wstrict-prototypes \
          -Wmissing-prototypes -Werror
LINK    = -pthread -pie -Wl,-z,relro,-z,now
ASAN    = BUILD=$(BUILD)/asan HARDEN= CFLAGS="-O1 -g1 -fno-omit-frame-pointer \
          -fsanitize=address,undefined -fno-sanitize-recover=all -fuse-ld=gold"

# libmicrohttpd comes in statically: api/http1/mhd_socket.c is between it and sockets.
CORELIBS = -ldb-5.3 -lpq -lzstd -lsodium -lnettle -ltalloc -lutf8proc -lgmp -ljansson -lm -l:libboost_context.a
MHDLIBS  = -Wl,-Bstatic -lmicrohttpd -Wl,-Bdynamic -lgnutls -lgmp
WRAP     = -Wl,--wrap=recv,--wrap=send,--wrap=sendmsg,--wrap=shutdown,--wrap=close
DOORLIBS = $(WRAP) $(MHDLIBS) -lnghttp2 -lprotobuf-c -lcurl -lsqlite3 -lz

SOURCES  = $(sort $(shell find src api tests deploy -name node_modules -prune -o -name '*.[ch]' -print))
CORE     = $(patsubst %.c,$(BUILD)/%.o,$(filter src/%.c,$(SOURCES)))
MESSAGES = $(BUILD)/api/kvconnect/datapath.pb-c
DOORS    = $(patsubst %.c,$(BUILD)/%.o,$(filter api/%.c,$(SOURCES))) $(MESSAGES).o
UNITAPI  = $(patsubst tests/%.c,$(BUILD)/%,$(filter tests/unit/api/%_test.c,$(SOURCES)))
UNIT     = $(patsubst tests/%.c,$(BUILD)/%,$(filter tests/unit/src/%_test.c,$(SOURCES)))
HELPERS  = $(patsubst %.c,$(BUILD)/%.o,$(filter-out %_test.c %/unit_main.c,$(filter tests/lib/%.c tests/unit/%.c,$(SOURCES))))
EMBEDS   = $(patsubst %.c,$(BUILD)/%.o,$(shell grep -rl '\.incbin' --include='*.c' api))
INCLUDE  = -Isrc $(if $(filter src/%,$<),,-Iapi) -I$(BUILD)/api
export BUILD CC STD CFLAGS LINK DOORLIBS CORELIBS
all: $(BUILD)/kindex

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) $(HARDEN) $(INCLUDE) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%.o: INCLUDE += -Itests/lib
# Handlers have small stacks (api/exchange/fiber.h); with sanitizers, without HARDEN, frames are larger.
$(addsuffix /%.o,$(addprefix $(BUILD)/api/,access admin commits console counts entries exchange feeds forward http identity indexes kvconnect queues rest)): WARN += $(if $(HARDEN),-Wframe-larger-than=16384)
$(EMBEDS): INCLUDE += -Wa,-I$(BUILD)
$(EMBEDS): openapi.yaml $(BUILD)/openapi.json $(patsubst api/console/%,$(BUILD)/served/%,$(filter %.js %.css %.svg %.html,$(wildcard api/console/* api/console/docs/*)))
$(BUILD)/served/%: api/console/% api/console/served.sed ; @mkdir -p $(@D) && sed -E -f api/console/served.sed $< >$@
$(DOORS) $(UNITAPI:$(BUILD)/%=$(BUILD)/tests/%.o): | $(MESSAGES).h
$(BUILD)/openapi.json: openapi.yaml deploy/yaml_to_json.c
	@mkdir -p $(@D)
	$(HOSTCC) $(STD) $(WARN) -O2 -o $(@D)/yaml_to_json deploy/yaml_to_json.c -lyaml
	$(@D)/yaml_to_json $< >$@.new
	@mv $@.new $@
$(MESSAGES).o: %.o: %.c ; $(CC) $(STD) $(CFLAGS) $(HARDEN) -c -o $@ $<
$(MESSAGES).c $(MESSAGES).h &: api/kvconnect/datapath.proto
	@mkdir -p $(@D) && protoc-c --c_out=$(@D) --proto_path=$(<D) $<

$(BUILD)/libkindex.a: $(CORE)
$(BUILD)/tests/libtest.a: $(HELPERS)
$(BUILD)/libkindex.a $(BUILD)/tests/libtest.a:
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/kindex: $(DOORS) $(BUILD)/libkindex.a
	$(CC) $(CFLAGS) $(LINK) -o $@ $^ $(DOORLIBS) $(CORELIBS)

# __wrap_X in a test is called where the core calls X (ld, --wrap).
$(UNITAPI): API = $(DOORLIBS)
$(UNITAPI): $(filter-out $(BUILD)/api/main.o,$(DOORS))
$(UNIT) $(UNITAPI): $(BUILD)/%: $(BUILD)/tests/%.o $(BUILD)/tests/lib/unit_main.o $(BUILD)/tests/libtest.a $(BUILD)/libkindex.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LINK) $$(grep -oh '__wrap_[a-z0-9_]*' tests/$*.c | sed 's/__wrap_/-Wl,--wrap=/') \
	    -o $@ -Wl,--start-group $^ -Wl,--end-group -lcmocka $(API) $(CORELIBS)

$(BUILD)/bench/%: $(BUILD)/tests/bench/%.o
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LINK) -o $@ $^ $(MHDLIBS)

install deb: $(BUILD)/kindex ; @DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) deploy/$@.sh
deps-%: ; @deploy/packages.sh $* $(if $(filter test,$*),&& tests/lib/javascript.sh)
help release cluster: ; @MAKE="$(MAKE)" JOBS=$(JOBS) deploy/$@.sh

# ---- The two commands ----------------------------------------------------

run:
	@deploy/packages.sh build try
	@echo "building $(BUILD)/kindex"
	@$(MAKE) -s --no-print-directory -j$(JOBS) all
	@exec $(BUILD)/kindex serve --data $(DATA) --listen $(LISTEN)

test:
	@deploy/packages.sh build test && tests/lib/javascript.sh
	@MAKE="$(MAKE)" BUILD=$(BUILD) JOBS=$(JOBS) tests/run.sh

# ---- Parts of the test (tests/run.sh has their order) --------------------

format format-check:         ; @tests/shape/format.sh $(if $(filter format,$@),--write) $(SOURCES)
clang-rest: REST = api/main.c $(filter-out src/%.c api/%.c tests/fuzz/%.c,$(SOURCES))
clang clang-rest: $(MESSAGES).h # the rest: what fuzz-short does not compile, with WARN as well
	@tests/shape/clang.sh "$(STD) $(WARN) $(INCLUDE) -Itests/lib" $(or $(REST),$(SOURCES))
shape shape-self-test quick-self-test http-self-test: $(BUILD)/kindex ; @tests/$(@:-self-test=)/$(if $(filter shape,$@),run,self-test).sh
unit:            $(UNIT) $(UNITAPI) ; @tests/unit/run.sh $^
http deno fault packaging clients console: $(BUILD)/kindex ; @tests/$@/run.sh
http-broad http-postgresql http-postgresql-14 http-postgresql-18: $(BUILD)/kindex ; @tests/http/run.sh $@
fault-server fault-nodes prove-nodes: $(BUILD)/kindex ; @tests/fault/run.sh $@
prove:           unit http $(BUILD)/kindex ; @tests/fault/run.sh prove
openapi-check:   $(BUILD)/kindex ; @tests/openapi/run.sh
fuzz fuzz-short fuzz-grow:   ; @tests/fuzz/run.sh $(@:fuzz-%=%)
cppcheck tidy tsan valgrind: ; @tests/analysis/run.sh $@
instructions:    $(BUILD)/kindex $(BUILD)/bench/client ; @tests/bench/instructions.sh
asan-%:          ; @$(MAKE) --no-print-directory $(ASAN) $*

# ---- Not part of the test ------------------------------------------------

bench bench-peers:
	@deploy/packages.sh build bench $@
	@$(MAKE) -s --no-print-directory -j$(JOBS) all $(BUILD)/bench/hello
	@tests/bench/setup.sh $(BUILD)
	@node tests/bench/$@.js$(if $(filter bench,$@), && tests/bench/queues.sh)
bench-large screenshots: all ; @tests/$(if $(filter screenshots,$@),console/screenshots,bench/large).sh
fresh quick cover: ; @tests/$@/run.sh
compile_commands.json: ; @deploy/compile_commands.sh "$(CC) $(STD) $(WARN) $(CFLAGS) $(INCLUDE) -Itests/lib" $(filter %.c,$(SOURCES)) >$@
clean: ; rm -rf $(BUILD)

-include $(patsubst %.c,$(BUILD)/%.d,$(filter %.c,$(SOURCES)))
.PRECIOUS: $(BUILD)/%.o
.PHONY: all help release cluster install deb clean run test format format-check clang clang-rest shape shape-self-test unit http deno fault \
        packaging clients console http-broad http-postgresql http-postgresql-14 http-postgresql-18 fault-server fault-nodes prove prove-nodes openapi-check fuzz fuzz-short fuzz-grow cppcheck tidy tsan valgrind instructions bench bench-peers bench-large fresh screenshots cover quick quick-self-test http-self-test compile_commands.json
