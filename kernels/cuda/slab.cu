/* Slabs: the parts of two matrices that a block has in shared memory while it multiplies them; a row has one k, the
 * summed index. Quads of a row are permuted, so that a warp that writes columns or reads fragments uses all banks. */

enum { TILE = 64 /* columns of a slab */, SLAB = 32 /* rows of a slab */ };
