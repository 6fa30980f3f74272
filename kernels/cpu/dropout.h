/* Dropout masks from Philox. Two vectors with lanes of 64 bits hold BLOCKS blocks of random numbers: lane i of the
 * first vector is one half of block i, and lane i of the second vector is the other half.
 *
 * Element e = t * C + c (token t, channel c) of example b at a site takes 16 bits: the piece with index e % 8 in block
 * e / 8 of the stream at counter (block, site, b, step). Pieces are halves of words, the low half first. The element is
 * kept if the piece is at least round(65536 p). Masks are bytes, 0 or -1; the backward pass reads the masks of the
 * forward pass. Reference: lh_ref_dropout_keeps.
 */
#ifndef LONGHAND_KERNELS_DROPOUT_H
#define LONGHAND_KERNELS_DROPOUT_H

#include "kernels/cpu/vector.h"
#include "longhand/rng.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    BLOCKS = LH_VECTOR_BYTES / 8, /* number of blocks that are computed at once */
    KEEP_PAD = LH_VECTOR_BYTES    /* number of bytes that a buffer of masks needs after the last mask */
};

typedef uint64_t blocks __attribute__((vector_size(LH_VECTOR_BYTES), aligned(8), may_alias));
typedef int16_t pieces __attribute__((vector_size(LH_VECTOR_BYTES), aligned(2), may_alias));
typedef uint16_t unsigned_pieces __attribute__((vector_size(LH_VECTOR_BYTES), aligned(2), may_alias));
typedef int8_t keeps __attribute__((vector_size(LH_VECTOR_BYTES / 2), aligned(1), may_alias));
typedef int8_t lane_keeps __attribute__((vector_size(LANES), aligned(1), may_alias));

/* Multiplies the low word of each lane by m; the product has 64 bits. gcc 12 compiles the portable form to a slower
 * multiplication of 64-bit numbers; the intrinsic is one instruction. */
INLINE blocks multiply_low(blocks x, uint32_t m) {
    blocks factor = (blocks){0} + m;
#if LH_VECTOR_BYTES == 64
    return (blocks)_mm512_mul_epu32((__m512i)x, (__m512i)factor);
#elif LH_VECTOR_BYTES == 32
    return (blocks)_mm256_mul_epu32((__m256i)x, (__m256i)factor);
#elif defined(__x86_64__)
    return (blocks)_mm_mul_epu32((__m128i)x, (__m128i)factor);
#else
    return (x & 0xffffffffu) * factor;
#endif
}

/* Computes the BLOCKS Philox blocks from block `first` on; out[0] gets words 0 and 1 of each block, out[1] words 2 and
 * 3. Between rounds the high halves of lanes have arbitrary values, which the products do not read. */
