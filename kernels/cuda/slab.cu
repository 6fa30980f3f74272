/* Slabs: the parts of two matrices that a block has in shared memory while it multiplies them. All elements of a row
 * have the same k, the summed index. Quads of a row are permuted, so that a warp uses all banks. */

enum { TILE = 64 /* columns of a slab */, SLAB = 32 /* rows of a slab */ };
