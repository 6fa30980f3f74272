-- The instruction-set levels of kernels/cpu/level.h, the widest first, with their facts for the generator.
--
-- Output: a list of levels, in which levels[name] is the level with this name. Fields of a level:
--   name        its name for users, such as "x86-64-v4"
--   tag         the suffix of its constant LH_LEVEL_ in level.h
--   vector      the bytes of a vector
--   registers   the number of vector registers
--   key_tile    KEY_TILE of level.h: the number of keys in a tile of attention

local lists = require("base.lists")

local levels = {
  { name = "x86-64-v4", tag = "X86_64_V4", vector = 64, registers = 32, key_tile = 8 },
  { name = "x86-64-v3", tag = "X86_64_V3", vector = 32, registers = 16, key_tile = 4 },
  { name = "x86-64", tag = "X86_64", vector = 16, registers = 16, key_tile = 4 },
  { name = "aarch64", tag = "AARCH64", vector = 16, registers = 32, key_tile = 8 },
}

return lists.update(levels, lists.index_by(levels, function(level) return level.name end))
