% local action = is_added and "Adds to dx" or "Writes dx"
/* ${action}, the gradient of the norm's input. dy: the gradient of the norm's output${dropout and ". Then writes dbranch, the gradient of the branch, from dx" or ""}. */
% define("NOINLINE void " .. name, "int tokens", "const real *dy", dropout and "const int8_t *keep", "const real *xhat", "const real *rstd", "const real *scale", "real *dx", dropout and "real *dbranch", "real *dscale", offset and "real *doffset")
    % call(kernel, "tokens", width, "dy", "xhat", "rstd", "scale", dropout and "keep", dropout and dropout .. "_KEEP_SCALE", "dx", dropout and "dbranch", "dscale", offset and "doffset")
}