INLINE void philox_blocks(lh_key key, uint32_t step, uint32_t example, uint32_t site, uint32_t first, blocks out[2]) {
    const blocks zero = {0}, low = zero + 0xffffffffu;
    blocks x0 = zero + first, x1 = zero + site, x2 = zero + example, x3 = zero + step;
    UNROLL
    for (int i = 0; i < BLOCKS; i++) x0[i] += (uint32_t)i;
    uint32_t k0 = key.word[0], k1 = key.word[1];
    UNROLL
    for (int round = 0; round < 10; round++) {
        blocks p0 = multiply_low(x0, 0xd2511f53u), p1 = multiply_low(x2, 0xcd9e8d57u);
        x0 = (p1 >> 32) ^ x1 ^ k0;
        x1 = p1;
        x2 = (p0 >> 32) ^ x3 ^ k1;
        x3 = p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = (x0 & low) | x1 << 32;
    out[1] = (x2 & low) | x3 << 32;
}

/* Interleaves BLOCKS / 2 lanes of a, from lane `first` on, with the lanes of b that have the same indices. */
INLINE blocks interleave(blocks a, blocks b, const int first) {
    blocks result = {0};
#if defined(__clang__)
    UNROLL
    for (int i = 0; i < BLOCKS; i++) result[i] = i % 2 ? b[first + i / 2] : a[first + i / 2];
#else
    blocks source_lane = result;
    UNROLL
    for (int i = 0; i < BLOCKS; i++) source_lane[i] = (uint64_t)(first + i / 2 + i % 2 * BLOCKS);
    result = __builtin_shuffle(a, b, source_lane);
#endif
    return result;
}

/* Writes keep[count], the masks of one example's elements from element 8 * block on, and up to KEEP_PAD bytes beyond.
 * threshold: round(65536 p). */
INLINE void dropout_keep_from(lh_key key, uint32_t step, uint32_t example, uint32_t site, uint32_t block, int count,
                              uint16_t threshold, int8_t *keep) {
    for (int element = 0; element < count; element += 8 * BLOCKS, keep += 8 * BLOCKS) {
        blocks word[2];
        philox_blocks(key, step, example, site, block + (uint32_t)element / 8, word);
        UNROLL
        for (int i = 0; i < 2; i++) {
            blocks in_order = interleave(word[0], word[1], i * BLOCKS / 2);
            pieces is_kept = (pieces)((unsigned_pieces)in_order >= threshold);
            *(keeps *)(keep + i * 4 * BLOCKS) = __builtin_convertvector(is_kept, keeps);
        }
    }
}

/* Writes keep[count], the masks of one example's elements 0 .. count - 1, and up to KEEP_PAD bytes beyond. */
INLINE void dropout_keep(lh_key key, uint32_t step, uint32_t example, uint32_t site, int count, uint16_t threshold,
                         int8_t *keep) {
    dropout_keep_from(key, step, example, site, 0, count, threshold, keep);
}

/* The source of one example's masks. */
typedef struct keep_source {
    lh_key key;
    uint32_t step, example, site;
} keep_source;

enum { KEEP_SLACK = 8 + KEEP_PAD /* bytes that the buffer of dropout_keep_at needs in addition to its masks */ };

/* Writes the masks of `count` elements, from element `element` on; returns a pointer to the mask of this element in
 * `buffer`, which has count + KEEP_SLACK bytes. */
INLINE const int8_t *dropout_keep_at(const keep_source *source, size_t element, int count, uint16_t threshold,
                                     int8_t *buffer) {
    int skipped = (int)(element % 8);
    dropout_keep_from(source->key, source->step, source->example, source->site, (uint32_t)(element / 8),
                      skipped + count, threshold, buffer);
    return buffer + skipped;
}

/* Loads the masks of REAL_BYTES adjacent elements from each of LANES rows that are `stride` bytes apart: one lane per
 * row, the first mask in the low byte. Reads REAL_BYTES bytes of each row, even past its last mask. */
INLINE bits keep_columns(const int8_t *keep, int stride) {
    real_bits row[LANES];
    for (int i = 0; i < LANES; i++) memcpy(row + i, keep + (size_t)i * (size_t)stride, REAL_BYTES);
    return *(const bits *)row;
}

/* Converts the low byte of each lane to a lane mask, 0 or -1. */
INLINE bits first_keeps(bits columns) { return columns << 8 * (REAL_BYTES - 1) >> (8 * REAL_BYTES - 1); }

/* Converts LANES mask bytes to lane masks, 0 or -1. gcc 12 compiles the portable form lane by lane, which doubled the
 * cost of a layer norm; for float the intrinsic is one instruction. */
INLINE bits keep_mask(const int8_t *keep) {
#if LH_VECTOR_BYTES == 64 && REAL_BYTES == 4
    return (bits)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)keep));
#elif LH_VECTOR_BYTES == 32 && REAL_BYTES == 4
    return (bits)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)keep));
#else
    return __builtin_convertvector(*(const lane_keeps *)keep, bits);
#endif
}

/* row[count] = keep ? row * scale : 0 in place; count a multiple of LANES. */
INLINE void dropout_apply(int count, const int8_t *restrict keep, real scale, real *restrict row) {
    for (int i = 0; i < count; i += LANES) store(row + i, keep_where(keep_mask(keep + i), load(row + i) * scale));
}

#endif
