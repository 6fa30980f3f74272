# The CUDA half of the build, part of the Makefile.
#
# TARGETS=cpu,cuda   trainers with a CUDA half; default cpu
# ARCH=sm_80,...     architectures to compile device code for: a list, native, all; default one of each class of GPUs
# JIT=1              trainers contain the source instead, which NVRTC compiles where they run; with ARCH, in addition
#                    to compiled images
# CUDA_ROOT=DIR      the toolkit's folder
#
# Device code is compiled by nvcc, or by runtime/device_compiler.c, which calls NVRTC. runtime/cuda/toolkit.sh finds
# both. TOOLKIT is the output of that script, for callers that have it already. These variables are not taken from
# the environment.
$(foreach name,TARGETS ARCH JIT CUDA_ROOT TOOLKIT,$(if $(filter environment,$(origin $(name))),$(eval $(name) :=)))
TARGETS := $(or $(TARGETS),cpu)
WITH_CUDA := $(filter cuda,$(subst $(comma), ,$(TARGETS)))
ifneq ($(filter-out cpu cuda,$(subst $(comma), ,$(TARGETS))),)
$(error TARGETS=$(TARGETS): expected cpu or cpu,cuda)
endif
ifneq ($(filter-out 1,$(JIT)),)
$(error JIT=$(JIT): expected JIT=1)
endif
ifneq ($(and $(WITH_CUDA),$(STATIC)),)
$(error a trainer with a CUDA half cannot be static: it loads the driver's library, which only a dynamic one can)
endif

# Arguments: architectures, the lowest architecture. Result: kind, version and path of the compiler, then architectures;
# empty after an error, which is printed.
find_toolkit = $(shell CC="$(CC)" sh runtime/cuda/toolkit.sh --build "$(BUILD)" --root "$(CUDA_ROOT)" --arch "$(1)" \
	--least "$(2)")
least_architecture = $(shell sed -n 's/.*\.least_architecture = \([0-9]*\).*/\1/p' $(1) 2>/dev/null)

# Compiles a text for one architecture, and writes the assembler's report on each kernel to RESULT.log. Arguments: the
# toolkit's words, the architecture, text, result. Warnings are errors.
DEVICE_FLAGS := -std=c++17 --fmad=true --ftz=false --prec-div=true --prec-sqrt=true --Werror all-warnings -Xptxas -v
compile_device = rm -f $(4); $(if $(filter nvcc,$(firstword $(1))),\
	$(word 3,$(1)) $(if $(filter sm_%,$(2)),-cubin,-ptx) -arch=$(2) $(DEVICE_FLAGS) -o $(4) $(3),\
	$(BUILD)/host/device_compiler $(word 3,$(1)) $(2) $(3) $(4)) >$(4).log 2>&1 || { cat $(4).log >&2; exit 1; }

DEVICE_COMPILER := runtime/device_compiler.c $(patsubst %,runtime/cuda/%,nvrtc.c find.c image.c) runtime/base/status.c
$(BUILD)/host/device_compiler: $(DEVICE_COMPILER) $(patsubst %,runtime/cuda/%,nvrtc.h find.h image.h) Makefile cuda.mk
	@mkdir -p $(@D)
	$(call write_output,$(CC) -std=gnu11 -O1 $(WARNINGS) $(INCLUDES) -o,$(DEVICE_COMPILER) -ldl)

ifneq ($(and $(WITH_CUDA),$(ID)),)
ifeq ($(TOOLKIT)$(and $(JIT),$(if $(ARCH),,yes)),)
TOOLKIT := $(call find_toolkit,$(ARCH),$(call least_architecture,$(SOURCES)/cuda.c))
ifeq ($(TOOLKIT),)
$(error no device code can be compiled)
endif
endif
IMAGES := $(wordlist 4,99,$(TOOLKIT))
CUDA_OBJECTS := $(OUT)/obj/cuda.o $(OUT)/obj/images.o

# Images depend on the toolkit and on JIT.
$(OUT)/obj/images/made: FORCE
	$(call write_if_changed,$(TOOLKIT) $(JIT))

$(IMAGES:%=$(OUT)/obj/images/%): $(OUT)/obj/images/%: $(SOURCES)/device.cu $(OUT)/obj/images/made cuda.mk \
		$(if $(filter nvrtc,$(TOOLKIT)),$(BUILD)/host/device_compiler)
	$(call compile_device,$(TOOLKIT),$*,$<,$@)

$(OUT)/obj/images.o: runtime/images.c $(SOURCES)/device.cu $(OUT)/obj/images/made $(IMAGES:%=$(OUT)/obj/images/%) \
		Makefile cuda.mk $(B)/compiler
	$(CC) $(RUNTIME_CFLAGS) $(CHECKS) $(if $(JIT),-DLH_CUDA_TEXT='"$(SOURCES)/device.cu"' \
		-DLH_CUDA_TEXT_SYMBOL='"$(call make_symbol,text,$(ID))"') $(if $(IMAGES),\
		-DLH_CUDA_IMAGES_SYMBOL=$(call make_symbol,images,$(ID)) -DLH_CUDA_FOLDER='"$(OUT)/obj/images"' \
		-DLH_CUDA_IMAGES='$(foreach image,$(IMAGES),IMAGE($(image)))') \
		-MMD -MP -c -o $@ $<

$(OUT)/obj/cuda.o: $(SOURCES)/cuda.c $(OUT)/obj/images/made Makefile cuda.mk $(B)/compiler
	$(CC) $(RUNTIME_CFLAGS) $(GENERATED_CFLAGS) $(CHECKS) $(if $(IMAGES),-DLH_CUDA_TOOLKIT='"$(word 2,$(TOOLKIT))"') \
		$(if $(JIT),-DLH_CUDA_SOURCE) -MMD -MP -c -o $@ $<
endif

# make cuda-check, cuda-all and cuda-record write build/cuda/<compiler>/<id>.<architecture>, each with its log.
# tests/cuda/check.sh sets TOOLKIT.
ifneq ($(and $(TOOLKIT),$(if $(ID),,yes)),)
DEVICE_OUT := build/cuda/$(firstword $(TOOLKIT))-$(word 2,$(TOOLKIT))
DEVICE_TEXTS := $(wildcard generated/*/device.cu build/cuda/specs/*/device.cu)
DEVICE_DEPENDS := cuda.mk $(if $(filter nvrtc,$(TOOLKIT)),$(BUILD)/host/device_compiler)
define device_rule
$(DEVICE_OUT)/$(notdir $(1:%/device.cu=%)).sm_%: $(1) $(DEVICE_DEPENDS)
	@mkdir -p $$(@D)
	$$(call compile_device,$$(TOOLKIT),sm_$$*,$$<,$$@)
endef
$(foreach text,$(DEVICE_TEXTS),$(eval $(call device_rule,$(text))))
endif

cuda-check: ## compile device code of the showcase for a GPU of each class; compare registers and instructions
	@CC="$(CC)" sh tests/cuda/check.sh

cuda-all: ## run cuda-check for every GPU of the toolkit (or ARCH=LIST) and every encoding; takes long
	@CC="$(CC)" sh tests/cuda/check.sh --all $(ARCH)

cuda-record: ## write tests/cuda/resources.txt and counts.txt again; read the diff
	@CC="$(CC)" sh tests/cuda/check.sh --record
