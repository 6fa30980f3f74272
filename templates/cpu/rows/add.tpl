% local depends_on_mode = dropout and not eval_dropout
/* output = residual + branch${dropout and ", with dropout of the branch" or ""}${depends_on_mode and " in training" or ""}. output may be residual. */
% define("NOINLINE void " .. name, "int tokens", "const real *residual", "const real *branch", dropout and "const int8_t *keep", "real *output")
% if dropout then
    % call((depends_on_mode and "if (keep) " or "") .. "add_dropout_branch", "tokens", width, "residual", "branch", "keep", dropout .. "_KEEP_SCALE", "output")
% end
% if depends_on_mode or not dropout then
    % call((depends_on_mode and "else " or "") .. "add_branch", "tokens", width, "residual", "branch", "output")
% end
}
