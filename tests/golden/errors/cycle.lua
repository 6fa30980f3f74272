-- A spec that builds upon itself by way of another.
return { use = "./bases/back.lua" }
