/* output = norm(x). */
% define("NOINLINE void " .. name, "int tokens", "const real *x", "const real *scale", offset and "const real *offset", "real *xhat", "real *rstd", "real *output")
    % call(kernel, "tokens", width, "x", "scale", offset and "offset", "xhat", "rstd", "output")
}
