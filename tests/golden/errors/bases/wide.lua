-- The base of ../inherited.lua.
return {
  model = { width = 72 },
}
