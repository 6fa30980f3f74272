# The programs of the test suite, part of the Makefile: unit tests, fuzzing, the bench check, and programs that compare
# trainers with other libraries. The Makefile does not read this file for a trainer, that is, if ID is not empty.
TEST_RULES := Makefile tests/tests.mk
REFERENCE_OBJECTS := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard kernels/ref/*.c)))
WITH_SPECS := $(shell grep -l 'extern const lh_spec longhand_spec_parity' tests/unit/test_*.c 2>/dev/null)
# test_random links random networks, build/tests/specs/random_*: RANDOM_COUNT ordinary and RANDOM_WIDE wide ones.
# tests/run.sh writes them, with device code for tests/emulation/test_random.c if they have any.
RANDOM_COUNT ?= 5
RANDOM_WIDE ?= 0
RANDOM_SPECS := $(patsubst %,random_%,$(shell seq $(RANDOM_COUNT))) $(patsubst %,random_wide_%,$(shell seq $(RANDOM_WIDE)))
WITH_RANDOM := tests/unit/test_random.c
RANDOM_WRITTEN := $(filter $(RANDOM_SPECS),$(patsubst build/tests/specs/%/spec.c,%,$(wildcard build/tests/specs/random_*/spec.c)))
# test_decoding links decoders, DECODED_SPECS of build/tests/specs.
WITH_DECODERS := tests/unit/test_decoding.c
DECODED_SPECS ?= $(addprefix parity_,decoder_rope decoder_relative) $(addprefix parity_float64_,decoder_alibi \
	encoder_decoder identity_encoder drawn_layers drawn_pair masks lines) parity_decoder_digits
# test_random also compares specs without stored vectors: scores that read values of tokens, queries that count keys or
# sum over them, passes of loops, and encodings by layer.
OTHER_SPECS := $(addprefix parity_float64_,fox cable grape cope cope_undivided row_sums stick_breaking stick_rests \
	passes passes_by_length passes_every passes_every_post passes_layers passes_progressive layers layers_decoder \
	layers_inject output)
# test_encoder_decoder also compares generated code of specs of tests/specs/networks, MORE_PAIRS (long_vectors.sh).
WITH_PAIRS := tests/unit/test_encoder_decoder.c
MORE_PAIRS ?=
# Two tests link generated formulas, build/tests/expressions/part_*.c, which tests/run.sh writes.
WITH_FORMULAS := tests/unit/test_expressions.c tests/unit/test_library.c
FORMULA_OBJECTS := $(patsubst build/tests/%.c,$(B)/%.o,$(wildcard build/tests/expressions/part_*.c))
# Tests of kernels/cpu are compiled with sanitizers, for each of LINKED_LEVELS in both element sizes, and for the lowest
# level in float. The tests of generated code compile the same kernels with the flags of a release.
WITH_KERNELS := $(patsubst %,tests/unit/test_%.c,softmax matmul attention_kernels updates rows functions outwards stick \
	recurrence)
PLAIN_UNITS := $(filter-out $(WITH_SPECS) $(WITH_RANDOM) $(WITH_DECODERS) $(WITH_FORMULAS) $(WITH_KERNELS),$(wildcard tests/unit/test_*.c))
KERNEL_UNITS := $(sort $(foreach level,$(LINKED_LEVELS),$(level).4 $(level).8) $(firstword $(COMPILER_LEVELS)).4)
UNIT_TESTS.release := $(sort $(WITH_SPECS:%.c=$(B)/%) $(WITH_DECODERS:%.c=$(B)/%) $(if $(RANDOM_WRITTEN),$(WITH_RANDOM:%.c=$(B)/%)) $(if $(FORMULA_OBJECTS),$(WITH_FORMULAS:%.c=$(B)/%)))
UNIT_TESTS.asan := $(sort $(PLAIN_UNITS:%.c=$(B)/%)) $(foreach unit,$(KERNEL_UNITS),$(WITH_KERNELS:%.c=$(B)/%.$(unit)) \
	$(B)/tests/unit/test_functions.device.$(unit))
UNIT_TESTS.plain := $(UNIT_TESTS.asan)
UNIT_TESTS.tsan := $(patsubst %,$(B)/tests/unit/test_%,engine evaluate group loop loop_resume loop_init loop_signals \
	window team)
