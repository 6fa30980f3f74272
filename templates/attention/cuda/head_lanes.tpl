/* A head's channels are spread over ${PREFIX}HEAD_LANES adjacent lanes of a warp. channel: the thread's first channel.
 * head_lanes: the mask of these lanes. leads_head: whether the thread writes the values that all these lanes hold. */
INLINE int ${prefix}channel(void) { return threadIdx.x % ${PREFIX}HEAD_LANES * ${PREFIX}HEAD_PART; }

INLINE unsigned int ${prefix}head_lanes(void) {
    return 0xffffffffu >> (WARP - ${PREFIX}HEAD_LANES) << threadIdx.x % WARP / ${PREFIX}HEAD_LANES * ${PREFIX}HEAD_LANES;
}

INLINE bool ${prefix}leads_head(void) { return threadIdx.x % ${PREFIX}HEAD_LANES == 0; }
