# Longhand's build. Everything is made from the repository root; ./longhand calls the targets below.
#
# RUN=<id>      the showcase run that trainer, run, eval and gen mean
# LEVELS=...    instruction-set levels to compile: all (default), best (the widest this machine runs), or a list
# VARIANT=...   release (default), asan (address and undefined-behaviour sanitizers, warnings are errors), tsan (thread
#               sanitizer, which does not understand OpenMP: POSIX threads take its place)
# STATIC=1      trainers that need no shared library, not even libc
# TARGETS=...   cpu (default) or cpu,cuda: see cuda.mk
# CC=...        gcc or clang

CC ?= cc
ifeq ($(origin CC),default)
CC := cc
endif
VARIANT ?= release
LEVELS ?= all
comma := ,
GENERATED := $(sort $(patsubst generated/%/spec.c,%,$(wildcard generated/*/spec.c)))

WARNINGS := -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
	-Wwrite-strings -Wunused-macros -Wno-unknown-pragmas
INCLUDES := -Iruntime/include -Iruntime -I.
CHECKS.release :=
CHECKS.asan := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Werror
CHECKS.tsan := -fsanitize=thread -fno-omit-frame-pointer -Werror
CHECKS := $(CHECKS.$(VARIANT))
SANITIZED := $(filter asan tsan,$(VARIANT))

# What this compiler can do: each probe compiles an empty file.
accepts = $(shell $(CC) -Werror $(1) -x c -c -o /dev/null /dev/null 2>/dev/null && echo yes)
UNUSED_CONSTANTS := $(if $(call accepts,-Wunused-const-variable=2),-Wunused-const-variable=2)
IS_CLANG := $(shell $(CC) --version 2>/dev/null | grep -i clang)

# With sanitizers code is compiled for short builds: line numbers are all that their reports need.
RUNTIME_CFLAGS := -std=gnu11 $(if $(SANITIZED),-O1 -g1,-O2 -g) -ffp-contract=off -fno-math-errno \
	$(if $(filter tsan,$(VARIANT)),,-fopenmp) $(WARNINGS) $(INCLUDES)
STEP_CFLAGS := -std=gnu11 $(if $(SANITIZED),-O1 -g1,-O3 -g) -ffp-contract=fast -fno-math-errno \
	-fno-trapping-math -Wno-psabi $(WARNINGS) $(UNUSED_CONSTANTS) $(INCLUDES)
SPEC_CFLAGS := -std=gnu11 -O1 -g $(WARNINGS) $(UNUSED_CONSTANTS) $(INCLUDES)

# Instruction-set levels: those of this machine's architecture that the compiler knows, plainest first.
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
COMPILER := $(shell $(CC) --version 2>/dev/null | head -1)
ifneq ($(filter x86_64%,$(MACHINE)),)
KNOWN_LEVELS := x86-64 x86-64-v3 x86-64-v4
march.x86-64 := -march=x86-64
march.x86-64-v3 := -march=x86-64-v3
march.x86-64-v4 := -march=x86-64-v4 -mprefer-vector-width=512
else
KNOWN_LEVELS := $(patsubst arm64,aarch64,$(firstword $(subst -, ,$(MACHINE))))
endif
COMPILER_LEVELS := $(foreach level,$(KNOWN_LEVELS),$(if $(call accepts,$(march.$(level))),$(level)))

# Whether /proc/cpuinfo lists every one of some features.
has = $(shell for f in $(1); do grep -qw "$$f" /proc/cpuinfo 2>/dev/null || exit; done; echo yes)
V3_FEATURES := avx2 bmi1 bmi2 f16c fma movbe
V4_FEATURES := avx512f avx512bw avx512cd avx512dq avx512vl
ifeq ($(LEVELS),best)
machine_levels := $(if $(filter x86-64,$(KNOWN_LEVELS)),x86-64 $(if $(call has,$(V3_FEATURES)),x86-64-v3 \
	$(if $(call has,$(V4_FEATURES)),x86-64-v4)),$(KNOWN_LEVELS))
LINKED_LEVELS := $(or $(LONGHAND_ISA),$(lastword $(filter $(machine_levels),$(COMPILER_LEVELS))))
unknown_levels := $(filter-out $(COMPILER_LEVELS),$(LINKED_LEVELS))
else ifeq ($(LEVELS),all)
LINKED_LEVELS := $(COMPILER_LEVELS)
else
LINKED_LEVELS := $(filter $(subst $(comma), ,$(LEVELS)),$(COMPILER_LEVELS))
unknown_levels := $(filter-out $(COMPILER_LEVELS),$(subst $(comma), ,$(LEVELS)))
endif
check_levels = $(if $(unknown_levels),echo "$(CC) cannot compile for: $(unknown_levels) (it can: \
	$(COMPILER_LEVELS))" >&2; exit 1,$(if $(LINKED_LEVELS),:,echo "$(CC) can compile for none of: $(LEVELS)" >&2; exit 1))
upper = $(shell echo $(1) | tr 'a-z-' 'A-Z_')
have = $(foreach level,$(1),-DLH_HAVE_$(call upper,$(level)))

# Static archives where they exist, so that a trainer needs nothing but libc on another machine.
archive = $(filter /%,$(shell $(CC) -print-file-name=$(1) 2>/dev/null))
JANSSON := $(or $(call archive,libjansson.a),-ljansson)
OPENMP := $(if $(IS_CLANG),-fopenmp,$(or $(call archive,libgomp.a),-fopenmp))
LIBRARIES := $(JANSSON) $(if $(filter tsan,$(VARIANT)),,$(OPENMP)) -pthread -ldl -lm

# With STATIC=1 a trainer is linked from archives alone, libc's included; its objects are the same. GNU's OpenMP names
# dlopen, see runtime/static.c. STATIC_PROBLEM: what stands in the way of that here, if anything.
LINKING := $(if $(STATIC),static,dynamic)
STATIC_OBJECTS := $(if $(STATIC),build/$(VARIANT)/runtime/static.o)
LINK_FLAGS := $(if $(STATIC),-static -Wl$(comma)--wrap=dlopen)
of.libc.a := in libc6-dev on Debian, in glibc-static on Fedora
of.libjansson.a := in libjansson-dev on Debian, in jansson-static on Alpine
of.libgomp.a := OpenMP of gcc
of.libomp.a := OpenMP of clang, rarely packaged; try CC=gcc
static_archives := libc.a libjansson.a $(if $(IS_CLANG),libomp.a,libgomp.a)
missing_archives = $(foreach name,$(static_archives),$(if $(call archive,$(name)),,$(name) ($(of.$(name)))))
STATIC_PROBLEM = $(if $(CHECKS),sanitizers cannot be linked statically$(comma) leave out VARIANT=$(VARIANT),$(if \
	$(strip $(missing_archives)),static linking needs archives that $(CC) does not find: $(strip $(missing_archives))))

B := build/$(VARIANT)
LIBRARY := $(if $(filter release,$(VARIANT)),build/lib/liblonghand.a,$(B)/lib/liblonghand.a)
RUNTIME_SOURCES := $(sort $(shell find runtime -mindepth 2 -name '*.c' -not -path 'runtime/tools/*'))
RUNTIME_OBJECTS := $(RUNTIME_SOURCES:%.c=$(B)/%.o)
REFERENCE_OBJECTS := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard kernels/ref/*.c)))
WITH_SPECS := $(shell grep -l 'extern const lh_spec longhand_spec_parity' tests/unit/test_*.c 2>/dev/null)
# This one links random networks, build/tests/specs/random_*, of which there are RANDOM_COUNT, and RANDOM_WIDE wide ones:
# tests/run.sh writes them, with device code for tests/emulation/test_random.c where there is any.
RANDOM_COUNT ?= 5
RANDOM_WIDE ?= 0
RANDOM_SPECS := $(patsubst %,random_%,$(shell seq $(RANDOM_COUNT))) $(patsubst %,random_wide_%,$(shell seq $(RANDOM_WIDE)))
WITH_RANDOM := tests/unit/test_random.c
RANDOM_WRITTEN := $(filter $(RANDOM_SPECS),$(patsubst build/tests/specs/%/spec.c,%,$(wildcard build/tests/specs/random_*/spec.c)))
# This one links decoders, DECODED_SPECS of build/tests/specs.
WITH_DECODERS := tests/unit/test_decoding.c
DECODED_SPECS ?= $(addprefix parity_,decoder_rope decoder_relative) $(addprefix parity_float64_,decoder_alibi \
	encoder_decoder identity_encoder drawn_layers drawn_pair masks lines)
