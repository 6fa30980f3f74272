# Longhand's build, from the repository's root; ./longhand calls the targets below.
# RUN=<id>      the showcase run that trainer, run, eval and gen mean; check takes any spec of spec/runs
# LEVELS=...    instruction-set levels to compile: all (default), best (LONGHAND_ISA, or the widest this machine runs),
#               or a list
# VARIANT=...   release (default), asan (address and undefined-behaviour sanitizers, warnings are errors), tsan (thread
#               sanitizer, with POSIX threads, since it does not understand OpenMP), plain (less optimisation and no
#               sanitizers: compiles fastest)
# STEP_O=-O1    optimises generated steps less than the -O3 of a release: a third less time to compile, other bits
# STATIC=1      trainers that need no shared library, not even libc
# TARGETS=...   cpu (default) or cpu,cuda: see cuda.mk
# CC=...        gcc or clang
# LONGHAND_BUILD=DIR  the folder of the built runtime and trainers; default build

CC ?= cc
ifeq ($(origin CC),default)
CC := cc
endif
VARIANT ?= release
LEVELS ?= all
BUILD := $(or $(LONGHAND_BUILD),build)
comma := ,
GENERATED := $(sort $(patsubst generated/%/spec.c,%,$(wildcard generated/*/spec.c)))

WARNINGS := -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
	-Wwrite-strings -Wunused-macros -Wno-unknown-pragmas
BUNDLED := $(wildcard third_party/jansson)
INCLUDES := -Iinclude -Iruntime -I. $(BUNDLED:%=-isystem %)

MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
COMPILER := $(shell $(CC) --version 2>/dev/null | head -1)
IS_CLANG := $(findstring clang,$(COMPILER))

# Frames stay on the stack. The sanitizers of gcc 13 and clang 15 and later otherwise move them to a heap of their own
# to find uses after return. Vectors of 64 bytes are not aligned there, and programs at x86-64-v4 end with SIGSEGV. A
# flag of the compiler works however a program is started; detect_stack_use_after_return=0 in ASAN_OPTIONS does not.
REAL_STACK := $(if $(IS_CLANG),-fsanitize-address-use-after-return=never,--param asan-use-after-return=0)

CHECKS.release :=
CHECKS.asan := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Werror \
	$(REAL_STACK)
CHECKS.plain :=
CHECKS.tsan := -fsanitize=thread -fno-omit-frame-pointer -Werror
CHECKS := $(CHECKS.$(VARIANT))
SANITIZED := $(filter asan tsan,$(VARIANT))
RELEASED := $(filter release,$(VARIANT))

B := $(BUILD)/$(VARIANT)
LIBRARY := $(if $(filter release,$(VARIANT)),$(BUILD)/lib/liblonghand.a,$(B)/lib/liblonghand.a)

# Probes of this compiler and machine run where a result is first needed, and only once:
# NAME = $(call compute_once,NAME,...).
compute_once = $(eval $(1) := $(2))$(2)
accepts = $(shell $(CC) -Werror $(1) -x c -fsyntax-only /dev/null 2>/dev/null && echo yes)
UNUSED_CONSTANTS = $(call compute_once,UNUSED_CONSTANTS,$(if $(call \
	accepts,-Wunused-const-variable=2),-Wunused-const-variable=2))

# Profilers, backtraces and sanitizers need functions and lines (-g1); with variables (-g) compiling takes a quarter
# more time.
RUNTIME_CFLAGS := -std=gnu11 $(if $(RELEASED),-O2,-Og) -g1 -ffp-contract=off -fno-math-errno \
	$(if $(filter tsan,$(VARIANT)),,-fopenmp) $(WARNINGS) $(INCLUDES)
# Generated functions that the runtime calls have the parameters of their type, used or not; the generator gives other
# functions only the parameters that they use.
GENERATED_CFLAGS := -Wno-unused-parameter
STEP_O ?= $(if $(RELEASED),-O3,-O1)
STEP_CFLAGS = -std=gnu11 $(STEP_O) -g1 -ffp-contract=fast -fno-math-errno \
	-fno-trapping-math -Wno-psabi $(WARNINGS) $(UNUSED_CONSTANTS) $(GENERATED_CFLAGS) $(INCLUDES)
SPEC_CFLAGS = -std=gnu11 -O1 -g1 $(WARNINGS) $(UNUSED_CONSTANTS) $(GENERATED_CFLAGS) $(INCLUDES)

# Instruction-set levels of this machine's architecture, lowest first, and the flags in /proc/cpuinfo that each needs.
ifneq ($(filter x86_64%,$(MACHINE)),)
ALL_LEVELS := x86-64 x86-64-v3 x86-64-v4
march.x86-64 := -march=x86-64
march.x86-64-v3 := -march=x86-64-v3
march.x86-64-v4 := -march=x86-64-v4 -mprefer-vector-width=512
features.x86-64-v3 := avx2 bmi1 bmi2 f16c fma movbe
features.x86-64-v4 := $(features.x86-64-v3) avx512f avx512bw avx512cd avx512dq avx512vl
else
ALL_LEVELS := $(patsubst arm64,aarch64,$(firstword $(subst -, ,$(MACHINE))))
endif
FEATURES = $(call compute_once,FEATURES,$(shell sed -n '/^flags/{p;q;}' /proc/cpuinfo 2>/dev/null))
keep_runnable = $(if $(filter-out $(FEATURES),$(features.$(1))),,$(1))
keep_compilable = $(if $(call accepts,$(march.$(1))),$(1))
filter_levels = $(foreach level,$(2),$(call $(1),$(level)))
COMPILER_LEVELS = $(call compute_once,COMPILER_LEVELS,$(call filter_levels,keep_compilable,$(ALL_LEVELS)))

# The last one in a list of levels that the compiler supports. It tries the last level first, then the one before it.
find_widest = $(if $(1),$(or $(call keep_compilable,$(lastword $(1))),$(call \
	find_widest,$(filter-out $(lastword $(1)),$(1)))))
ifeq ($(LEVELS)$(LONGHAND_ISA),best)
LINKED_LEVELS := $(call find_widest,$(call filter_levels,keep_runnable,$(ALL_LEVELS)))
else ifeq ($(LEVELS),all)
LINKED_LEVELS = $(COMPILER_LEVELS)
else
requested_levels := $(if $(filter best,$(LEVELS)),$(LONGHAND_ISA),$(subst $(comma), ,$(LEVELS)))
LINKED_LEVELS := $(call filter_levels,keep_compilable,$(filter $(requested_levels),$(ALL_LEVELS)))
unknown_levels := $(filter-out $(LINKED_LEVELS),$(requested_levels))
endif
levels_problem = $(if $(unknown_levels),$(CC) cannot compile for: $(unknown_levels) (it can: $(COMPILER_LEVELS)),$(if \
	$(LINKED_LEVELS),,$(CC) can compile for none of: $(LEVELS)))
check_levels = $(if $(levels_problem),echo "$(levels_problem)" >&2; exit 1,:)
to_upper = $(shell echo $(1) | tr 'a-z-' 'A-Z_')
define_levels = $(foreach level,$(1),-DLH_HAVE_$(call to_upper,$(level)))

# Libraries are static archives where they exist, so that a trainer needs nothing but libc on another machine. An
# archive that a release includes comes first (make dist).
BUNDLED_JANSSON := $(if $(BUNDLED),$(dir $(LIBRARY))libjansson.a)
find_archive = $(or $(filter %/$(1),$(BUNDLED_JANSSON)),$(filter /%,$(shell $(CC) -print-file-name=$(1) 2>/dev/null)))
JANSSON = $(call compute_once,JANSSON,$(or $(call find_archive,libjansson.a),-ljansson))
OPENMP = $(call compute_once,OPENMP,$(if $(IS_CLANG),-fopenmp,$(or $(call find_archive,libgomp.a),-fopenmp)))
LIBRARIES = $(JANSSON) $(if $(filter tsan,$(VARIANT)),,$(OPENMP)) -pthread -ldl -lm

# With STATIC=1 a trainer is linked from archives alone, also libc; its objects are the same. GNU's OpenMP refers to
# dlopen, see runtime/static.c. package_of.NAME: the package that has an archive, for messages. STATIC_PROBLEM: the
# reason why static linking is impossible here, or empty.
LINKING := $(if $(STATIC),static,dynamic)
STATIC_OBJECTS := $(if $(STATIC),$(BUILD)/$(VARIANT)/runtime/static.o)
LINK_FLAGS := $(if $(STATIC),-static -Wl$(comma)--wrap=dlopen)
package_of.libc.a := in libc6-dev on Debian, in glibc-static on Fedora
package_of.libjansson.a := in libjansson-dev on Debian, in jansson-static on Alpine
package_of.libgomp.a := OpenMP of gcc
package_of.libomp.a := OpenMP of clang, rarely packaged; try CC=gcc
static_archives := libc.a libjansson.a $(if $(IS_CLANG),libomp.a,libgomp.a)
missing_archives = $(foreach name,$(static_archives),$(if $(call \
	find_archive,$(name)),,$(name) ($(package_of.$(name)))))
STATIC_PROBLEM = $(if $(CHECKS),sanitizers cannot be linked statically$(comma) leave out VARIANT=$(VARIANT),$(if \
	$(strip $(missing_archives)),static linking needs archives that $(CC) does not find: $(strip $(missing_archives))))

# Archives whose code a trainer contains in addition to our own.
ARCHIVES = $(foreach name,$(if $(STATIC),$(static_archives),$(notdir $(filter %.a,$(JANSSON) $(OPENMP)))) libgcc.a,$(call \
	find_archive,$(name)))

RUNTIME_SOURCES := $(filter-out runtime/tools/%,$(sort $(wildcard runtime/*/*.c runtime/*/*/*.c)))
RUNTIME_OBJECTS := $(RUNTIME_SOURCES:%.c=$(B)/%.o)
QUERIES := print-levels print-levels-or-problem print-compiler print-static-problem print-archives

