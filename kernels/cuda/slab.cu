/* Slabs: the parts of two matrices that a block has in shared memory while it multiplies them. A row of a slab has the
 * elements with one k, the summed index. Quads, four adjacent elements, are permuted within a row, so that a warp
 * accesses all memory banks. */

enum { TILE = 64 /* columns of a slab */, SLAB = 32 /* rows of a slab */ };
