% local count, is_spread = attends.head_part, attends.head_lanes > 1
% -- left: how many channels the head has from the thread's first channel on, if threads have parts of different sizes;
% -- otherwise `count`
% local left = attends.uneven_heads and ("%sHEAD_WIDTH - %schannel()"):format(PREFIX, prefix) or count
INLINE void ${prefix}load_head(real *x, const real *from) { load_channels(${count}, ${left}, x, from); }
INLINE void ${prefix}store_head(const real *x, real scale, real *to) { store_channels(${count}, ${left}, x, scale, to); }
INLINE void ${prefix}add_head(real *x, real factor, const real *y) { add_channels(${count}, x, factor, y); }
INLINE real ${prefix}dot_head(const real *x, const real *y) { return dot_channels(${count}, x, y); } % if not is_spread
INLINE real ${prefix}dot_head(const real *x, const real *y) { return sum_head_lanes(${PREFIX}HEAD_LANES, ${prefix}head_lanes(), dot_channels(${count}, x, y)); } % else