.PHONY: all gen check test test-quick test-long test-gpu golden-update stale fmt fmt-check lint words where fields run eval \
	clean help trainer library install uninstall dist unit emulation cuda-check cuda-all cuda-record fuzz fuzz-long \
	bench-check bench-record bench-programs bench-peers probe print-random-specs print-unit-tests \
	print-emulation-tests print-emulated-specs $(QUERIES)
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

all: library $(GENERATED:%=$(BUILD)/trainers/%/trainer) ## build the runtime library and a trainer for every showcase run

library: $(LIBRARY) ## build the runtime as a static archive

# An output file gets its name once it is complete, since another build in this folder, perhaps on another machine, may
# be reading it. Arguments of compile: flags. Arguments of write_output: a command up to its output's name, and the rest
# of it.
TEMPORARY := $(shell uname -n)-$$$$
write_output = $(1) $@.$(TEMPORARY) $(2) && mv -f $@.$(TEMPORARY) $@ || { rm -f $@.$(TEMPORARY); exit 1; }
compile = $(CC) $(1) -MMD -MP -MT $@ -MF $@.$(TEMPORARY).d -c -o $@.$(TEMPORARY) $< && \
	mv -f $@.$(TEMPORARY).d $(@:.o=.d) && mv -f $@.$(TEMPORARY) $@ || { rm -f $@.$(TEMPORARY) $@.$(TEMPORARY).d; exit 1; }

