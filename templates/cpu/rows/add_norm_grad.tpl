/* In `gradient`, replaces the gradient of the norm's output by the gradient of the sum that the norm reads${dropout and "; writes dbranch, the gradient of the branch" or ". The branch has the same gradient"}. */
% define("NOINLINE void " .. name, "int tokens", dropout and "const int8_t *keep", "const real *xhat", "const real *rstd", "const real *scale", "real *gradient", dropout and "real *dbranch", "real *dscale", offset and "real *doffset")
    % call(kernel, "tokens", width, "gradient", "xhat", "rstd", "scale", dropout and "keep", dropout and dropout .. "_KEEP_SCALE", "gradient", dropout and "dbranch", "dscale", offset and "doffset")
}