# This one compares generated code of those of tests/specs/networks, too, that MORE_PAIRS names (long_vectors.sh).
WITH_PAIRS := tests/unit/test_encoder_decoder.c
MORE_PAIRS ?=
# These link generated formulas, build/tests/expressions/part_*.c: tests/run.sh writes them.
WITH_FORMULAS := tests/unit/test_expressions.c tests/unit/test_library.c
FORMULA_OBJECTS := $(patsubst build/tests/%.c,$(B)/%.o,$(wildcard build/tests/expressions/part_*.c))
# Tests of kernels/cpu are compiled as generated code is, once per level and element size, and once for the plainest level.
WITH_KERNELS := tests/unit/test_kernels.c tests/unit/test_rows.c tests/unit/test_functions.c \
	tests/unit/test_outwards.c
PLAIN_UNITS := $(filter-out $(WITH_SPECS) $(WITH_RANDOM) $(WITH_DECODERS) $(WITH_FORMULAS) $(WITH_KERNELS),$(wildcard tests/unit/test_*.c))
KERNEL_UNITS := $(sort $(foreach level,$(LINKED_LEVELS),$(level).4 $(level).8) $(firstword $(COMPILER_LEVELS)).4)
UNIT_TESTS.release := $(sort $(WITH_SPECS:%.c=$(B)/%) $(WITH_DECODERS:%.c=$(B)/%) $(if $(RANDOM_WRITTEN),$(WITH_RANDOM:%.c=$(B)/%)) $(if $(FORMULA_OBJECTS),$(WITH_FORMULAS:%.c=$(B)/%)))
UNIT_TESTS.asan := $(sort $(PLAIN_UNITS:%.c=$(B)/%)) $(foreach unit,$(KERNEL_UNITS),$(WITH_KERNELS:%.c=$(B)/%.$(unit)) \
	$(B)/tests/unit/test_functions.device.$(unit))