# Writes a text to the target, whose time changes only if the text does. Targets that depend on it are then out of date.
write_if_changed = @mkdir -p $(@D) && { echo "$(1)" | cmp -s - $@ || echo "$(1)" > $@; }

# Objects of another compiler are out of date: their bits differ, and they may be for another machine. Objects from
# sources of another checkout or release are out of date regardless of their times.
builder = "$(MACHINE) $(COMPILER), $$(pwd -P) $$(cat VERSION COMMIT 2>/dev/null)"
$(B)/compiler: FORCE
	@mkdir -p $(@D)
	@echo $(builder) | cmp -s - $@ || { echo $(builder) > $@.$(TEMPORARY) && mv -f $@.$(TEMPORARY) $@; }

$(B)/%.o: %.c Makefile $(B)/compiler
	@mkdir -p $(@D)
	$(call compile,$(RUNTIME_CFLAGS) $(CHECKS))

# Code of the command line computes nothing, so -O1 is enough.
$(B)/runtime/cli/%.o: RUNTIME_CFLAGS += -O1

$(LIBRARY): $(RUNTIME_OBJECTS) | $(BUNDLED_JANSSON)
	@mkdir -p $(@D)
	$(call write_output,ar rcs,$(filter %.o,$^))

# Third-party code is compiled as it is, with its licence next to the archive, where bundles look for it.
$(B)/third_party/%.o: RUNTIME_CFLAGS = -std=gnu11 -O2 -g1 -w -DHAVE_CONFIG_H -Ithird_party/jansson

