/* Replaces the gradient of the norm's output by the gradient of its input, the sum${drops and "; writes dbranch, the gradient of the branch" or ". The branch has the same gradient"}. */
% define("NOINLINE void " .. name, "int tokens", drops and "const int8_t *keep", "const real *xhat", "const real *rstd", "const real *scale", "real *gradient", drops and "real *dbranch", "real *dscale", offset and "real *doffset")
    % call(kernel, "tokens", width, "gradient", "xhat", "rstd", "scale", drops and "keep", drops and drops .. "_KEEP_SCALE", "gradient", drops and "dbranch", "dscale", offset and "doffset")
}
