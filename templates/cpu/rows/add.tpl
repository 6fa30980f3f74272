% local asks = drops and not eval_dropout
/* output = residual + branch${drops and ", with dropout of the branch" or ""}${asks and " in training" or ""}. output may be residual. */
% define("NOINLINE void " .. name, "int tokens", "const real *residual", "const real *branch", drops and "const int8_t *keep", "real *output")
% if drops then
    % call((asks and "if (keep) " or "") .. "add_dropout_branch", "tokens", width, "residual", "branch", "keep", drops .. "_KEEP_SCALE", "output")
% end
% if asks or not drops then
    % call((asks and "else " or "") .. "add_branch", "tokens", width, "residual", "branch", "output")
% end
}