$(BUNDLED_JANSSON): $(patsubst %.c,$(B)/%.o,$(wildcard third_party/jansson/*.c))
	@mkdir -p $(@D)
	@cp third_party/jansson/LICENSE $(@:.a=.LICENSE)
	$(call write_output,ar rcs,$^)

# Analyses call these programs; nothing else is linked with LAPACK. $(LAPACK) may name another library with its
# functions.
LAPACK ?= -llapack -lblas

TOOL_LIBRARIES.procrustes = $(LAPACK)

$(BUILD)/tools/%: runtime/tools/%.c Makefile
	@mkdir -p $(@D)
	$(call write_output,$(CC) -std=c11 -O2 -g $(WARNINGS) -o,$< $(TOOL_LIBRARIES.$*) -lm)

# Symbols of generated code have a role (spec, cuda, images, text, ...) and the spec's id; see generator/plan/plan.lua.
make_symbol = longhand_$(1)_$(subst __,_U,$(2))

# A trainer: ID names it, SOURCES is the folder of its generated files, OUT takes the binary and, under obj, the rest.
ID ?= $(RUN)
SOURCES ?= generated/$(RUN)
OUT ?= $(BUILD)/trainers/$(if $(filter release,$(VARIANT)),,$(VARIANT)-)$(RUN)

include cuda.mk

ifneq ($(filter-out 1,$(STATIC)),)
$(error STATIC=$(STATIC): expected STATIC=1)
endif
ifneq ($(ID),)
ifneq ($(and $(STATIC),$(STATIC_PROBLEM)),)
$(error $(STATIC_PROBLEM))
endif
# A user's own sampler lies next to the generated files. It is linked before the library, whose tasks may have its name.
TASK_OBJECT := $(if $(wildcard $(SOURCES)/task.c),$(OUT)/obj/task.o)
# Objects that take longest to compile are compiled first.
TRAINER_OBJECTS := $(LINKED_LEVELS:%=$(OUT)/obj/step.%.o) $(OUT)/obj/main.o $(OUT)/obj/spec.o $(TASK_OBJECT) \
	$(CUDA_OBJECTS)

trainer: $(OUT)/trainer ## RUN=<id>: build the trainer of a showcase run; needs a C compiler and jansson, no Lua

$(OUT)/obj/main.o: runtime/main.c Makefile $(B)/compiler
	@mkdir -p $(@D)
	$(call compile,$(RUNTIME_CFLAGS) $(CHECKS) -DLH_MAIN_SPEC=$(call make_symbol,spec,$(ID)))

# spec.o depends on the levels, and on whether there is a CUDA half.
$(OUT)/obj/levels: FORCE
	@$(check_levels)
	$(call write_if_changed,$(LINKED_LEVELS) $(WITH_CUDA))

$(OUT)/obj/spec.o: $(SOURCES)/spec.c $(OUT)/obj/levels Makefile $(B)/compiler
	$(call compile,$(SPEC_CFLAGS) $(CHECKS) $(call define_levels,$(LINKED_LEVELS) $(WITH_CUDA)))

$(OUT)/obj/optimisation: FORCE
	$(call write_if_changed,$(STEP_O))

$(OUT)/obj/step.%.o: $(SOURCES)/step.c $(OUT)/obj/optimisation Makefile $(B)/compiler
	$(call compile,$(STEP_CFLAGS) $(march.$*) $(CHECKS))

$(OUT)/obj/task.o: $(SOURCES)/task.c Makefile $(B)/compiler
	@mkdir -p $(@D)
	$(call compile,$(RUNTIME_CFLAGS) -Werror $(CHECKS))

$(OUT)/obj/linking: FORCE
	$(call write_if_changed,$(LINKING) $(WITH_CUDA))

$(OUT)/trainer: $(TRAINER_OBJECTS) $(STATIC_OBJECTS) $(LIBRARY) $(OUT)/obj/linking
	$(call write_output,$(CC) $(CHECKS) $(LINK_FLAGS) -o,$(filter %.o %.a,$^) $(LIBRARIES))

-include $(TRAINER_OBJECTS:.o=.d) $(STATIC_OBJECTS:.o=.d)
else
trainer: ## RUN=<id>: build the trainer of a showcase run; needs a C compiler and jansson, no Lua
	@echo "RUN is missing; expected: make trainer RUN=<id>, with one of $(GENERATED)" >&2; exit 2

$(BUILD)/trainers/%/trainer: $(LIBRARY) FORCE
	@$(MAKE) --no-print-directory trainer RUN=$*
endif

FORCE:

# Builds of a trainer, and queries of the generator, skip the rules of tests, which take a tenth of a second to read.
ifeq ($(ID)$(filter $(QUERIES),$(MAKECMDGOALS)),)
-include tests/tests.mk
endif

probe: ## print the compilers, levels and libraries that this machine offers
	@echo "compiler    $(CC): $(or $(MACHINE),not found)"
	@echo "levels      $(COMPILER_LEVELS); linked: $(LINKED_LEVELS)"
	@echo "jansson     $(JANSSON)"
	@echo "openmp      $(OPENMP)"
	@echo "static      $(or $(STATIC_PROBLEM),yes)"
	@echo "cuda        $(or $(call find_toolkit,$(ARCH)),no)"

print-levels:
	@$(check_levels)
	@echo "$(LINKED_LEVELS)"

print-levels-or-problem:
	@echo "$(or $(levels_problem),levels: $(LINKED_LEVELS))"

print-compiler:
	@echo "$(COMPILER)"

print-static-problem:
	@echo "$(STATIC_PROBLEM)"

print-archives:
	@echo "$(abspath $(ARCHIVES))"

FIELDS := python/longhand/fields.py

gen: ## write the sources of the showcase (RUN=<id>: of one run) and the fields of the Python package again
	@for id in $(or $(RUN),$(GENERATED)); do ./longhand gen $$id || exit; done
	@./longhand dev python >$(FIELDS).new && mv $(FIELDS).new $(FIELDS)

check: ## validate every spec in spec/runs (RUN=<id>: one)
	@for spec in $(or $(RUN),$(wildcard spec/runs/*.lua)); do ./longhand check $$spec || exit; done

test: ## run the whole test suite, about twenty minutes on 2 cores
	@sh tests/run.sh

test-quick: ## run two minutes of tests: lint, stale, Lua, unit tests without sanitizers, a trainer
	@sh tests/run.sh --quick

test-long: ## run the suite with generated code at every level, and the slow system tests
	@sh tests/run.sh --long

test-gpu: ## run checks, rates and peers on a GPU, eight minutes (docs/performance.md)
	@sh tests/device/run.sh

golden-update: ## write the expected files of the Lua tests again; read the diff
	@LH_UPDATE_GOLDEN=1 sh tests/run.sh --only lua

stale: ## compare generated/ with what would be written
	@./longhand dev stale

# Generated device.cu is not in the list: most of it is text of kernels/cuda, which is in the list.
FORMATTED = $(sort $(shell find include runtime kernels tests generated examples -name '*.[ch]' -o -name '*.inc' \
	-o -name '*.cpp') $(shell find kernels tests -name '*.cu'))
CLANG_FORMAT ?= $(or $(shell command -v clang-format-14 2>/dev/null),clang-format)

fmt: ## format the hand-written C
	$(CLANG_FORMAT) -i $(filter-out generated/%,$(FORMATTED))

fmt-check: ## fail where clang-format 14 would change a file, generated files included
	$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

lint: ## run luacheck
	env -u LUA_PATH -u LUA_CPATH luacheck -q generator lab spec examples tests/bits tests/facets/*.lua tests/lint tests/lua tests/ptx

words: ## check first words of comments, field docs and commits, and lengths of files
	$(or $(LUA),lua5.4) tests/lint/words.lua

where: ## AT=FILE:LINE: print the template line of a generated line
	@./longhand dev where $(AT)

fields: ## print every field of a spec
	@./longhand fields --all

run: ## RUN=<id>: train it (FLAGS="--steps 1000": flags of the trainer)
	@./longhand train $(RUN) -- $(FLAGS)

eval: ## RUN=<id> FLAGS="--checkpoint F": evaluate a checkpoint
	@$(MAKE) --no-print-directory trainer RUN=$(RUN) && $(BUILD)/trainers/$(RUN)/trainer eval $(FLAGS)

# An installed copy is read-only for its users: their builds are in folders of their own (LONGHAND_BUILD).
PREFIX ?= /usr/local
INSTALLED = longhand Makefile cuda.mk VERSION LICENSE README.md CHANGELOG.md CITATION.cff generator lab templates \
	include runtime kernels spec generated python docs examples $(wildcard third_party)
INSTALL_FOLDER = $(DESTDIR)$(PREFIX)

install: ## PREFIX=/usr/local DESTDIR=: install a copy for all users, its manual page and completions
	rm -rf "$(INSTALL_FOLDER)/lib/longhand"
	umask 022 && mkdir -p "$(INSTALL_FOLDER)/lib/longhand" "$(INSTALL_FOLDER)/bin" "$(INSTALL_FOLDER)/share/man/man1" \
		"$(INSTALL_FOLDER)/share/bash-completion/completions" "$(INSTALL_FOLDER)/share/zsh/site-functions"
	cp -R $(INSTALLED) "$(INSTALL_FOLDER)/lib/longhand"
	find "$(INSTALL_FOLDER)/lib/longhand" -name __pycache__ -prune -exec rm -rf {} +
	./longhand --version | sed -n 's/.*(commit \(.*\))/\1/p' >"$(INSTALL_FOLDER)/lib/longhand/COMMIT"
	ln -sf ../lib/longhand/longhand "$(INSTALL_FOLDER)/bin/longhand"
	./longhand dev manual >"$(INSTALL_FOLDER)/share/man/man1/longhand.1"
	./longhand completion bash >"$(INSTALL_FOLDER)/share/bash-completion/completions/longhand"
	./longhand completion zsh >"$(INSTALL_FOLDER)/share/zsh/site-functions/_longhand"
	chmod -R a+rX,go-w "$(INSTALL_FOLDER)/lib/longhand"
	chmod a+r,go-w "$(INSTALL_FOLDER)/share/man/man1/longhand.1" "$(INSTALL_FOLDER)/share/bash-completion/completions/longhand" \
		"$(INSTALL_FOLDER)/share/zsh/site-functions/_longhand"

uninstall: ## PREFIX=/usr/local DESTDIR=: remove an installed copy
	rm -rf "$(INSTALL_FOLDER)/lib/longhand"
	rm -f "$(INSTALL_FOLDER)/bin/longhand" "$(INSTALL_FOLDER)/share/man/man1/longhand.1" \
		"$(INSTALL_FOLDER)/share/bash-completion/completions/longhand" "$(INSTALL_FOLDER)/share/zsh/site-functions/_longhand"

# A release contains the last commit, regardless of other files in this folder, and the third-party code that it needs.
# git archive sets owners, modes and times, so the bytes depend on the commit and on that code alone.
RELEASE = longhand-$(shell cat VERSION)
add_to_release = --prefix=$(RELEASE)/$(patsubst build/dist/%,%,$(dir $(1))) --add-file=$(1)

build/dist/third_party/README.md: runtime/tools/third_party.sh
	@mkdir -p build/dist && sh runtime/tools/third_party.sh build/dist/third_party && touch $@

dist: build/dist/third_party/README.md ## write build/longhand-VERSION.tar.gz: the last commit as a release, the same bytes each time
	@git rev-parse --short=12 HEAD >build/dist/COMMIT
	@git -c tar.umask=0022 archive --format=tar $(foreach file,build/dist/COMMIT $(sort $(shell find \
		build/dist/third_party -type f)),$(call add_to_release,$(file))) --prefix=$(RELEASE)/ \
		-o build/dist/partial.tar HEAD
	@gzip -9n <build/dist/partial.tar >build/dist/partial.gz && rm build/dist/partial.tar && \
		mv -f build/dist/partial.gz build/$(RELEASE).tar.gz
	@echo build/$(RELEASE).tar.gz

clean: ## remove build/
	rm -rf build

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / && !seen[$$1]++ { printf "make %-14s %s\n", $$1, $$2 }' $(filter-out %.d,$(MAKEFILE_LIST))

-include $(if $(filter $(QUERIES),$(MAKECMDGOALS)),,$(RUNTIME_OBJECTS:.o=.d))
