/* Comparison of the runtime's declarations of NVRTC (runtime/cuda/nvrtc.h) with the headers of a toolkit;
 * tests/cuda/check.sh compiles it, nothing runs it. The types of functions are compared as in driver.c. */
#include <nvrtc.h>

#include "runtime/cuda/nvrtc.h"

_Static_assert(LH_NVRTC_COMPILATION_FAILED == (int)NVRTC_ERROR_COMPILATION,
               "the result of a source that does not compile");
_Static_assert(sizeof(nvrtcResult) == sizeof(int), "results are int");

#define FUNCTION(name) _Static_assert(sizeof((__typeof__(((lh_nvrtc *)0)->name))&name) == sizeof(void (*)(void)), #name)

FUNCTION(nvrtcVersion);
FUNCTION(nvrtcGetNumSupportedArchs);
FUNCTION(nvrtcGetSupportedArchs);
FUNCTION(nvrtcGetErrorString);
FUNCTION(nvrtcCreateProgram);
FUNCTION(nvrtcDestroyProgram);
FUNCTION(nvrtcCompileProgram);
FUNCTION(nvrtcGetProgramLogSize);
FUNCTION(nvrtcGetProgramLog);
FUNCTION(nvrtcGetCUBINSize);
FUNCTION(nvrtcGetCUBIN);
FUNCTION(nvrtcGetPTXSize);
FUNCTION(nvrtcGetPTX);
