/* Instruction-set level of this translation unit: its name, its vector width, its register tiles.
 *
 * Derived from what the compiler was told (-march=x86-64-v4, ...), so one source serves every level. Tiles fill the
 * register file without spilling: a product keeps ROWS x COLUMNS accumulators, COLUMNS weights and one activation; a
 * weight gradient OUTER_ROWS x OUTER_COLUMNS accumulators and OUTER_COLUMNS factors. COLUMNS are vectors.
 * A vector wider than the registers compiles, and is ten times slower: width and tile belong to the level.
 */
#ifndef LONGHAND_KERNELS_LEVEL_H
#define LONGHAND_KERNELS_LEVEL_H

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
#define LH_LEVEL_NAME "x86-64-v4"
#define LH_LEVEL_SYMBOL(id) longhand_x8664v4_##id
#define LH_VECTOR_BYTES 64
enum { TILE_ROWS = 6, TILE_COLUMNS = 4, OUTER_ROWS = 8, OUTER_COLUMNS = 3, KEY_TILE = 8 };
#elif defined(__AVX2__) && defined(__FMA__)
#define LH_LEVEL_NAME "x86-64-v3"
#define LH_LEVEL_SYMBOL(id) longhand_x8664v3_##id
#define LH_VECTOR_BYTES 32
enum { TILE_ROWS = 6, TILE_COLUMNS = 2, OUTER_ROWS = 4, OUTER_COLUMNS = 3, KEY_TILE = 4 };
#elif defined(__x86_64__)
#define LH_LEVEL_NAME "x86-64"
#define LH_LEVEL_SYMBOL(id) longhand_x8664_##id
#define LH_VECTOR_BYTES 16
enum { TILE_ROWS = 6, TILE_COLUMNS = 2, OUTER_ROWS = 4, OUTER_COLUMNS = 3, KEY_TILE = 4 };
#elif defined(__aarch64__)
#define LH_LEVEL_NAME "aarch64"
#define LH_LEVEL_SYMBOL(id) longhand_aarch64_##id
#define LH_VECTOR_BYTES 16
enum { TILE_ROWS = 6, TILE_COLUMNS = 4, OUTER_ROWS = 8, OUTER_COLUMNS = 3, KEY_TILE = 8 };
#else
#error "no instruction-set level for this processor"
#endif

#endif
