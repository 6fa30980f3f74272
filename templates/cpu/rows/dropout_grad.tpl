% local to = branch and "dbranch" or "dx"
/* dbranch = dy times KEEP_SCALE where the mask keeps the branch, else 0. */ % if branch
/* dx = dy times KEEP_SCALE where the mask keeps x, else 0. dx may be dy. */ % else
% define("NOINLINE void " .. name, "int tokens", "const real *dy", "const int8_t *keep", "real *" .. to)
    % call("dropout_grad", "tokens", width, "dy", "keep", dropout .. "_KEEP_SCALE", to)
}
