% local to = branch and "dbranch" or "dx"
% if branch then
/* dbranch = dy where the branch was kept, scaled. */
% else
/* dx = dy where x was kept, scaled. dx may be dy. */
% end
% define("NOINLINE void " .. name, "int tokens", "const real *dy", "const int8_t *keep", "real *" .. to)
    % call("dropout_grad", "tokens", width, "dy", "keep", drops .. "_KEEP_SCALE", to)
}
