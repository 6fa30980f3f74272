-- Reads a spec file into one tree, with the presets and specs that it uses and the overrides of the command line.
--
-- Input: a path, overrides, the repository root. Output, before the schema is applied:
--   id           the file's base name without .lua
--   source       the file's display path
--   root         the path of the repository
--   tree         a tree (tree.lua) in which every `use` is replaced by the table that it names
--   texts        the texts of the files by display path
--   find_file(origin, name)   returns { shown, real } for a file that the spec names: the path for messages, and the
--                         path to open; name, origin: the value that names the file, and its origin
--   read_file(origin, name)   returns the file's display path and text; or its display path, nil and a message
--   has_untraceable_code   whether a function has a token that tracing cannot record; the error has been reported
-- If a preset of a section is missing, the section is marked `partial`. Reading continues after this and other errors
-- in sections, so that all mistakes are reported together. Invariants: reads files, writes no file; errors go to
-- diagnostics; no file uses itself, directly or through others.
--
-- Order of merging. A section's own table is its table in one file. If the own table names a preset or spec by `use`,
-- this preset or spec is the section's parent. If it has no `use`, the parent is the same section of the spec that the
-- top level names by `use`. First, --set edits the main file's own tables; then each section is merged over its parent
-- as sections.lua describes. A spec may also consist of fragments: each fragment is the parent of the next fragment.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local entries = require("spec.score.entries")
local families = require("spec.families")
local common_mistakes = require("spec.hints.common_mistakes")
local inherit = require("spec.reading.inherit")
local input = require("base.input")
local lfs = require("lfs")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local similar_names = require("base.similar_names")
local overrides = require("spec.reading.overrides")
local paths = require("base.paths")
local sandbox = require("spec.reading.sandbox")
local sections = require("spec.reading.sections")
local tree = require("spec.reading.tree")

local M = {}

local ID = "^[a-z][a-z0-9_]+$"
M.MAX_ID_LENGTH = 64
M.ID_TEXT = "a letter a-z, then 1 to 63 characters: a-z, 0-9 and _"

-- The folder of each section's presets, below spec/.
M.FOLDERS = { task = "tasks", encoding = "encodings", model = "models", train = "training", eval = "evaluation" }

local MAX_BYTES = 512 * 1024 -- largest file

function M.is_id(text)
  return #text <= M.MAX_ID_LENGTH and text:find(ID) ~= nil
end

-- The path by which generated files name a file: relative to the root if the file is below the root, else `relative`, a
-- path from the main spec. Messages show another path for a file outside the root: relative to the current folder if
-- the file is below this folder, else absolute.
local function get_shown_path(state, real, relative)
  local path_in_root = paths.remove_folder(real, state.root)
  if not path_in_root then
    state.diagnostics:show_path(relative, paths.remove_folder(real, paths.resolve(".")) or real)
  end
  return path_in_root or relative
end

local function refuse(state, node, field, message, expected, hint)
  state.diagnostics:add({ at = node.origin, field = field, what = message, expected = expected, hint = hint })
end

local function read_text(path)
  local text, problem = input.read(path, MAX_BYTES)
  if not text then
    return nil, problem and ("found %s; expected %s"):format(problem.found, problem.expected)
      or "No such file or directory"
  elseif text == "" then
    return nil, "the file is empty"
  end
  return (text:gsub("^\xEF\xBB\xBF", ""):gsub("\r\n?", "\n"))
end

-- Calls f(...) and returns its result. Its errors count as tolerated: reading continues after them.
local function tolerate_errors(state, f, ...)
  local earlier_errors = state.diagnostics:count()
  local result = f(...)
  state.tolerated = state.tolerated + state.diagnostics:count() - earlier_errors
  return result
end

-- The number of errors that make the spec unreadable.
local function count_fatal_errors(state)
  return state.diagnostics:count() - state.tolerated
end