UNIT_TESTS.tsan := $(patsubst %,$(B)/tests/unit/test_%,engine evaluate group loop team)
UNIT_TESTS := $(UNIT_TESTS.$(VARIANT))

.PHONY: all gen check test test-long test-gpu golden-update stale fmt fmt-check lint where fields run eval clean help \
	trainer library unit emulation cuda-check cuda-all cuda-record fuzz fuzz-long bench-check bench-record \
	bench-programs bench-peers probe print-random-specs print-levels print-compiler print-static-problem print-unit-tests print-emulation-tests print-emulated-specs
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

all: library $(GENERATED:%=build/trainers/%/trainer) ## the runtime library and a trainer for every showcase run

library: $(LIBRARY) ## the runtime, as a static archive

# Objects of another compiler are out of date: their bits differ, and they may be for another machine.
$(B)/compiler: FORCE
	@mkdir -p $(@D)
	@echo "$(MACHINE) $(COMPILER)" | cmp -s - $@ || echo "$(MACHINE) $(COMPILER)" > $@

$(B)/%.o: %.c Makefile $(B)/compiler
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) $(CHECKS) -MMD -MP -c -o $@ $<

$(LIBRARY): $(RUNTIME_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

# Programs that analyses call; LAPACK is linked to nothing else. $(LAPACK) may name another library with its functions.
LAPACK ?= -llapack -lblas

TOOL_LIBRARIES.procrustes = $(LAPACK)

build/tools/%: runtime/tools/%.c Makefile
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -g $(WARNINGS) -o $@ $< $(TOOL_LIBRARIES.$*) -lm

# What generated code has of a spec, by role (spec, cuda, images, text, ...) and id; see generator/plan/symbols.lua.
symbol = longhand_$(1)_$(subst __,_U,$(2))

# A trainer: ID names it, SOURCES is the folder of its generated files, OUT takes the binary and, under obj, the rest.
ID ?= $(RUN)
SOURCES ?= generated/$(RUN)
OUT ?= build/trainers/$(if $(filter release,$(VARIANT)),,$(VARIANT)-)$(RUN)

include cuda.mk

ifneq ($(filter-out 1,$(STATIC)),)
$(error STATIC=$(STATIC): expected STATIC=1)
endif
ifneq ($(ID),)
ifneq ($(and $(STATIC),$(STATIC_PROBLEM)),)
$(error $(STATIC_PROBLEM))
endif
# A user's own sampler lies beside the generated files. It comes before the library, whose tasks it may be named after.
TASK_OBJECT := $(if $(wildcard $(SOURCES)/task.c),$(OUT)/obj/task.o)
TRAINER_OBJECTS := $(OUT)/obj/main.o $(OUT)/obj/spec.o $(LINKED_LEVELS:%=$(OUT)/obj/step.%.o) $(TASK_OBJECT) \
	$(CUDA_OBJECTS)

trainer: $(OUT)/trainer ## RUN=<id>: the trainer of a showcase run; needs a C compiler and jansson, no Lua

$(OUT)/obj/main.o: runtime/main.c Makefile $(B)/compiler
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) $(CHECKS) -DLH_MAIN_SPEC=$(call symbol,spec,$(ID)) -MMD -MP -c -o $@ $<