UNIT_TESTS := $(UNIT_TESTS.$(VARIANT))

# Unit tests are one cmocka binary per file (those of kernels: one per level and element size), linked with the
# reference kernels. Tests of generated code link the specs of tests/specs and have the flags of a release; all others
# run with sanitizers. Compiling a step takes seconds, so not all steps are compiled for all levels, nor optimised as
# trainers are: specs of EVERY_LEVEL are compiled for all levels, some random ones for the lowest, the others for
# LEVELS. Specs of AS_RELEASED (patterns) are optimised; the others compile in a third of the time, which saves more
# than their slower steps cost. Kernels are the same in all.
EVERY_LEVEL ?= parity_dropout_rand_rope
AS_RELEASED ?= $(EVERY_LEVEL) parity_relative parity_dropout_relative parity_decoder_rope parity_geometric_plain
TEST_SPECS := $(RANDOM_WRITTEN) $(filter-out random_%,$(sort $(patsubst build/tests/specs/%/spec.c,%,$(wildcard \
	build/tests/specs/*/spec.c))))
FUZZ_SOURCES := $(filter-out tests/fuzz/libfuzzer.c,$(wildcard tests/fuzz/*.c))
TEST_OBJECTS := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/support/*.c)))
ifneq ($(VARIANT),tsan) # The thread sanitizer supports neither vectors nor networks.
TEST_OBJECTS += $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/reference/*.c) $(FUZZ_SOURCES))) $(B)/networks.o
endif
levels_of = $(if $(filter $(1),$(EVERY_LEVEL)),$(COMPILER_LEVELS),$(if $(filter random_%1 random_%3 random_%5,$(1)),$(firstword \
	$(COMPILER_LEVELS)),$(LINKED_LEVELS)))
cuda_half_of = $(if $(wildcard build/tests/specs/$(1)/cuda.c),cuda)
objects_of = $(B)/specs/$(1)/spec.o $(patsubst %,$(B)/specs/$(1)/step.%.o,$(call levels_of,$(1))) \
	$(patsubst %,$(B)/specs/$(1)/%.o,$(call cuda_half_of,$(1)))
SPEC_OBJECTS := $(if $(filter release,$(VARIANT)),$(foreach id,$(TEST_SPECS),$(call objects_of,$(id))))
# cmocka passes a state to every test function; most of them need none.
TEST_FLAGS := -Itests -Itests/support -Wno-unused-parameter

unit: $(UNIT_TESTS)

$(TEST_OBJECTS) $(UNIT_TESTS): RUNTIME_CFLAGS += $(TEST_FLAGS)

UNKNOWN_UNITS := $(filter-out $(UNIT_TESTS),$(filter $(B)/tests/unit/%,$(MAKECMDGOALS)))
ifneq ($(UNKNOWN_UNITS),)
$(error $(firstword $(UNKNOWN_UNITS)): VARIANT=$(VARIANT) has no such unit test; make print-unit-tests VARIANT=$(VARIANT) lists \
	its tests. Tests of generated code need VARIANT=release and sources that tests/run.sh writes; tests of kernels need \
	VARIANT=plain or asan and end in a level and an element size, such as test_softmax.$(firstword $(KERNEL_UNITS)))
endif

# The compiler's header of intrinsics takes a quarter of the time of compiling a step that is not optimised, so gcc
# precompiles it for each level.
INTRINSICS := $(if $(IS_CLANG),,$(if $(filter x86_64%,$(MACHINE)),$(B)/specs/intrinsics))
$(ALL_LEVELS:%=$(B)/specs/intrinsics.%.h): $(B)/specs/intrinsics.%.h: $(TEST_RULES) $(B)/compiler
	@mkdir -p $(@D)
	echo '#include <immintrin.h>' >$@
	$(CC) $(STEP_CFLAGS) -g0 -Og $(march.$*) $(CHECKS) -x c-header -o $@.gch $@

define spec_rules
$(B)/specs/$(1)/levels: FORCE
	$$(call write_if_changed,$(call levels_of,$(1)) $(call cuda_half_of,$(1)))

$(B)/specs/$(1)/spec.o: build/tests/specs/$(1)/spec.c $(B)/specs/$(1)/levels $(TEST_RULES) $(B)/compiler
	$$(CC) $$(SPEC_CFLAGS) $$(CHECKS) $$(call define_levels,$(call levels_of,$(1)) $(call cuda_half_of,$(1))) -MMD -MP -c -o $$@ $$<

$(B)/specs/$(1)/cuda.o: build/tests/specs/$(1)/cuda.c $(TEST_RULES) $(B)/compiler
	@mkdir -p $$(@D)
	$$(CC) $$(RUNTIME_CFLAGS) $$(GENERATED_CFLAGS) $$(CHECKS) -MMD -MP -c -o $$@ $$<

$(B)/specs/$(1)/step.%.o: build/tests/specs/$(1)/step.c $(if $(filter $(AS_RELEASED),$(1)),,$(addsuffix .%.h,$(INTRINSICS))) \
		$(TEST_RULES) $(B)/compiler
	@mkdir -p $$(@D)
	$$(CC) $$(STEP_CFLAGS) -g0 $(if $(filter $(AS_RELEASED),$(1)),,-Og $(INTRINSICS:%=-include %.$$*.h)) $$(march.$$*) $$(CHECKS) \
		-MMD -MP -c -o $$@ $$<
endef
$(foreach id,$(TEST_SPECS),$(eval $(call spec_rules,$(id))))

# Networks as tables, for the interpreter in double precision: networks of test specs, of specs with stored vectors, of
# random specs, and ANY_NETWORKS random networks without a spec.
ANY_NETWORKS ?= 30
NETWORK_SPECS := $(sort $(wildcard tests/specs/parity_*.lua \
	$(patsubst tests/reference/%.safetensors,tests/specs/networks/%.lua,$(wildcard tests/reference/*.safetensors))))
NETWORK_SOURCES := tests/support/networks.c.tpl tests/support/random_specs.lua tests/support/reference_network.lua \
	tests/lua/networks.lua tests/lua/random.lua $(shell find generator -name '*.lua')

build/tests/networks: FORCE
	$(call write_if_changed,$(ANY_NETWORKS) $(NETWORK_SPECS) $(RANDOM_SPECS))

build/tests/networks.c: tests/support/render_networks.lua build/tests/networks $(NETWORK_SPECS) $(NETWORK_SOURCES)
	$(or $(LUA),lua5.4) $< $@ $(ANY_NETWORKS) $(NETWORK_SPECS) $(RANDOM_SPECS)

$(B)/networks.o: build/tests/networks.c $(TEST_RULES) $(B)/compiler
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) $(CHECKS) -MMD -MP -c -o $@ $<

$(B)/lib/libspecs.a: $(SPEC_OBJECTS) $(REFERENCE_OBJECTS) $(TEST_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

FORMULA_CFLAGS = $(STEP_CFLAGS) $(or $(FORMULA_O),-O0 -g0) $(march.$(lastword $(LINKED_LEVELS))) $(TEST_FLAGS)

# Formulas take longer to compile than to run on nine tokens, so they are not optimised; those of test_library, which
# has long sequences, are a little.
$(B)/expressions/part_library.o $(B)/tests/unit/test_library: FORMULA_O := -O1 -g0

$(B)/expressions/%.o: build/tests/expressions/%.c $(TEST_RULES) $(B)/compiler
	@mkdir -p $(@D)
	$(CC) $(FORMULA_CFLAGS) -Wunused-parameter -Werror -MMD -MP -c -o $@ $<

$(WITH_FORMULAS:%.c=$(B)/%): $(B)/%: %.c $(FORMULA_OBJECTS) $(B)/lib/libspecs.a $(LIBRARY) $(TEST_RULES)
	@mkdir -p $(@D)
	$(CC) $(FORMULA_CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(FORMULA_OBJECTS) $(B)/lib/libspecs.a $(LIBRARY) -lcmocka $(LIBRARIES)

$(WITH_PAIRS:%.c=$(B)/%): RUNTIME_CFLAGS += $(if $(MORE_PAIRS),-DLH_MORE_PAIRS='$(patsubst %,X(%),$(MORE_PAIRS))')
$(WITH_DECODERS:%.c=$(B)/%): RUNTIME_CFLAGS += -DLH_DECODED_SPECS='$(patsubst %,X(%),$(DECODED_SPECS))'
$(WITH_RANDOM:%.c=$(B)/%): RUNTIME_CFLAGS += -DLH_RANDOM_SPECS='$(patsubst %,X(%),$(RANDOM_WRITTEN) $(OTHER_SPECS))'

$(B)/tests/unit/%: tests/unit/%.c $(B)/lib/libspecs.a $(LIBRARY) $(TEST_RULES)
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) $(CHECKS) -MMD -MP -MF $@.d -o $@ $< $(B)/lib/libspecs.a $(LIBRARY) -lcmocka $(LIBRARIES)

define kernel_rules
$(KERNEL_UNITS:%=$(B)/$(1).%): $(B)/$(1).%: $(1).c $(B)/lib/libspecs.a $(LIBRARY) $(TEST_RULES)
	@mkdir -p $$(@D)
	$$(CC) $$(STEP_CFLAGS) -O0 $$(march.$$(basename $$*)) -DREAL_BYTES=$$(subst .,,$$(suffix $$*)) \
		$$(TEST_FLAGS) $$(CHECKS) -MMD -MP -MF $$@.d \
		-o $$@ $$< $(B)/lib/libspecs.a $(LIBRARY) -lcmocka $$(LIBRARIES)
endef
$(foreach test,$(WITH_KERNELS:.c=),$(eval $(call kernel_rules,$(test))))

# test_functions.device tests kernels/cuda/functions.cu with the bounds of kernels/cpu/functions.h.
$(KERNEL_UNITS:%=$(B)/tests/unit/test_functions.device.%): $(B)/tests/unit/test_functions.device.%: \
		tests/unit/test_functions.c $(B)/lib/libspecs.a $(LIBRARY) $(TEST_RULES)
	@mkdir -p $(@D)
	$(CC) $(STEP_CFLAGS) -O0 $(march.$(basename $*)) -DREAL_BYTES=$(subst .,,$(suffix $*)) -DDEVICE \
		$(TEST_FLAGS) $(CHECKS) -MMD -MP -MF $@.d -o $@ $< $(B)/lib/libspecs.a $(LIBRARY) -lcmocka $(LIBRARIES)

-include tests/emulation/emulation.mk

# Fuzzing: `fuzz` needs libFuzzer, which comes with clang; `fuzz-long` runs more of the tests' own mutations instead.
FUZZ_SECONDS ?= 60
FUZZ_CASES ?= 1000000
FUZZ_SEED ?= 1
FUZZ_TARGETS := build/fuzz/checkpoint build/fuzz/json_lines

build/fuzz/%: tests/fuzz/%.c tests/fuzz/libfuzzer.c tests/fuzz/fuzz.c tests/support/toy_spec.c $(RUNTIME_SOURCES)
	@mkdir -p build/fuzz
	clang -std=gnu11 -O1 -g1 -ffp-contract=off -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		$(WARNINGS) $(INCLUDES) $(TEST_FLAGS) -DLH_FUZZ_TARGET=lh_fuzz_$* -o $@ $^ -ljansson -pthread -lm

fuzz: $(FUZZ_TARGETS) ## run libFuzzer on the readers of checkpoints and lines, FUZZ_SECONDS=60 each; needs clang
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p $$target.corpus && LH_FUZZ_SEEDS=$$target.corpus $$target && \
		$$target -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -max_len=65536 -seed=$(FUZZ_SEED) \
			-print_final_stats=1 -verbosity=0 -artifact_prefix=$$target. $$target.corpus || exit; \
	done

fuzz-long: ## read FUZZ_CASES=1000000 mutated specs, checkpoints and lines (FUZZ_SEED=1)
	$(MAKE) -s unit VARIANT=asan LEVELS=best
	LH_FUZZ_CASES=$(FUZZ_CASES) LH_FUZZ_SEED=$(FUZZ_SEED) build/asan/tests/unit/test_fuzz
	LH_FUZZ_CASES=$(FUZZ_CASES) LH_FUZZ_SEED=$(FUZZ_SEED) $(or $(LUA),lua5.4) tests/lua/test_fuzz.lua

# The bench check compares generated steps with a hand-written one, at a level that valgrind supports. See
# tests/bench/check.sh.
BENCH_SPECS := parity_check_sinusoid reverse_string_rand_rope $(patsubst tests/bench/specs/%.lua,%,\
	$(wildcard tests/bench/specs/*.lua))
BENCH_LEVEL := x86-64-v3
BENCH_BUILDS := $(filter $(call keep_runnable,$(BENCH_LEVEL)),$(COMPILER_LEVELS))
BENCH_CFLAGS := $(STEP_CFLAGS) $(march.$(BENCH_LEVEL)) -Itests
COMPILER_NAME = $(if $(IS_CLANG),clang,gcc) $(shell $(CC) -dumpfullversion 2>/dev/null || $(CC) -dumpversion)

build/bench/step.o: tests/bench/step.c tests/bench/step.h $(TEST_RULES)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -c -o $@ $<

define bench_rules
build/bench/$(1)/src/spec.c: FORCE
	@./longhand gen $$(or $$(wildcard tests/bench/specs/$(1).lua),$(1)) --out build/bench/$(1)/src >/dev/null

build/bench/$(1)/step.o: build/bench/$(1)/src/spec.c $(TEST_RULES)
	$$(CC) $$(BENCH_CFLAGS) -MMD -MP -c -o $$@ build/bench/$(1)/src/step.c

build/bench/$(1)/spec.o: build/bench/$(1)/src/spec.c $(TEST_RULES)
	$$(CC) $$(SPEC_CFLAGS) $$(call define_levels,$(BENCH_LEVEL)) -c -o $$@ $$<

build/bench/$(1)/check: tests/bench/check.c build/bench/$(1)/spec.o build/bench/$(1)/step.o build/bench/step.o $$(LIBRARY)
	$$(CC) $$(RUNTIME_CFLAGS) -Itests -DCHECK_SPEC=$(call make_symbol,spec,$(1)) -o $$@ $$^ $$(LIBRARIES)

-include build/bench/$(1)/step.d
endef
$(foreach id,$(BENCH_SPECS),$(eval $(call bench_rules,$(id))))

bench-programs: $(if $(BENCH_BUILDS),$(BENCH_SPECS:%=build/bench/%/check))

ifneq ($(BENCH_BUILDS),)
bench-check: bench-programs ## fail where a generated step has become slower
	@COMPILER="$(COMPILER_NAME)" sh tests/bench/check.sh

bench-record: bench-programs ## write tests/bench/instructions.txt again; read the diff
	@COMPILER="$(COMPILER_NAME)" sh tests/bench/check.sh --record
else
bench-check bench-record:
	@echo "skip bench-check: $(CC) or this processor does not know $(BENCH_LEVEL)"
endif

# Called by tests/bench/mixed.sh, once the trainers mixed_% and plain_% exist.
build/bench/mixed/%/measure: tests/bench/mixed.c FORCE $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) -DMIXED_SPEC=$(call make_symbol,spec,mixed_$*) -DPLAIN_SPEC=$(call make_symbol,spec,plain_$*) -o $@ $< \
		$(foreach half,mixed plain,$(wildcard build/bench/mixed/$(half)_$*/obj/s*.o)) $(LIBRARY) $(LIBRARIES)

bench-peers: ## time PyTorch, JAX and matrix libraries next to our trainers, on the CPU (FLAGS="--minutes 20")
	@$(or $(PYTHON),python3) tests/peers/cpu.py $(FLAGS)

# Matrix products of a training block compared with libraries, with the tiles of a trainer's SOURCES;
# tests/peers/products.py calls this. LIBXSMM: the folder that has include and lib, if the compiler does not find
# libxsmm itself.
XSMM_PLACE := $(if $(LIBXSMM),-isystem $(LIBXSMM)/include -L$(LIBXSMM)/lib)
XSMM = $(if $(call accepts,$(XSMM_PLACE) -include libxsmm.h),-DWITH_XSMM $(XSMM_PLACE) -lxsmm -lxsmmnoblas)

build/peers/products.%: FORCE $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(STEP_CFLAGS) $(march.$*) -I$(SOURCES) -o $@ tests/peers/products.c $(LIBRARY) $(XSMM) $(LIBRARIES)

print-unit-tests:
	@printf '%s\n' $(UNIT_TESTS)

print-random-specs:
	@printf '%s\n' $(RANDOM_SPECS)

-include $(REFERENCE_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(SPEC_OBJECTS:.o=.d) $(FORMULA_OBJECTS:.o=.d) $(UNIT_TESTS:=.d)
