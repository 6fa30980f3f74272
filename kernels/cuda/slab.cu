/* Slabs: the pieces of two matrices that a block has in shared memory while it multiplies them. Slab rows are k, the
 * index that is summed over; the stride spreads the rows of a fragment over the banks. */

enum { TILE = 64 /* rows and columns of a result at a time */, SLAB = 32 /* of k at a time */, SLAB_STRIDE = TILE + 8 };
