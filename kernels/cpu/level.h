/* Instruction-set level of this translation unit: name, vector width, and KEY_TILE, the number of keys whose gradients
 * attention sums at once. These constants follow from the compiler's target (-march=x86-64-v4, ...). LH_VECTOR_BYTES is
 * the width of the registers: code with wider vectors would also compile, but run ten times slower. */
#ifndef LONGHAND_KERNELS_LEVEL_H
#define LONGHAND_KERNELS_LEVEL_H

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
#define LH_LEVEL_X86_64_V4
#define LH_LEVEL_NAME "x86-64-v4"
#define LH_LEVEL_SYMBOL(id) longhand_x8664v4_##id
#define LH_VECTOR_BYTES 64
enum { KEY_TILE = 8 };
#elif defined(__AVX2__) && defined(__FMA__)
#define LH_LEVEL_X86_64_V3
#define LH_LEVEL_NAME "x86-64-v3"
#define LH_LEVEL_SYMBOL(id) longhand_x8664v3_##id
#define LH_VECTOR_BYTES 32
enum { KEY_TILE = 4 };
#elif defined(__x86_64__)
#define LH_LEVEL_X86_64
#define LH_LEVEL_NAME "x86-64"
#define LH_LEVEL_SYMBOL(id) longhand_x8664_##id
#define LH_VECTOR_BYTES 16
enum { KEY_TILE = 4 };
#elif defined(__aarch64__)
#define LH_LEVEL_AARCH64
#define LH_LEVEL_NAME "aarch64"
#define LH_LEVEL_SYMBOL(id) longhand_aarch64_##id
#define LH_VECTOR_BYTES 16
enum { KEY_TILE = 8 };
#else
#error "no instruction-set level for this processor"
#endif

#endif
