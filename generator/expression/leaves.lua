-- Leaves that look the same on every target: learned and constant parameters, numbers, edges.

local M = {}

function M.has_head(p)
  return p.per == "head" or p.per == "layer_head"
end

function M.has_layer(p)
  return p.per == "layer" or p.per == "layer_head"
end

-- Which names of arguments and locals the texts of a function mention is collected as they are made: who makes a text
-- of a leaf says what it mentions. Begins a set, which build.mentioned is from here on.
function M.collect(build)
  build.mentioned = {}
  return build.mentioned
end

-- The names that are given; false: none.
function M.mention(build, ...)
  for _, name in ipairs({ ... }) do
    build.mentioned[name] = true
  end
end

-- The text of a leaf, { text, names that it mentions }.
local function text_of(build, leaf)
  M.mention(build, table.unpack(leaf, 2))
  return leaf[1]
end

-- A learned parameter in `set`, p (values) or g (gradients). build.stack: the member that its layers are in.
function M.member(build, set, p)
  M.mention(build, set, M.has_layer(p) and "l" or nil)
  local layer = M.has_layer(p) and build.stack .. "[l]." or ""
  return ("%s->%s%sscore_%s"):format(set, layer, build.prefix, p.name)
end

-- Symbols that are whole numbers on every target: { text, how tightly it binds, names }.
local INTEGERS = { head = { "h", 14, "h" }, layer = { "l", 14, "l" } }

-- The environment (emit.lua) of a loop nest, load excepted: its lanes, its symbols { text, names }, and those of all
-- nests. integers: what is there in place of INTEGERS.
function M.environment(build, lanes, symbols, any, integers)
  local out = { lanes = lanes }
  function out.literal(value)
    return (assert(build.real(value)))
  end
  function out.symbol(name)
    return text_of(build, assert(symbols[name] or any[name], name))
  end
  function out.integer(name)
    local integer = (integers or INTEGERS)[name]
    if integer then
      M.mention(build, table.unpack(integer, 3))
      return integer[1], integer[2]
    end
  end
  function out.parameter(p)
    if M.has_head(p) then
      M.mention(build, "h")
    end
    return p.learned and M.member(build, "p", p) or build.prefix .. p.name .. "_values"
  end
  function out.edges(edges)
    return build.edges_name(edges)
  end
  return out
end

return M
