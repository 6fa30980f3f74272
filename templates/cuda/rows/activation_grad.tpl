/* dx may be dy. */
% define("NOINLINE void " .. name, "int rows", "const real *x", "const real *dy", "real *dx")
    % call(kernel .. "_grad", "rows", width, "x", "dy", "dx")
}
