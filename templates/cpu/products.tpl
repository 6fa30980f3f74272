/* The products of the layers, each compiled once. */
% -- f.extra: the array that the epilogue reads, or false. It may be the result f.y, which is a parameter already.
% for _, f in ipairs(cpu.products) do
% local extra_parameter = f.extra and f.extra ~= f.y and "const real *" .. f.extra
% define("NOINLINE void " .. f.name, "int rows", "const real *" .. f.x, "const real *panels", extra_parameter, "real *" .. f.y)
    % call("matmul", "rows", f.inner, f.columns, f.x, "panels", f.y, f.finish, f.extra or "NULL")
}
% end
% for _, f in ipairs(cpu.gradients) do
% define("NOINLINE void " .. f.name, "int tokens", "const real *x", "const real *dy", "real *dw", f.has_bias and "real *db")
    matmul_weight_grad(tokens, ${f.inner}, ${f.columns}, x, dy, dw);
    bias_grad(tokens, ${f.columns}, dy, db); % if f.has_bias
}
% end
