/* Slabs: the parts of two matrices that a block has in shared memory while it multiplies them. The rows of a slab are
 * indexed by k, the summed index. Quads of adjacent elements are permuted within a row, so that a warp that writes
 * columns or reads fragments uses all banks. */

enum { TILE = 64 /* columns of a slab */, SLAB = 32 /* rows of a slab */ };
