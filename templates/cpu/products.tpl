/* The products of the layers, each compiled once. */
% for _, f in ipairs(cpu.products) do -- f.extra: the array that the epilogue reads, or false
% local extra_parameter, extra_argument = f.extra and "const real *" .. f.extra, f.extra or "NULL"
% if f.extra == f.y then -- the epilogue reads the result's array, which is a parameter anyway
% extra_parameter = false
% end
% define("NOINLINE void " .. f.name, "int rows", "const real *" .. f.x, "const real *panels", extra_parameter, "real *" .. f.y)
    % call("matmul", "rows", f.inner, f.columns, f.x, "panels", f.y, f.finish, extra_argument)
}
% end
% for _, f in ipairs(cpu.gradients) do
% define("NOINLINE void " .. f.name, "int tokens", "const real *x", "const real *dy", "real *dw", f.has_bias and "real *db")
    matmul_weight_grad(tokens, ${f.inner}, ${f.columns}, x, dy, dw);
    bias_grad(tokens, ${f.columns}, dy, db); % if f.has_bias
}
% end
