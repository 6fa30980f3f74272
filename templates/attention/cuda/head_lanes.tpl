/* A head's channels are spread over ${PREFIX}HEAD_LANES neighbours in a warp: the first of this thread's, its neighbours, and
 * whether it is the one that writes what they all know. */
INLINE int ${prefix}channel(void) { return threadIdx.x % ${PREFIX}HEAD_LANES * ${PREFIX}HEAD_PART; }

INLINE unsigned int ${prefix}head_lanes(void) {
    return 0xffffffffu >> (WARP - ${PREFIX}HEAD_LANES) << threadIdx.x % WARP / ${PREFIX}HEAD_LANES * ${PREFIX}HEAD_LANES;
}

INLINE bool ${prefix}leads_head(void) { return threadIdx.x % ${PREFIX}HEAD_LANES == 0; }
% if attends.uneven_heads then

/* Whether the head has d channels more than this thread's first. */
INLINE bool ${prefix}has_channel(int d) { return ${prefix}channel() + d < ${PREFIX}HEAD_WIDTH; }
% end