-- Reports tokens in function bodies that tracing cannot record.
local function check_functions(state, text, path)
  for _, token in ipairs(locate.find_forbidden(text)) do
    state.has_untraceable_code = true
    state.diagnostics:add({ path = path, line = token.line, col = token.col,
      what = ("`%s` inside a function body"):format(token.text), expected = locate.INSTEAD[token.text]
        .. "; a function of a spec is traced once, and Lua cannot trace comparisons or branches" })
  end
end

-- Reports a problem with a whole file. If the file is not valid Lua, all constructs of other languages are reported at
-- once; Lua's own message is reported only if no such construct is on the line of the message or above.
local function report_problem(state, display_path, text, problem)
  local is_explained = false
  for _, mistake in ipairs(problem.syntax and common_mistakes.find(text) or {}) do
    mistake.path, mistake.what = display_path, "not valid Lua: " .. mistake.what
    is_explained = is_explained or mistake.line <= problem.line
    state.diagnostics:add(mistake)
  end
  if not is_explained then
    problem.path = display_path
    state.diagnostics:add(problem)
  end
end

-- Runs the file at the path `real`, once; returns { real, relative, shown, tree }, or nil after an error.
--   relative      the display path if the file is outside the root
--   shown         the display path
--   use_origin    the origin of the field that names the file; nil for the main file
--   replacement   { text, origin } in place of the file's own text; origin(path) returns the origin of a value
local function open_file(state, real, relative, use_origin, replacement)
  if state.files[real] ~= nil then
    return state.files[real] or nil
  end
  state.files[real] = false
  local shown = get_shown_path(state, real, relative)
  local text, message = replacement and replacement.text, nil
  if not replacement then
    text, message = read_text(real)
  end
  if not text then
    state.diagnostics:add({ at = use_origin or { path = shown }, expected = "a spec file",
      what = ("cannot read %s: %s"):format(use_origin and shown or "the file", message) })
    return
  end
  state.diagnostics:add_source(shown, text)
  local value, problem = sandbox.run(text, state.budget)
  local places = locate.find_fields(text)
  if problem == nil and type(value) ~= "table" then
    problem = { what = "the file returns " .. diagnostics.show(value), expected = "return { ... }",
      line = places[""].line, col = places[""].col }
  end
  if problem then
    return report_problem(state, shown, text, problem)
  end
  state.texts[shown] = text
  tolerate_errors(state, check_functions, state, text, shown)
  local function find_origin(path)
    local position = locate.find_position(places, path)
    return replacement and replacement.origin(path) or { path = shown, line = position.line, col = position.col }
  end
  local root = tree.build(value, find_origin, function(path, message_text, expected)
    state.diagnostics:add({ at = find_origin(path), field = path ~= "" and path or nil, what = message_text,
      expected = expected })
  end)
  state.files[real] = root and { real = real, relative = relative, shown = shown, tree = root }
  return state.files[real]
end

