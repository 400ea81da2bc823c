# Kindex. `make run` and `make test` do all their own set-up.
CC      ?= gcc
CFLAGS  ?= -O2 -g
BUILD   ?= build
WARN     = -Wall -Wextra -Wshadow -Wswitch-enum -Wstrict-prototypes \
           -Wmissing-prototypes -Werror
STD      = -std=gnu11 -D_GNU_SOURCE -pthread
CORE     = $(patsubst src/%.c,$(BUILD)/src/%.o,$(wildcard src/*.c))
DOORS    = $(patsubst api/%.c,$(BUILD)/api/%.o,$(wildcard api/*.c))
CORELIBS = -ldb-5.3 -ltalloc -lutf8proc -lgmp -ljansson -lm
DOORLIBS = -Wl,--wrap=recv -Wl,-Bstatic -lmicrohttpd -Wl,-Bdynamic -lgnutls \
           -lgmp
UNIT     = $(patsubst tests/unit/%_test.c,$(BUILD)/unit/%_test,$(wildcard tests/unit/*_test.c))

all: $(BUILD)/kindex

$(BUILD)/src/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) -MMD -c -o $@ $<

$(BUILD)/api/%.o: api/%.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) -Isrc -MMD -c -o $@ $<

$(BUILD)/libkindex.a: $(CORE)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/kindex: $(DOORS) $(BUILD)/libkindex.a
	$(CC) $(CFLAGS) -pthread -o $@ $^ $(DOORLIBS) $(CORELIBS)

$(BUILD)/unit/%_test: tests/unit/%_test.c $(BUILD)/libkindex.a
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) -Isrc -Iapi -MMD -o $@ $^ -lcmocka $(CORELIBS)

unit: $(UNIT)
	@for t in $(UNIT); do echo "== $$t"; $$t || exit 1; done

clean:
	rm -rf $(BUILD)

-include $(CORE:.o=.d) $(DOORS:.o=.d) $(UNIT:=.d)
.PHONY: all unit clean
