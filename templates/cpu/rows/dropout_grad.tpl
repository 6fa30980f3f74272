/* dbranch = dy where the branch was kept, scaled. */
% define("NOINLINE void " .. name, "int tokens", "const real *dy", "const int8_t *keep", "real *dbranch")
    % call("dropout_grad", "tokens", width, "dy", "keep", drops .. "_KEEP_SCALE", "dbranch")
}
