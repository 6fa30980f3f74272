% local to = adds and "added to what is there" or "written"
/* From dy, the gradient of the norm's output, that of its input: dx, ${to}${drops and "; of the whole dx what the branch gets" or ""}. */
% define("NOINLINE void " .. name, "int tokens", "const real *dy", drops and "const int8_t *keep", "const real *xhat", "const real *rstd", "const real *scale", "real *dx", drops and "real *dbranch", "real *dscale", offset and "real *doffset")
    % call(kernel, "tokens", width, "dy", "xhat", "rstd", "scale", drops and "keep", drops and drops .. "_KEEP_SCALE", "dx", drops and "dbranch", "dscale", offset and "doffset")
}