# The levels, and whether there is a CUDA half, are part of spec.o: a file that changes with them makes it out of date.
$(OUT)/obj/levels: FORCE
	@mkdir -p $(@D)
	@$(check_levels)
	@echo "$(LINKED_LEVELS) $(WITH_CUDA)" | cmp -s - $@ || echo "$(LINKED_LEVELS) $(WITH_CUDA)" > $@

$(OUT)/obj/spec.o: $(SOURCES)/spec.c $(OUT)/obj/levels Makefile $(B)/compiler
	$(CC) $(SPEC_CFLAGS) $(CHECKS) $(call have,$(LINKED_LEVELS) $(WITH_CUDA)) -MMD -MP -c -o $@ $<

$(OUT)/obj/step.%.o: $(SOURCES)/step.c Makefile $(B)/compiler
	@mkdir -p $(@D)
	$(CC) $(STEP_CFLAGS) $(march.$*) $(CHECKS) -MMD -MP -c -o $@ $<

$(OUT)/obj/task.o: $(SOURCES)/task.c Makefile $(B)/compiler
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) -Werror $(CHECKS) -MMD -MP -c -o $@ $<

# Likewise the way of linking makes the trainer out of date.
$(OUT)/obj/linking: FORCE
	@mkdir -p $(@D)
	@echo "$(LINKING) $(WITH_CUDA)" | cmp -s - $@ || echo "$(LINKING) $(WITH_CUDA)" > $@

$(OUT)/trainer: $(TRAINER_OBJECTS) $(STATIC_OBJECTS) $(LIBRARY) $(OUT)/obj/linking
	$(CC) $(CHECKS) $(LINK_FLAGS) -o $@ $(filter %.o %.a,$^) $(LIBRARIES)

-include $(TRAINER_OBJECTS:.o=.d) $(STATIC_OBJECTS:.o=.d)
else
trainer: ## RUN=<id>: the trainer of a showcase run; needs a C compiler and jansson, no Lua
	@echo "say which: make trainer RUN=<id>, one of: $(GENERATED)" >&2; exit 2

build/trainers/%/trainer: $(LIBRARY) FORCE
	@$(MAKE) --no-print-directory trainer RUN=$*
endif

FORCE:

