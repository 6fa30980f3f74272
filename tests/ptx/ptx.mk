# Rules for running PTX on the host (tests/ptx), part of emulation.mk: a machine that is linked into the emulation and
# runs the program that the variable LONGHAND_PTX names, and programs from the PTX of test specs for
# tests/ptx/check.sh, which gives TOOLKIT as runtime/cuda/toolkit.sh prints it.
ifeq ($(VARIANT),release)
PTX_OBJECTS := $(patsubst %.cpp,$(B)/%.o,$(wildcard tests/ptx/*.cpp))
EMULATION_OBJECTS += $(PTX_OBJECTS)
endif
PTX_LUA := $(or $(LUA),lua5.4)
PTX_TRANSLATOR := $(patsubst %,tests/ptx/%.lua,translate parse assemble instructions)

$(PTX_OBJECTS): EMULATION_CXXFLAGS += -O2 -Itests -I$(B)/ptx
$(B)/tests/ptx/operations.o: EMULATION_CXXFLAGS += -O3 -fwrapv -fno-strict-aliasing -Wno-unused-function
$(B)/tests/ptx/operations.o: $(B)/ptx/operations.inc

$(B)/ptx/operations.inc: tests/ptx/operations.lua tests/ptx/instructions.lua
	@mkdir -p $(@D)
	$(PTX_LUA) $< > $@

$(B)/tests/ptx/%.o: tests/ptx/%.cpp Makefile tests/emulation/emulation.mk tests/ptx/ptx.mk $(B)/compiler
	@mkdir -p $(@D)
	$(CXX) $(EMULATION_CXXFLAGS) $(CHECKS) -MMD -MP -c -o $@ $<

$(B)/tests/ptx/run: tests/ptx/run.c $(B)/emulation/emulated.so
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) -Itests -o $@ $< $(CURDIR)/$(B)/emulation/emulated.so

# Texts of device code: those of test specs, and those of build/ptx/specs, which check.sh writes; the latter belong to
# whole models, whose source is not emulated.
PTX_ARCHITECTURE := compute_90
PTX_OUT := build/ptx/$(firstword $(TOOLKIT))-$(word 2,$(TOOLKIT))
PTX_MODELS := $(patsubst build/ptx/specs/%/spec.c,%,$(wildcard build/ptx/specs/*/spec.c))
PTX_TEXTS := $(wildcard build/tests/specs/*/device.cu build/ptx/specs/*/device.cu)
define ptx_text_rule
$(PTX_OUT)/$(notdir $(1:%/device.cu=%)).ptx: $(1) cuda.mk $(if $(filter nvrtc,$(TOOLKIT)),build/host/device_compiler)
	@mkdir -p $$(@D)
	$$(call compile_device,$$(TOOLKIT),$(PTX_ARCHITECTURE),$$<,$$@)
endef
ifneq ($(TOOLKIT),)
$(foreach text,$(PTX_TEXTS),$(eval $(call ptx_text_rule,$(text))))
endif

$(PTX_OUT)/%.program: $(PTX_OUT)/%.ptx $(PTX_TRANSLATOR)
	$(PTX_LUA) tests/ptx/translate.lua $< $@

# Objects of whole models. Their CPU halves run a few sequences only, so they are not optimised.
define ptx_model_rules
$(B)/ptx/$(1)/spec.o: build/ptx/specs/$(1)/spec.c Makefile $(B)/compiler
	@mkdir -p $$(@D)
	$$(CC) $$(SPEC_CFLAGS) $(call define_levels,$(LINKED_LEVELS) cuda) -MMD -MP -c -o $$@ $$<

$(B)/ptx/$(1)/counted.o: build/ptx/specs/$(1)/spec.c Makefile $(B)/compiler
	@mkdir -p $$(@D)
	$$(CC) $$(SPEC_CFLAGS) $(call define_levels,cuda) -MMD -MP -c -o $$@ $$<

$(B)/ptx/$(1)/cuda.o: build/ptx/specs/$(1)/cuda.c Makefile $(B)/compiler
	@mkdir -p $$(@D)
	$$(CC) $$(RUNTIME_CFLAGS) $$(GENERATED_CFLAGS) -MMD -MP -c -o $$@ $$<

$(B)/ptx/$(1)/step.o: build/ptx/specs/$(1)/step.c Makefile $(B)/compiler
	@mkdir -p $$(@D)
	$$(CC) $$(STEP_CFLAGS) -O0 -g0 $$(march.$(lastword $(LINKED_LEVELS))) -MMD -MP -c -o $$@ $$<

-include $(patsubst %,$(B)/ptx/$(1)/%.d,spec counted cuda step)
endef
$(foreach id,$(PTX_MODELS),$(eval $(call ptx_model_rules,$(id))))

# Largest relative differences between device and CPU, as bounds of test_model.c. Those of the showcase are 3.4 to 11.6%
# in tf32 (rand_relative) and 24.5% in bf16.
PTX_BOUNDS := -DLH_TF32_BOUND=1.5e-1 -DLH_BF16_BOUND=5e-1
PTX_LINKED := $(B)/tests/emulation/launch_model.o $(B)/tests/support/lh_test.o $(REFERENCE_OBJECTS)
link_ptx = $(CC) $(call bind_model,$(call make_symbol,spec,$*)) -o $@ $(filter %.o,$^) $(LIBRARY) \
	$(CURDIR)/$(B)/emulation/emulated.so -lcmocka $(LIBRARIES)

PTX_MODEL_TESTS := $(addprefix $(B)/tests/ptx/,test_model.o model_sides.o decoded_model.o)
$(PTX_MODEL_TESTS): $(B)/tests/ptx/%.o: tests/emulation/%.c Makefile tests/ptx/ptx.mk $(B)/compiler
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_CFLAGS) $(TEST_FLAGS) -Itests/emulation -O1 $(PTX_BOUNDS) -MMD -MP -c -o $@ $<

$(B)/tests/ptx/count.o: RUNTIME_CFLAGS += $(TEST_FLAGS) -Itests/emulation -Itests/ptx

$(PTX_MODELS:%=$(B)/tests/ptx/test_model.%): $(B)/tests/ptx/test_model.%: $(PTX_MODEL_TESTS) $(PTX_LINKED) \
		$(B)/ptx/%/spec.o $(B)/ptx/%/step.o $(B)/ptx/%/cuda.o $(B)/emulation/emulated.so $(LIBRARY)
	$(link_ptx)

$(PTX_MODELS:%=$(B)/tests/ptx/count.%): $(B)/tests/ptx/count.%: $(B)/tests/ptx/count.o $(PTX_LINKED) $(B)/ptx/%/counted.o \
		$(B)/ptx/%/cuda.o $(B)/emulation/emulated.so $(LIBRARY)
	$(link_ptx)

-include $(PTX_OBJECTS:.o=.d) $(PTX_MODEL_TESTS:.o=.d) $(B)/tests/ptx/count.d
