% define("NOINLINE void " .. name, "int rows", "const real *x", "real *y")
    % call(kernel, "rows", width, "x", "y")
}