# Unit tests: one cmocka binary per file, linked with the reference kernels. Those that run generated code link the
# specs of tests/specs and are built as released; all others run with sanitizers. Compiling a step takes seconds, so
# only the specs of EVERY_LEVEL are compiled for all levels, the others for those of LEVELS.
EVERY_LEVEL ?= parity_sincos parity_dropout_rand_rope
TEST_SPECS := $(RANDOM_WRITTEN) $(filter-out random_%,$(sort $(patsubst build/tests/specs/%/spec.c,%,$(wildcard \
	build/tests/specs/*/spec.c))))
FUZZ_SOURCES := $(filter-out tests/fuzz/libfuzzer.c,$(wildcard tests/fuzz/*.c))
TEST_OBJECTS := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/support/*.c tests/reference/*.c) $(FUZZ_SOURCES))) \
	$(B)/networks.o
levels_of = $(if $(filter $(1),$(EVERY_LEVEL)),$(COMPILER_LEVELS),$(if $(filter random_%,$(1)),$(sort \
	$(firstword $(COMPILER_LEVELS)) $(lastword $(LINKED_LEVELS))),$(LINKED_LEVELS)))
cuda_half_of = $(if $(wildcard build/tests/specs/$(1)/cuda.c),cuda)
objects_of = $(B)/specs/$(1)/spec.o $(patsubst %,$(B)/specs/$(1)/step.%.o,$(call levels_of,$(1))) \
	$(patsubst %,$(B)/specs/$(1)/%.o,$(call cuda_half_of,$(1)))
SPEC_OBJECTS := $(if $(filter release,$(VARIANT)),$(foreach id,$(TEST_SPECS),$(call objects_of,$(id))))
TEST_INCLUDES := -Itests -Itests/support

unit: $(UNIT_TESTS)

$(TEST_OBJECTS) $(UNIT_TESTS): RUNTIME_CFLAGS += $(TEST_INCLUDES)

define spec_rules
$(B)/specs/$(1)/levels: FORCE
	@mkdir -p $$(@D)
	@echo "$(call levels_of,$(1)) $(call cuda_half_of,$(1))" | cmp -s - $$@ || \
		echo "$(call levels_of,$(1)) $(call cuda_half_of,$(1))" > $$@

$(B)/specs/$(1)/spec.o: build/tests/specs/$(1)/spec.c $(B)/specs/$(1)/levels Makefile $(B)/compiler
	$$(CC) $$(SPEC_CFLAGS) $$(CHECKS) $$(call have,$(call levels_of,$(1)) $(call cuda_half_of,$(1))) -MMD -MP -c -o $$@ $$<

$(B)/specs/$(1)/cuda.o: build/tests/specs/$(1)/cuda.c Makefile $(B)/compiler
	@mkdir -p $$(@D)
	$$(CC) $$(RUNTIME_CFLAGS) $$(CHECKS) -MMD -MP -c -o $$@ $$<

$(B)/specs/$(1)/step.%.o: build/tests/specs/$(1)/step.c Makefile $(B)/compiler
	@mkdir -p $$(@D)
	$$(CC) $$(STEP_CFLAGS) $(if $(filter emulate% random_%,$(1)),-O1 -g0) $$(march.$$*) $$(CHECKS) -MMD -MP -c -o $$@ $$<
endef
$(foreach id,$(TEST_SPECS),$(eval $(call spec_rules,$(id))))

# Networks as tables, for the interpreter in double: those of specs, also of such as have vectors but no code among the
# tests, those of the random specs, and ANY_NETWORKS more.
ANY_NETWORKS ?= 30
NETWORK_SPECS := $(sort $(wildcard tests/specs/parity_*.lua \
	$(patsubst tests/reference/%.safetensors,tests/specs/networks/%.lua,$(wildcard tests/reference/*.safetensors))))
NETWORK_SOURCES := tests/support/networks.c.tpl tests/support/random_specs.lua tests/lua/networks.lua tests/lua/random.lua \
	$(shell find generator -name '*.lua')

build/tests/networks: FORCE
	@mkdir -p $(@D)
	@echo "$(ANY_NETWORKS) $(NETWORK_SPECS) $(RANDOM_SPECS)" | cmp -s - $@ || \
		echo "$(ANY_NETWORKS) $(NETWORK_SPECS) $(RANDOM_SPECS)" > $@

build/tests/networks.c: tests/support/render_networks.lua build/tests/networks $(NETWORK_SPECS) $(NETWORK_SOURCES)
	$(or $(LUA),lua5.4) $< $@ $(ANY_NETWORKS) $(NETWORK_SPECS) $(RANDOM_SPECS)

$(B)/networks.o: build/tests/networks.c Makefile $(B)/compiler
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) $(CHECKS) -MMD -MP -c -o $@ $<

$(B)/lib/libspecs.a: $(SPEC_OBJECTS) $(REFERENCE_OBJECTS) $(TEST_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

FORMULA_CFLAGS = $(STEP_CFLAGS) $(or $(FORMULA_O),-O0 -g0) $(march.$(lastword $(LINKED_LEVELS))) $(TEST_INCLUDES)

# Two hundred formulas of nine tokens take longer to compile than to run; the library has long sequences.
$(B)/expressions/part_library.o $(B)/tests/unit/test_library: FORMULA_O := -O1 -g0

$(B)/expressions/%.o: build/tests/expressions/%.c Makefile $(B)/compiler
	@mkdir -p $(@D)
	$(CC) $(FORMULA_CFLAGS) -Werror -MMD -MP -c -o $@ $<

$(WITH_FORMULAS:%.c=$(B)/%): $(B)/%: %.c $(FORMULA_OBJECTS) $(B)/lib/libspecs.a $(LIBRARY) Makefile
	@mkdir -p $(@D)
	$(CC) $(FORMULA_CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(FORMULA_OBJECTS) $(B)/lib/libspecs.a $(LIBRARY) -lcmocka $(LIBRARIES)

$(WITH_PAIRS:%.c=$(B)/%): RUNTIME_CFLAGS += $(if $(MORE_PAIRS),-DLH_MORE_PAIRS='$(patsubst %,X(%),$(MORE_PAIRS))')
$(WITH_DECODERS:%.c=$(B)/%): RUNTIME_CFLAGS += -DLH_DECODED_SPECS='$(patsubst %,X(%),$(DECODED_SPECS))'
$(WITH_RANDOM:%.c=$(B)/%): RUNTIME_CFLAGS += -DLH_RANDOM_SPECS='$(patsubst %,X(%),$(RANDOM_WRITTEN))'

$(B)/tests/unit/%: tests/unit/%.c $(B)/lib/libspecs.a $(LIBRARY) Makefile
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) $(CHECKS) -MMD -MP -MF $@.d -o $@ $< $(B)/lib/libspecs.a $(LIBRARY) -lcmocka $(LIBRARIES)

define kernel_rules
$(KERNEL_UNITS:%=$(B)/$(1).%): $(B)/$(1).%: $(1).c $(B)/lib/libspecs.a $(LIBRARY) Makefile
	@mkdir -p $$(@D)
	$$(CC) $$(STEP_CFLAGS) $$(march.$$(basename $$*)) -DREAL_BYTES=$$(subst .,,$$(suffix $$*)) $$(TEST_INCLUDES) $$(CHECKS) \
		-MMD -MP -MF $$@.d -o $$@ $$< $(B)/lib/libspecs.a $(LIBRARY) -lcmocka $$(LIBRARIES)
endef
$(foreach test,$(WITH_KERNELS:.c=),$(eval $(call kernel_rules,$(test))))

# kernels/cuda/functions.cu, by the bounds of kernels/cpu/functions.h.
$(KERNEL_UNITS:%=$(B)/tests/unit/test_functions.device.%): $(B)/tests/unit/test_functions.device.%: \
		tests/unit/test_functions.c $(B)/lib/libspecs.a $(LIBRARY) Makefile
	@mkdir -p $(@D)
	$(CC) $(STEP_CFLAGS) $(march.$(basename $*)) -DREAL_BYTES=$(subst .,,$(suffix $*)) -DDEVICE $(TEST_INCLUDES) \
		$(CHECKS) -MMD -MP -MF $@.d -o $@ $< $(B)/lib/libspecs.a $(LIBRARY) -lcmocka $(LIBRARIES)

-include tests/emulation/emulation.mk

# Fuzzing. libFuzzer comes with clang; without it, LH_FUZZ_CASES makes the unit test's own mutations run for longer.
FUZZ_SECONDS ?= 60
FUZZ_CASES ?= 1000000
FUZZ_SEED ?= 1
FUZZ_TARGETS := build/fuzz/checkpoint build/fuzz/lines

build/fuzz/%: tests/fuzz/%.c tests/fuzz/libfuzzer.c tests/fuzz/fuzz.c tests/support/toy_spec.c $(RUNTIME_SOURCES)
	@mkdir -p build/fuzz
	clang -std=gnu11 -O1 -g1 -ffp-contract=off -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		$(WARNINGS) $(INCLUDES) $(TEST_INCLUDES) -DLH_FUZZ_TARGET=lh_fuzz_$* -o $@ $^ -ljansson -pthread -lm

fuzz: $(FUZZ_TARGETS) ## libFuzzer on the readers of checkpoints and lines, FUZZ_SECONDS=60 each; needs clang
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p $$target.corpus && LH_FUZZ_SEEDS=$$target.corpus $$target && \
		$$target -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -max_len=65536 -seed=$(FUZZ_SEED) \
			-print_final_stats=1 -verbosity=0 -artifact_prefix=$$target. $$target.corpus || exit; \
	done

fuzz-long: ## FUZZ_CASES=1000000 mutated specs, checkpoints and lines, and a fiftieth as many run folders, of FUZZ_SEED=1
	$(MAKE) -s unit VARIANT=asan LEVELS=best
	LH_FUZZ_CASES=$(FUZZ_CASES) LH_FUZZ_SEED=$(FUZZ_SEED) build/asan/tests/unit/test_fuzz
	LH_FUZZ_CASES=$(FUZZ_CASES) LH_FUZZ_SEED=$(FUZZ_SEED) $(or $(LUA),lua5.4) tests/lua/test_fuzz.lua

# The bench check: generated steps and one written by hand, at a level that valgrind knows. See tests/bench/check.sh.
BENCH_SPECS := parity_check_sinusoid reverse_string_rand_rope $(patsubst tests/bench/specs/%.lua,%,\
	$(wildcard tests/bench/specs/*.lua))
BENCH_LEVEL := x86-64-v3
BENCH_BUILDS := $(filter $(BENCH_LEVEL),$(if $(call has,$(V3_FEATURES)),$(COMPILER_LEVELS)))
BENCH_CFLAGS := $(STEP_CFLAGS) $(march.$(BENCH_LEVEL)) -Itests
COMPILER_NAME = $(if $(IS_CLANG),clang,gcc) $(shell $(CC) -dumpfullversion 2>/dev/null || $(CC) -dumpversion)

build/bench/step.o: tests/bench/step.c tests/bench/step.h Makefile
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -c -o $@ $<

define bench_rules
build/bench/$(1)/src/spec.c: FORCE
	@./longhand gen $$(or $$(wildcard tests/bench/specs/$(1).lua),$(1)) --out build/bench/$(1)/src >/dev/null

build/bench/$(1)/step.o: build/bench/$(1)/src/spec.c Makefile
	$$(CC) $$(BENCH_CFLAGS) -MMD -MP -c -o $$@ build/bench/$(1)/src/step.c

build/bench/$(1)/spec.o: build/bench/$(1)/src/spec.c Makefile
	$$(CC) $$(SPEC_CFLAGS) $$(call have,$(BENCH_LEVEL)) -c -o $$@ $$<

build/bench/$(1)/check: tests/bench/check.c build/bench/$(1)/spec.o build/bench/$(1)/step.o build/bench/step.o $$(LIBRARY)
	$$(CC) $$(RUNTIME_CFLAGS) -Itests -DCHECK_SPEC=$(call symbol,spec,$(1)) -o $$@ $$^ $$(LIBRARIES)

-include build/bench/$(1)/step.d
endef
$(foreach id,$(BENCH_SPECS),$(eval $(call bench_rules,$(id))))

bench-programs: $(if $(BENCH_BUILDS),$(BENCH_SPECS:%=build/bench/%/check))

ifneq ($(BENCH_BUILDS),)
bench-check: bench-programs ## fails where a generated step has become slower
	@COMPILER="$(COMPILER_NAME)" sh tests/bench/check.sh

bench-record: bench-programs ## write tests/bench/instructions.txt again; read the diff
	@COMPILER="$(COMPILER_NAME)" sh tests/bench/check.sh --record
else
bench-check bench-record:
	@echo "skip bench-check: $(CC) or this processor does not know $(BENCH_LEVEL)"
endif

bench-peers: ## PyTorch, JAX and libraries of products beside our trainers, on the processor (FLAGS="--minutes 20")
	@$(or $(PYTHON),python3) tests/peers/cpu.py $(FLAGS)

# The products of a training block beside libraries, with the tiles of a trainer's SOURCES; tests/peers/products.py
# calls this. LIBXSMM: the folder that has include and lib, where the compiler does not find libxsmm by itself.
XSMM_PLACE := $(if $(LIBXSMM),-isystem $(LIBXSMM)/include -L$(LIBXSMM)/lib)
XSMM = $(if $(call accepts,$(XSMM_PLACE) -include libxsmm.h),-DWITH_XSMM $(XSMM_PLACE) -lxsmm -lxsmmnoblas)

build/peers/products.%: FORCE $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(STEP_CFLAGS) $(march.$*) -I$(SOURCES) -o $@ tests/peers/products.c $(LIBRARY) $(XSMM) $(LIBRARIES)

probe: ## what this machine offers
	@echo "compiler    $(CC): $(or $(MACHINE),not found)"
	@echo "levels      $(COMPILER_LEVELS); linked: $(LINKED_LEVELS)"
	@echo "jansson     $(JANSSON)"
	@echo "openmp      $(OPENMP)"
	@echo "static      $(or $(STATIC_PROBLEM),yes)"
	@echo "cuda        $(or $(call find_toolkit,$(ARCH)),no)"

print-unit-tests:
	@printf '%s\n' $(UNIT_TESTS)

print-random-specs:
	@printf '%s\n' $(RANDOM_SPECS)

print-levels:
	@$(check_levels)
	@echo "$(LINKED_LEVELS)"

print-compiler:
	@echo "$(COMPILER)"

print-static-problem:
	@echo "$(STATIC_PROBLEM)"

gen: ## write the sources of the showcase again (RUN=<id>: of one run)
	@for id in $(or $(RUN),$(GENERATED)); do ./longhand gen $$id || exit; done

check: ## validate every spec in spec/runs (RUN=<id>: one)
	@for spec in $(or $(RUN),$(wildcard spec/runs/*.lua)); do ./longhand check $$spec || exit; done

test: ## the whole suite, under 5 minutes on 2 cores
	@sh tests/run.sh

test-long: ## the suite with generated code at every level, and the slow system tests
	@sh tests/run.sh --long

test-gpu: ## on a machine with a GPU: checks, rates and peers in eight minutes (docs/performance.md)
	@sh tests/device/run.sh

golden-update: ## write the expected files of the Lua tests again; read the diff
	@LH_UPDATE_GOLDEN=1 sh tests/run.sh --only lua

stale: ## compare generated/ with what would be written
	@./longhand stale

# Not device.cu: most of it is the text of kernels/cuda, which is formatted where it is.
FORMATTED = $(sort $(shell find runtime kernels tests generated examples -name '*.[ch]' -o -name '*.inc' -o -name '*.cpp') \
	$(shell find kernels tests -name '*.cu'))
CLANG_FORMAT ?= $(or $(shell command -v clang-format-14 2>/dev/null),clang-format)

fmt: ## format the hand-written C
	$(CLANG_FORMAT) -i $(filter-out generated/%,$(FORMATTED))

fmt-check: ## fails where clang-format 14 would change something, generated files included
	$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

lint: ## luacheck
	env -u LUA_PATH -u LUA_CPATH luacheck -q generator spec examples tests/bits tests/lua tests/ptx

where: ## AT=FILE:LINE: the template line behind a generated line
	@./longhand where $(AT)

fields: ## every field of a spec
	@./longhand fields

run: ## RUN=<id>: train it (FLAGS="--steps 1000": flags of the trainer)
	@./longhand train $(RUN) -- $(FLAGS)

eval: ## RUN=<id> FLAGS="--checkpoint F": evaluate a checkpoint
	@$(MAKE) --no-print-directory trainer RUN=$(RUN) && build/trainers/$(RUN)/trainer eval $(FLAGS)

clean: ## remove build/
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / && !seen[$$1]++ { printf "make %-14s %s\n", $$1, $$2 }' $(filter-out %.d,$(MAKEFILE_LIST))

-include $(RUNTIME_OBJECTS:.o=.d) $(REFERENCE_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(SPEC_OBJECTS:.o=.d) $(FORMULA_OBJECTS:.o=.d) \
	$(UNIT_TESTS:=.d)
