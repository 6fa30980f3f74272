std = "lua54"
max_line_length = 120
files["tests/lua"] = { allow_defined_top = true, ignore = { "131" } } -- luaunit finds its groups by global names

-- What specs may call, their sandbox knows, and refuses all else.
files["spec"], files["examples"], files["tests/specs"] = { ignore = { "113" } }, { ignore = { "113" } },
  { ignore = { "113" } }
