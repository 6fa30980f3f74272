-- Applies --set a.b=v of the command line to a spec.
--
-- Input: the main file of a load, { tree }, the overrides, diagnostics. Output: file.tree with the overrides merged
-- over it; errors go to the diagnostics.

local diagnostics = require("base.diagnostics")
local sandbox = require("spec.reading.sandbox")
local sections = require("spec.reading.sections")
local tree = require("spec.reading.tree")

local M = {}

-- The value of the text after a field, as in --set; or nil and the problem.
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

-- By section, the field that --set SECTION=WORD sets to the word: a preset's name, or the kind of task.
local FIELD_OF_WORD = { task = "kind", encoding = "use", model = "use", train = "use", eval = "use" }

-- Fields whose tables --set replaces: an evaluation has exactly the axes that it is given.
local REPLACED_TABLES = { ["eval.by"] = true, ["eval.during.by"] = true }

-- The tree of one override: nested tables down to its value; nil after an error.
local function parse_set(d, set)
  local origin = { set = ("--set %s=%s"):format(set.path, set.text) }
  local function refuse(what, expected)
    d:add({ at = origin, what = what, expected = expected })
  end
  if ("." .. set.path):gsub("%.[%a_][%w_]*", "") ~= "" then
    return refuse(diagnostics.show(set.path) .. " is not a field path",
      "names joined by dots, such as train.batch; a list is set as a whole")
  end
  local value, problem = M.read_constant(set.text)
  if problem then
    return refuse(problem, "a number, a word, true, false, or a table such as { 1, 40 }")
  end
  local field = type(value) == "string" and FIELD_OF_WORD[set.path]
  value = field and { [field] = value } or value
  local before = d:count()
  local node = tree.build(value, function() return origin end, function(_, what, expected) refuse(what, expected) end)
  if not node or d:count() > before then
    return nil
  end
  node.whole = tree.is_table(node) and REPLACED_TABLES[set.path] or nil
  for name in set.path:reverse():gmatch("[^%.]+") do
    local outer = tree.make_table(origin)
    outer.fields[name:reverse()] = node
    node = outer
  end
  return node
end

-- Merges overrides { { path, text }, ... } over the main file's own tree. A --set of encoding.use or encoding.kind
-- replaces both fields of the file.
function M.apply(file, sets, d)
  local all
  for _, set in ipairs(sets) do
    local override = parse_set(d, set)
    all = all and override and tree.merge(all, override) or override or all
  end
  if not all then
    return
  end
  local file_encoding, set_encoding = file.tree.fields.encoding, all.fields.encoding
  if tree.is_table(file_encoding) and tree.is_table(set_encoding)
    and (set_encoding.fields.use or set_encoding.fields.kind) then
    file_encoding.fields.use, file_encoding.fields.kind = nil, nil
  end
  local before = file.tree
  file.tree = tree.merge(before, all)
  for name, given in next, all.fields do
    if before.fields[name] then
      file.tree.fields[name] = sections.merge(name, before.fields[name], given)
    end
  end
end

return M
