-- The other half of ../cycle.lua.
return { use = "../cycle.lua" }
