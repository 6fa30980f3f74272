-- The sites of a trace (docs/trace.md), read from the names of its tensors. A site is a place in the network whose
-- values the trace contains, such as layers.0.
--
-- The module is a function. Input: a trace from safetensors.open, a length, a kind: "attention", "scores", "entropy" or
-- "activations". Output: the names of sites with a tensor of this kind at this length, in the order of the tensors'
-- bytes in the file, which is the order of the forward pass.

local TOKENS = { tokens = true, answers = true, targets = true }

-- Returns the site and kind of the tensor `name`; a nil site for tokens and for names that do not begin with `prefix`.
-- A model with several streams has the tokens of each stream, such as n10.tokens.source.
local function parse_name(name, prefix)
  local suffix = name:sub(1, #prefix) == prefix and name:sub(#prefix + 1) or ""
  local site, kind = suffix:match("^(.+)%.(%a+)$")
  if kind == "attention" or kind == "scores" or kind == "entropy" then
    return site, kind
  end
  return suffix ~= "" and not TOKENS[suffix] and site ~= "tokens" and suffix or nil, "activations"
end

return function(trace, length, kind)
  local prefix, list, begin = ("n%d."):format(length), {}, {}
  for _, name in ipairs(trace.names) do
    local site, site_kind = parse_name(name, prefix)
    if site and site_kind == kind then
      list[#list + 1], begin[site] = site, trace.entries[name].begin
    end
  end
  table.sort(list, function(a, b) return begin[a] < begin[b] end)
  return list
end
