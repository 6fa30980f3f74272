% local count, spread = attends.head_part, attends.head_lanes > 1
% local dot = "dot_channels(" .. count .. ", x, y)"
% local lanes_dot = ("sum_head_lanes(%sHEAD_LANES, %shead_lanes(), %s)"):format(PREFIX, prefix, dot)
% local left = attends.uneven_heads and ("%sHEAD_WIDTH - %schannel()"):format(PREFIX, prefix) or count
INLINE void ${prefix}load_head(real *x, const real *from) { load_channels(${count}, ${left}, x, from); }
INLINE void ${prefix}store_head(const real *x, real scale, real *to) { store_channels(${count}, ${left}, x, scale, to); }
INLINE void ${prefix}clear_head(real *x) { clear_channels(${count}, x); }
INLINE void ${prefix}add_head(real *x, real factor, const real *y) { add_channels(${count}, x, factor, y); }
INLINE real ${prefix}dot_head(const real *x, const real *y) { return ${spread and lanes_dot or dot}; }
