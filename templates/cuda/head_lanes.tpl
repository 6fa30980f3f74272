/* A head's channels are spread over HEAD_LANES neighbours in a warp: the first of this thread's, its neighbours, and
 * whether it is the one that writes what they all know. */
INLINE int channel(void) { return threadIdx.x % HEAD_LANES * HEAD_PART; }

INLINE unsigned int head_lanes(void) {
    return 0xffffffffu >> (WARP - HEAD_LANES) << threadIdx.x % WARP / HEAD_LANES * HEAD_LANES;
}

INLINE bool leads_head(void) { return threadIdx.x % HEAD_LANES == 0; }
% if cuda.uneven_heads then

/* Whether the head has d channels more than this thread's first. */
INLINE bool has_channel(int d) { return channel() + d < HEAD_WIDTH; }
% end
