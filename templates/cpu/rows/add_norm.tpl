% local depends_on_mode, summed = drops and not eval_dropout, sum and "sum = residual + branch, output = norm(sum)" or "output = norm(residual + branch)"
/* ${summed}${drops and ", with dropout of the branch" or ""}${depends_on_mode and " in training" or ""}. */
% define("NOINLINE void " .. name, "int tokens", "const real *residual", "const real *branch", drops and "const int8_t *keep", "const real *scale", offset and "const real *offset", sum and "real *sum", "real *xhat", "real *rstd", "real *output")
% if drops then
    % call((depends_on_mode and "if (keep) " or "") .. drop_kernel, "tokens", width, "residual", "branch", "keep", drops .. "_KEEP_SCALE", "scale", offset and "offset", sum and "sum", "xhat", "rstd", "output")
% end
% if depends_on_mode or not drops then
    % call((depends_on_mode and "else " or "") .. kernel, "tokens", width, "residual", "branch", "scale", offset and "offset", sum and "sum", "xhat", "rstd", "output")
% end
}
