/* Slabs: the pieces of two matrices that a block has in shared memory while it multiplies them. Slab rows are k, the
 * index that is summed over. In a row, fours of neighbours change places, so that a warp that writes columns or reads
 * fragments uses all banks. */

enum { TILE = 64 /* columns of a slab */, SLAB = 32 /* of k at a time */ };