-- Reports a name of a preset that does not exist; returns the most similar existing name, or nil. expected: the
-- expected values, in words.
local function report_unknown_preset(state, section, node, field, expected)
  local folder, name = "spec/" .. M.FOLDERS[section], node.value
  local names = lists.map(paths.list_base_names(state.root .. "/" .. folder, ".lua"), function(base_name)
    return M.is_id(base_name) and base_name or nil
  end)
  local suggestion = similar_names.find(name:lower(), names)
  local hint = suggestion and ('did you mean "%s"?'):format(suggestion)
  if M.is_id(name) then
    refuse(state, node, field, ("there is no %s.lua in %s"):format(name, folder),
      #names > 0 and table.concat(names, ", ") or "a preset; there are none in " .. folder, hint)
  else
    refuse(state, node, field, diagnostics.show(name) .. " names nothing", expected, hint)
  end
  return suggestion
end

-- The file that a `use` names, and whether it is a spec (true) or a preset (false); nil after an error. If no preset
-- has the name, the file is the preset with the most similar name, so that other mistakes in the spec are reported,
-- too. section: nil for the `use` of the top level, which names no presets.
local function open_use(state, file, section, node, field)
  local name = node.value
  local expected = (section and "the name of a preset, or " or "") .. 'a spec file such as "./base.lua"'
  if type(name) ~= "string" then
    return refuse(state, node, field, node.fields and "is a table" or diagnostics.show(name) .. " is not a name",
      expected)
  elseif name:find("^%.%.?/") and name:find("%.lua$") then
    return open_file(state, paths.normalise(paths.get_folder(file.real) .. "/" .. name),
      paths.normalise(paths.get_folder(file.relative) .. "/" .. name), node.origin), true
  elseif not section then
    return refuse(state, node, field, diagnostics.show(name) .. " names nothing", expected)
  end
  local function get_path(preset) return ("spec/%s/%s.lua"):format(M.FOLDERS[section], preset) end
  if not M.is_id(name) or lfs.attributes(state.root .. "/" .. get_path(name), "mode") ~= "file" then
    name = report_unknown_preset(state, section, node, field, expected)
  end
  return name and open_file(state, state.root .. "/" .. get_path(name), get_path(name), node.origin), false
end

-- Reports a cycle if the file is in the chain, the list of files that are being resolved; returns whether it is.
local function check_cycle(state, chain, file, node, field)
  local names
  for _, chain_file in ipairs(chain) do
    names = names or chain_file == file and {} or nil
    table.insert(names or {}, chain_file.shown)
  end
  if names then
    refuse(state, node, field, ("uses itself: %s -> %s"):format(table.concat(names, " -> "), file.shown),
      "a chain that ends")
  end
  return names ~= nil
end

-- The node of `use` in a section's own table (encoding.kind is a short form), the path of that field, and the table
-- without the field; nil, nil and the table if there is no `use`.
local function split_use(state, section, own_table, path)
  if not tree.is_table(own_table) then
    return nil, nil, own_table
  end
  local use, kind = own_table.fields.use, section == "encoding" and own_table.fields.kind or nil
  if use and kind then
    refuse(state, kind, path .. ".kind", ("conflicts with %s.use"):format(path),
      ("one of the two fields; %s.kind = N is short for %s.use = N"):format(path, path))
  elseif not use and not kind then
    return nil, nil, own_table
  end
  local other_fields = tree.copy(own_table)
  other_fields.fields.use, other_fields.fields.kind = nil, not kind and other_fields.fields.kind or nil
  return use or kind, path .. (use and ".use" or ".kind"), other_fields
end

local resolve_section, resolve_own_table

-- Merges a section over its parent. Facets of an encoding that come from the parent keep the parent's made_for.
local function merge_section(section, base, own_table)
  return sections.merge(section, section == "encoding" and inherit.mark_facets(base) or base, own_table)
end

-- Reads the section from its parent, the file that `use` names; an empty table if the parent is a spec without the
-- section; nil after an error. use: a node in `file`.
local function resolve_use(state, file, section, use, field, chain)
  local parent, is_spec = open_use(state, file, section, use, field)
  if not parent or check_cycle(state, chain, parent, use, field) then
    state.partial[section] = true
    return nil
  end
  local inner_chain = lists.join(chain, { parent })
  local section_node
  if is_spec then
    section_node = resolve_section(state, parent, section, inner_chain)
  else
    section_node = resolve_own_table(state, parent, section, parent.tree, inner_chain)
  end
  return section_node or tree.make_table(use.origin)
end

-- An encoding's table with its scores as lists of entries (score/entries.lua); presets that scores use are opened like
-- presets of the encoding.
local function expand_scores(state, file, own_table, chain, path)
  return entries.expand(own_table, {
    path = path,
    open = function(use, field)
      local node = resolve_use(state, file, "encoding", use, field, chain)
      return node and (tree.is_table(node) and inherit.mark_facets(node) or tree.make_table(use.origin))
    end,
    report = function(...) refuse(state, ...) end,
  })
end

-- An encoding's own table in which the table of each family of attentions is merged over the preset that it uses. A
-- table that comes from the list encoding.layers gets the mark `in_list`: it replaces the parent's table.
local function resolve_families(state, file, own_table, chain)
  if not tree.is_table(own_table) then
    return own_table
  end
  local new_table = tree.copy(sections.expand_layers(own_table, function(...) refuse(state, ...) end))
  for _, name in ipairs(families.NAMES) do
    local node, is_layer = new_table.fields[name], families.is_layer[name]
    if tree.is_table(node) then
      node = resolve_own_table(state, file, "encoding", node, chain, "encoding." .. name)
      -- Validation refuses `additive` in a layer's table. A preset may have `additive` of kind "none": it is removed.
      local additive = is_layer and node.fields.additive
      if additive and tree.is_table(additive) and additive.fields.kind and additive.fields.kind.value == "none" then
        node = tree.map(node, function(facet, facet_node) return facet ~= "additive" and facet_node or nil end)
      end
      new_table.fields[name] = lists.merge(node, { in_list = is_layer and own_table.fields.layers ~= nil or nil })
    end
  end
  return new_table
end

-- A section's own table in `file`, merged over its parent; and whether the table has a `use`. path: the path of the
-- table, if it is not the section itself.
function resolve_own_table(state, file, section, own_table, chain, path)
  own_table = path and own_table or sections.expand(section, own_table)
  if section == "encoding" then
    own_table = expand_scores(state, file, own_table, chain, path or section)
    own_table = path and own_table or resolve_families(state, file, own_table, chain)
  end
  local use, field, other_fields = split_use(state, section, own_table, path or section)
  if not use then
    return own_table, false
  end
  local base = resolve_use(state, file, section, use, field, chain)
  return base and merge_section(section, base, other_fields) or other_fields, true
end

-- The spec file that the top level's `use` names, or the preceding fragment; nil if there is none.
local function open_parent(state, file, chain)
  local use = file.tree.fields.use
  if file.parent == nil then
    file.parent = use and open_use(state, file, nil, use, "use") or false
    if file.parent and check_cycle(state, chain, file.parent, use, "use") then
      file.parent = false
    end
  end
  return file.parent or nil
end

-- One top-level field of a spec file, resolved; nil if neither the file nor its parents have it.
function resolve_section(state, file, section, chain)
  local section_node = file.tree.fields[section]
  local node, has_use = section_node, false
  if M.FOLDERS[section] and section_node then
    node, has_use = resolve_own_table(state, file, section, section_node, chain)
  end
  local parent = not has_use and open_parent(state, file, chain)
  if not parent then
    return node
  end
  local base = resolve_section(state, parent, section, lists.join(chain, { parent }))
  return base and node and merge_section(section, base, node) or node or base
end

-- A table node with all fields of a file and its parents, resolved, without `use`.
local function resolve_file(state, file)
  local root = tree.make_table(file.tree.origin)
  root.items = file.tree.items
  local names, ancestor, chain = {}, file, { file }
  while ancestor do
    names = lists.merge(names, ancestor.tree.fields)
    ancestor = open_parent(state, ancestor, chain)
    chain = lists.join(chain, { ancestor })
  end
  names.use = nil
  for _, name in ipairs(canonical.sort_keys(names)) do
    local node = tolerate_errors(state, resolve_section, state, file, name, { file })
    if node then
      node.partial = state.partial[name]
    end
    root.fields[name] = node
  end
  return root
end

-- Returns the location of a file that a value of a spec names: { shown = its display path, real = the path to open }.
-- The name is relative to the spec file that states the value, or to `main` if no file does (--set).
local function find_file(state, main, origin, name)
  local naming_file = main
  for _, file in next, state.files do
    naming_file = file and file.shown == origin.path and file or naming_file
  end
  local function resolve_path(path)
    return paths.normalise(name:sub(1, 1) == "/" and name or paths.get_folder(path) .. "/" .. name)
  end
  local real = resolve_path(naming_file.real)
  return { shown = get_shown_path(state, real, resolve_path(naming_file.relative)), real = real }
end

-- The state of loading:
--   files                  the results of open_file by real path; false: an unusable file
--   texts                  the texts by display path
--   tolerated              the number of errors that let reading continue
--   has_untraceable_code   see the head of this file
--   partial                added by `finish`: the set of the sections in which a preset is missing
local function make_state(options)
  return { root = paths.resolve(options.root), diagnostics = options.diagnostics, files = {}, texts = {}, tolerated = 0,
    budget = sandbox.make_budget() }
end

-- Returns the result of M.load for a file that has been opened; nil if there are new fatal errors. fatal_errors: the
-- number of fatal errors before the file was opened.
local function finish(state, file, id, fatal_errors)
  state.partial = {}
  local root = resolve_file(state, file)
  if count_fatal_errors(state) > fatal_errors then
    return nil
  end
  local function find_named_file(origin, name) return find_file(state, file, origin, name) end
  local function read_file(origin, name)
    local location = find_named_file(origin, name)
    return location.shown, read_text(location.real)
  end
  return { id = id, source = file.shown, root = state.root, tree = root, texts = state.texts,
    find_file = find_named_file, read_file = read_file, has_untraceable_code = state.has_untraceable_code or false }
end

-- Loads the spec at `path`. options: root (the repository), diagnostics, sets = { { path, text }, ... } or nil. Returns
-- the table that this file's first comment describes, or nil after fatal errors, which are in options.diagnostics.
function M.load(path, options)
  local d = options.diagnostics
  local state = make_state(options)
  local fatal_errors = count_fatal_errors(state)
  local real = paths.resolve(path)
  local base = real:match("([^/]*)$")
  local id = base:gsub("%.lua$", "")
  local file = open_file(state, real, base, nil)
  if base == id or not M.is_id(id) then
    tolerate_errors(state, d.add, d, { path = get_shown_path(state, real, base),
      what = ("%s is not a name for a spec"):format(diagnostics.show(base)), expected = M.ID_TEXT .. "; then .lua" })
  end
  if file and file.tree.fields.axes then -- read as a spec, a study would give many misleading errors
    return refuse(state, file.tree.fields.axes, "axes", "this is a study, a grid of specs",
      "a spec, or one cell of the study: FILE:CELL",
      ("./longhand sweep runs a study; ./longhand sweep --dry-run %s shows its runs"):format(file.shown))
  elseif not file then
    return nil
  end
  overrides.apply(file, options.sets or {}, d)
  return finish(state, file, id, fatal_errors)
end

-- Opens a file that is not a spec but holds fragments of specs: { state, shown, tree, file }, or nil after an error.
-- options.replacement: the `replacement` of open_file. `parent`: the result of this function for another file that
-- names this file at `origin`; nil if no file does.
function M.open(path, options, parent, origin)
  local state = parent and parent.state or make_state(options)
  local real = paths.resolve(path)
  local file = open_file(state, real, real:match("([^/]*)$"), origin, options and options.replacement)
  return file and { state = state, shown = file.shown, tree = file.tree, file = file }
end

-- Loads a spec of fragments { { source = result of M.open, tree }, ... }, each merged over the preceding ones; messages
-- show `name` as the spec's path. M.load describes sets and the result.
function M.join(id, name, fragments, sets)
  local state = fragments[1].source.state
  local fatal_errors, top = count_fatal_errors(state), nil
  for _, fragment in ipairs(fragments) do
    local file = fragment.source.file
    top = { real = file.real, relative = file.relative, shown = file.shown, tree = fragment.tree, parent = top }
  end
  overrides.apply(top, sets or {}, state.diagnostics)
  top.shown = name
  return finish(state, top, id, fatal_errors)
end

return M
