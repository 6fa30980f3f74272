std = "lua54"
max_line_length = 120
files["tests/lua"] = { allow_defined_top = true, ignore = { "131" } } -- luaunit finds its groups by global names

-- What specs may call.
local functions = { read_globals = { "abs", "all", "any", "bucket", "cos", "equal", "exp", "floor", "less", "less_equal",
  "log", "log1p", "lookup", "max", "min", "mod", "negate", "pow", "select", "sigmoid", "sin", "sqrt", "sum", "tanh" } }
files["spec"], files["examples"] = functions, functions
