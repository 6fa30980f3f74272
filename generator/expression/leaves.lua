-- Leaves that look the same on every target: learned and constant parameters, numbers, edges.

local M = {}

function M.has_head(p)
  return p.per == "head" or p.per == "layer_head"
end

function M.has_layer(p)
  return p.per == "layer" or p.per == "layer_head"
end

-- A learned parameter in `set`, p (values) or g (gradients). build.stack: the member that its layers are in.
function M.member(build, set, p)
  local layer = M.has_layer(p) and build.stack .. "[l]." or ""
  return ("%s->%s%sscore_%s"):format(set, layer, build.prefix, p.name)
end

-- The environment (emit.lua) of a loop nest, load excepted: its lanes, its symbols as text, and those of all nests.
function M.environment(build, lanes, symbols, any)
  local out = { lanes = lanes, integers = { head = { "h", 14 }, layer = { "l", 14 } } }
  function out.literal(value)
    return (assert(build.real(value)))
  end
  function out.symbol(name)
    return (assert(symbols[name] or any[name], name))
  end
  function out.parameter(p)
    return p.learned and M.member(build, "p", p) or build.prefix .. p.name .. "_values"
  end
  function out.edges(edges)
    return build.edges_name(edges)
  end
  return out
end

return M
