-- Applies --set a.b=v of the command line to a spec.
--
-- Input: `file`, a table with the tree of the spec's main file in its field `tree`; the overrides; diagnostics. Output:
-- file.tree with the overrides merged over it; errors go to the diagnostics.

local diagnostics = require("base.diagnostics")
local sandbox = require("spec.reading.sandbox")
local sections = require("spec.reading.sections")
local tree = require("spec.reading.tree")

local M = {}

-- Returns the value that the text of a --set FIELD=TEXT means; or nil and the problem.
function M.read_constant(text)
  text = text:match("^%s*(.-)%s*$")
  if text == "" then
    return nil, "has no value"
  elseif text == "true" or text == "false" then
    return text == "true"
  elseif tonumber(text) then
    return tonumber(text)
  elseif text:find("^[{\"']") or text:find("^%[=*%[") then
    local value, problem = sandbox.run("return " .. text)
    return value, problem and problem.what
  end
  return text
end

-- Fields whose tables --set replaces instead of merging: an evaluation has only the axes that a --set states.
local REPLACED_TABLES = { ["eval.by"] = true, ["eval.during.by"] = true }

-- A tree in which each section that is given as a word, such as encoding = "rope", has become a table.
local function expand_sections(root)
  return tree.map(root, sections.expand)
end

-- The tree of one override: nested tables down to its value; nil after an error.
local function parse_set(d, set)
  local origin = { set = ("--set %s=%s"):format(set.path, set.text) }
  local function refuse(message, expected)
    d:add({ at = origin, what = message, expected = expected })
  end
  if ("." .. set.path):gsub("%.[%a_][%w_]*", "") ~= "" then
    return refuse(diagnostics.show(set.path) .. " is not a field path",
      "names joined by dots, such as train.batch; a list is set as a whole")
  end
  local value, problem = M.read_constant(set.text)
  if problem then
    return refuse(problem, "a number, a word, true, false, or a table such as { 1, 40 }")
  end
  local earlier_errors = d:count()
  local function get_origin() return origin end
  local node = tree.build(value, get_origin, function(_, message, expected) refuse(message, expected) end)
  if not node or d:count() > earlier_errors then
    return nil
  end
  -- replaces_parent: the table replaces the table of the file at this path, instead of being merged with it
  node.replaces_parent = tree.is_table(node) and REPLACED_TABLES[set.path] or nil
  for name in set.path:reverse():gmatch("[^%.]+") do
    local outer_node = tree.make_table(origin)
    outer_node.fields[name:reverse()] = node
    node = outer_node
  end
  return expand_sections(node)
end

-- Merges overrides { { path, text }, ... } over the main file's tree. If a --set gives encoding.use or
-- encoding.kind, the file's encoding.use and encoding.kind are removed first.
function M.apply(file, sets, d)
  local merged
  for _, set in ipairs(sets) do
    local set_tree = parse_set(d, set)
    merged = merged and set_tree and tree.merge(merged, set_tree) or set_tree or merged
  end
  if not merged then
    return
  end
  local file_tree = expand_sections(file.tree)
  local file_encoding, set_encoding = file_tree.fields.encoding, merged.fields.encoding
  if tree.is_table(file_encoding) and tree.is_table(set_encoding)
    and (set_encoding.fields.use or set_encoding.fields.kind) then
    file_encoding.fields.use, file_encoding.fields.kind = nil, nil
  end
  file.tree = tree.merge(file_tree, merged)
  for name, override in next, merged.fields do
    if file_tree.fields[name] then
      file.tree.fields[name] = sections.merge(name, file_tree.fields[name], override)
    end
  end
end

return M
