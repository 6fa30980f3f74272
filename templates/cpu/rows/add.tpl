% local depends_on_mode = drops and not eval_dropout
/* output = residual + branch${drops and ", with dropout of the branch" or ""}${depends_on_mode and " in training" or ""}. output may be residual. */
% define("NOINLINE void " .. name, "int tokens", "const real *residual", "const real *branch", drops and "const int8_t *keep", "real *output")
% if drops then
    % call((depends_on_mode and "if (keep) " or "") .. "add_dropout_branch", "tokens", width, "residual", "branch", "keep", drops .. "_KEEP_SCALE", "output")
% end
% if depends_on_mode or not drops then
    % call((depends_on_mode and "else " or "") .. "add_branch", "tokens", width, "residual", "branch", "output")
% end
}
