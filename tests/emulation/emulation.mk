# Device code on the host, part of the Makefile. The emulation is a library in the place of the CUDA driver's. It is
# emulated.so with the kernels of tests/emulation, and <id>.so with those of a test spec: tests/specs/emulated_*.lua, or
# specs of foreign facets in tests/facets/specs. LONGHAND_CUDA_DRIVER may name <id>.so for a trainer, too. test_model.c
# becomes one program per spec; it, test_reference.c and test_random.c have the flags of a release, the other tests run
# with sanitizers.
ifeq ($(origin CXX),default)
CXX := $(if $(IS_CLANG),clang++,g++)
endif
EMULATED_SPECS := $(basename $(notdir $(wildcard tests/specs/emulated_*.lua tests/facets/specs/*.lua))) $(MORE_EMULATED)
# Specs whose device code test_reference.c compares with kernels/ref, found by the names in its text; they are linked
# into one library.
REFERENCE_SPECS := $(sort $(shell sed -n 's/.*&longhand_spec_\(parity_[a-z0-9_]*\)}.*/\1/p' tests/emulation/test_reference.c))
# Random networks that have device code; they are linked into one library, too.
RANDOM_EMULATED := $(filter $(RANDOM_WRITTEN),$(patsubst build/tests/specs/%/cuda.c,%,$(wildcard build/tests/specs/random_*/cuda.c)))
DEVICE_SPECS := $(sort $(EMULATED_SPECS) $(REFERENCE_SPECS) $(RANDOM_EMULATED))
EMULATION_PROGRAMS := kernels toy toy_double $(patsubst tests/emulation/%.cpp,%,$(wildcard \
	tests/emulation/operations_*.cpp))
EMULATION_UNITS := $(patsubst %.c,$(B)/%,$(filter-out %/test_model.c %/test_gradcheck.c \
	%/test_steps.c %/test_reference.c %/test_random.c,$(wildcard tests/emulation/test_*.c)))
EMULATION_MODELS := $(EMULATED_SPECS:%=$(B)/tests/emulation/test_model.%)
# Settings of training of which host and device compute a part each.
EMULATION_STEPS := $(patsubst %,$(B)/tests/emulation/test_steps.%,emulated_mixed emulated_mixed_weighed \
	emulated_weighed $(MORE_STEPPED))
EMULATION_GRADCHECKS := $(EMULATED_SPECS:%=$(B)/tests/emulation/test_gradcheck.%)
EMULATION_REFERENCE := $(B)/tests/emulation/test_reference $(if $(RANDOM_EMULATED),$(B)/tests/emulation/test_random)
# Score formulas as device code (tests/expressions): the tests of tests/unit, linked with these parts instead of C.
DEVICE_FORMULAS := $(patsubst build/tests/%.cpp,$(B)/%.o,$(wildcard build/tests/expressions/device_*.cpp))
DEVICE_FORMULA_TESTS := $(if $(DEVICE_FORMULAS),$(WITH_FORMULAS:%.c=$(B)/%.device))
EMULATION_TESTS := $(if $(SANITIZED),$(EMULATION_UNITS),$(EMULATION_MODELS) $(EMULATION_STEPS) $(EMULATION_REFERENCE) $(DEVICE_FORMULA_TESTS))
EMULATION_OBJECTS := $(patsubst %.cpp,$(B)/%.o,$(filter-out $(EMULATION_PROGRAMS:%=tests/emulation/%.cpp),$(wildcard \
	tests/emulation/*.cpp))) $(B)/emulation/status.o $(B)/emulation/math.o
# The library also contains the machine that runs PTX, with the flags of a release.
include tests/ptx/ptx.mk
EMULATION_CXXFLAGS := -std=c++17 $(if $(SANITIZED),-Og,-O1) -g1 -fPIC -ffp-contract=off -Wall -Wextra -Werror \
	-Wno-unknown-pragmas -Wno-psabi $(march.$(call keep_runnable,x86-64-v3)) $(INCLUDES) -Itests/emulation
# Unaligned addresses, which a GPU refuses and a host accepts, end the program.
ALIGNED := -fsanitize=alignment $(if $(IS_CLANG),-fsanitize-trap,-fno-sanitize-recover)=alignment
# The level of optimisation balances compile time and run time: wide models compute most, specs of test_reference.c
# least. Bits do not depend on this level, since no products are contracted.
emulation_O = $(if $(findstring wide,$(1)),-O1,$(if $(filter $(1),$(EMULATED_SPECS)),-Og,-O0))
WITHOUT_ASSEMBLY := tests/emulation/without_assembly.awk
EMULATION_DEPENDS := Makefile tests/emulation/emulation.mk $(B)/compiler

emulation: $(EMULATION_TESTS) ## tests of device code on the host; needs a C++ compiler

$(B)/tests/emulation/%.o: tests/emulation/%.cpp $(EMULATION_DEPENDS)
	@mkdir -p $(@D)
	$(CXX) $(EMULATION_CXXFLAGS) $(CHECKS) -MMD -MP -c -o $@ $<

$(B)/emulation/%.o: runtime/base/%.c $(EMULATION_DEPENDS)
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) -fPIC $(CHECKS) -MMD -MP -c -o $@ $<

$(DEVICE_SPECS:%=$(B)/emulation/%.cpp): $(B)/emulation/%.cpp: build/tests/specs/%/device.cu $(WITHOUT_ASSEMBLY) $(EMULATION_DEPENDS)
	@mkdir -p $(@D)
	@printf '#include "cuda_emulation.h"\n#line 1 "%s"\n' $(CURDIR)/$< > $@
	@awk -f $(WITHOUT_ASSEMBLY) $< >> $@
	@printf 'EMULATED_KERNEL(%s)\n' $(call make_symbol,train,$*) $(call make_symbol,evaluate,$*) >> $@

# The header that device code includes first, precompiled for each level of optimisation: gcc looks for this folder before
# the header, and takes the file that has the flags of the compilation.
PRECOMPILED_EMULATION := $(if $(IS_CLANG),,$(addprefix $(B)/emulation/cuda_emulation.h.gch/,O0 Og O1))
DEVICE_CXXFLAGS = $(EMULATION_CXXFLAGS) -g0 $(ALIGNED) $(CHECKS) -MMD -MP
$(PRECOMPILED_EMULATION): $(B)/emulation/cuda_emulation.h.gch/%: tests/emulation/cuda_emulation.h $(EMULATION_DEPENDS)
	@mkdir -p $(@D)
	$(CXX) $(DEVICE_CXXFLAGS) -$* -MF $(B)/emulation/precompiled.$*.d -x c++-header -o $@ $<

$(DEVICE_SPECS:%=$(B)/emulation/%.o): %.o: %.cpp $(PRECOMPILED_EMULATION) $(EMULATION_DEPENDS)
	$(CXX) $(DEVICE_CXXFLAGS) $(call emulation_O,$(*F)) -c -o $@ $<

$(B)/emulation/emulated.so: $(EMULATION_PROGRAMS:%=$(B)/tests/emulation/%.o) $(EMULATION_OBJECTS)
	$(CXX) -shared $(CHECKS) -o $@ $^ -pthread

$(EMULATED_SPECS:%=$(B)/emulation/%.so): %.so: %.o $(EMULATION_OBJECTS)
	$(CXX) -shared $(ALIGNED) $(CHECKS) -o $@ $^ -pthread

$(B)/emulation/reference.so: $(REFERENCE_SPECS:%=$(B)/emulation/%.o)
$(B)/emulation/random.so: $(RANDOM_EMULATED:%=$(B)/emulation/%.o)
$(B)/emulation/reference.so $(B)/emulation/random.so: $(EMULATION_OBJECTS)
	$(CXX) -shared $(ALIGNED) $(CHECKS) -o $@ $^ -pthread

# The library of the emulation for a test, by its path in the build folder.
EMULATED = $(CURDIR)/$(filter %.so,$^)
LAUNCH_MODEL := $(B)/tests/emulation/launch_model.o
DEVICE_PARITY := $(B)/tests/emulation/device_parity.o
$(EMULATION_UNITS) $(EMULATION_MODELS) $(EMULATION_GRADCHECKS) $(EMULATION_STEPS) $(EMULATION_REFERENCE) $(LAUNCH_MODEL) $(DEVICE_PARITY): \
	RUNTIME_CFLAGS += $(TEST_FLAGS) -Itests/emulation
# launch_model.c multiplies matrices, so it is optimised.
$(LAUNCH_MODEL): RUNTIME_CFLAGS += -O3 $(march.$(call keep_runnable,x86-64-v3))
link_emulated = $(CC) $(RUNTIME_CFLAGS) -DLH_EMULATED_LIBRARY='"$(EMULATED)"' $(CHECKS) -MMD -MP -MF $@.d \
	-o $@ $< $(filter %.o,$^) $(B)/lib/libspecs.a $(LIBRARY) $(EMULATED) -lcmocka $(LIBRARIES)

$(EMULATION_UNITS): $(B)/tests/emulation/%: tests/emulation/%.c $(B)/emulation/emulated.so $(B)/lib/libspecs.a \
		$(LIBRARY)
	@mkdir -p $(@D)
	$(call link_emulated)

# The objects of the tests are the same for all models: the linker sets lh_model to the spec.
bind_model = -Wl,--undefined=$(1) -Wl,--defsym=lh_model=$(1)
EMULATION_MODEL_TESTS := $(addprefix $(B)/tests/emulation/,test_model.o model_sides.o decoded_model.o)
$(EMULATION_MODEL_TESTS): RUNTIME_CFLAGS += $(TEST_FLAGS) -Itests/emulation
$(EMULATION_MODELS): $(B)/tests/emulation/test_model.%: $(EMULATION_MODEL_TESTS) $(LAUNCH_MODEL) $(B)/emulation/%.so \
		$(B)/lib/libspecs.a $(LIBRARY)
	$(CC) $(CHECKS) $(call bind_model,$(call make_symbol,spec,$*)) -o $@ $(filter %.o,$^) $(B)/lib/libspecs.a $(LIBRARY) \
		$(EMULATED) -lcmocka $(LIBRARIES)

$(EMULATION_GRADCHECKS): $(B)/tests/emulation/test_gradcheck.%: tests/emulation/test_gradcheck.c \
		$(B)/emulation/%.so $(B)/lib/libspecs.a $(LIBRARY)
	@mkdir -p $(@D)
	$(call link_emulated) $(call bind_model,$(call make_symbol,spec,$*))

$(EMULATION_STEPS): $(B)/tests/emulation/test_steps.%: tests/emulation/test_steps.c $(B)/emulation/%.so \
		$(B)/lib/libspecs.a $(LIBRARY)
	@mkdir -p $(@D)
	$(call link_emulated) $(call bind_model,$(call make_symbol,spec,$*))

$(B)/tests/emulation/test_random: RUNTIME_CFLAGS += -DLH_RANDOM_SPECS='$(patsubst %,X(%),$(RANDOM_EMULATED))'

$(EMULATION_REFERENCE): $(B)/tests/emulation/test_%: tests/emulation/test_%.c $(LAUNCH_MODEL) $(DEVICE_PARITY) \
		$(B)/emulation/%.so $(B)/lib/libspecs.a $(LIBRARY)
	@mkdir -p $(@D)
	$(call link_emulated)

$(B)/expressions/device_library.o: DEVICE_O := -O1 -g0
# Loops of device_formula.tpl define all variables that a formula may read, so some variables are unused.
$(DEVICE_FORMULAS): $(B)/%.o: build/tests/%.cpp $(EMULATION_DEPENDS)
	@mkdir -p $(@D)
	$(CXX) $(EMULATION_CXXFLAGS) -Wno-unused-variable -Wno-unused-parameter $(or $(DEVICE_O),-O0 -g0) $(TEST_FLAGS) $(CHECKS) -MMD -MP -c -o $@ $<

$(DEVICE_FORMULA_TESTS:=.o): $(B)/%.device.o: %.c $(EMULATION_DEPENDS)
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) $(TEST_FLAGS) $(CHECKS) -MMD -MP -c -o $@ $<

$(DEVICE_FORMULA_TESTS): %: %.o $(DEVICE_FORMULAS) $(EMULATION_OBJECTS) $(B)/tests/support/lh_test.o $(REFERENCE_OBJECTS)
	$(CXX) $(CHECKS) -o $@ $^ -lcmocka -lm -pthread

print-emulation-tests:
	@printf '%s\n' $(EMULATION_TESTS)

print-emulated-specs:
	@printf '%s\n' $(EMULATED_SPECS)

-include $(EMULATION_OBJECTS:.o=.d) $(EMULATION_PROGRAMS:%=$(B)/tests/emulation/%.d) $(EMULATION_UNITS:=.d) $(EMULATION_MODEL_TESTS:.o=.d) \
	$(EMULATION_GRADCHECKS:=.d) $(EMULATION_STEPS:=.d) \
	$(PRECOMPILED_EMULATION:$(B)/emulation/cuda_emulation.h.gch/%=$(B)/emulation/precompiled.%.d) \
	$(DEVICE_SPECS:%=$(B)/emulation/%.d) $(LAUNCH_MODEL:.o=.d) $(DEVICE_PARITY:.o=.d) $(EMULATION_REFERENCE:=.d) $(DEVICE_FORMULAS:.o=.d) $(DEVICE_FORMULA_TESTS:=.d)
