/* gradient: on entry the gradient of the norm's output, on return of its input, the sum residual + branch.
 * ${dropout and "Writes dbranch, the gradient of the branch." or "The branch has the same gradient."} */
% define("NOINLINE void " .. name, "int tokens", dropout and "const int8_t *keep", "const real *xhat", "const real *rstd", "const real *scale", "real *gradient", dropout and "real *dbranch", "real *dscale", offset and "real *doffset")
    % call(kernel, "tokens", width, "gradient", "xhat", "rstd", "scale", dropout and "keep", dropout and dropout .. "_KEEP_SCALE", "gradient", dropout and "dbranch", "dscale", offset and "doffset")
}
