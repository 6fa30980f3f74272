-- Arguments of `sweep` and `bundle`: a study file with the name of a scale or with selected cells, or a grid from
-- flags, such as --axis FIELD=VALUES.
--
-- Input: the options of the verb, with project, grid_flag (lab/cli/sweeps.lua) and `out`, the folder of all runs.
-- Output: none; errors end the command. Sets fields of the options:
--   study        the study; for a grid from flags, the path of a study file in the folder of runs
--   scale        the scale, or nil
--   choice       the selected cells (chosen_cells.lua)
--   flag_study   for a grid from flags: { text (of the study file), origin (make_origin) }
--   set          for a grid from flags: the words of --set, with paths relative to the folder of runs
-- The study file's name contains the digest of the text without labels. So a study that differs only in labels replaces
-- this file. overview.lua writes the file.

local canonical = require("base.canonical")
local choice = require("lab.study.grid.chosen_cells")
local diagnostics = require("base.diagnostics")
local lfs = require("lfs")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local similar_names = require("base.similar_names")
local nodes = require("lab.study.grid.nodes")
local overrides = require("spec.reading.overrides")
local paths = require("base.paths")
local schema = require("spec.schema")
local seeds = require("lab.study.read.seeds")
local sha256 = require("base.sha256")
local study_module = require("lab.study.grid.study")
local escape = require("base.escape")
local unknown = require("spec.hints.unknown")
local must = require("lab.stop").must
local write = require("base.write")

local M = {}

-- The functions that write a study share `work`:
--   axes          a list of axes:
--       field     the path of the field that varies, such as "model.layers"
--       name      the name of the axis
--       flag      the flag with its value, as text
--       names     a set, with the names of the values as texts
--       lines     a line of the study for each value
--   folder        the folder of runs
--   spec_folder   the folder of the spec
--   root          the folder of the repository
--   seeds         { run (--seeds), <part> (--seeds-<part>) }, the given flags with their values, as text
--   rates         the flag --learning-rate with its value, as text; or nil
--   refuse(flag, problem, expected, hint)   records an error of a flag, for the message that ends the command
--   last_lines    lines at the end of the study

local INPUT = 1 -- exit code: invalid input
local MAX_VALUES = 4096 -- values of a range
local MAX_NAME = 120 -- bytes of the name of a study's file, before its digest
local FILES = { source = true, network = true, file = true, checkpoint = true } -- types of fields that name files
local LABELS = "  report = { labels = [^\n]*\n" -- the line that write_labels writes
local VALUES = "values such as 64,128 or alibi,rope, a range 1:4 (both included), or tables: {1,40},{1,80}"

-- Splits a text at commas, except within brackets and quotes; returns nil if a bracket or a quote is not closed.
local function split_values(text)
  local items, start, depth, quote = {}, 1, 0, nil
  for position, c in text:gmatch("()(.)") do
    if quote then
      quote = c ~= quote and quote or nil
    elseif c == '"' or c == "'" then
      quote = c
    elseif c:find("[%[({]") then
      depth = depth + 1
    elseif c:find("[%])}]") then
      depth = depth - 1
    elseif c == "," and depth == 0 then
      items[#items + 1] = text:sub(start, position - 1)
      start = position + 1
    end
  end
  items[#items + 1] = text:sub(start)
  return depth == 0 and not quote and items or nil
end

-- Returns the integers of a range, "1:4" (4 included) or "1:9:2" (in steps of 2), as texts.
-- Returns an empty list for a text that is no range. Returns nil and a message for an invalid range.
local function parse_range(text)
  local first, last, step = text:match("^%s*(%-?%d+):(%-?%d+):?(%d*)%s*$")
  local list = {}
  first, last = math.tointeger(tonumber(first)), math.tointeger(tonumber(last))
  step = math.tointeger(tonumber(step ~= "" and step or 1))
  if not first or not last or not step then
    return list
  elseif last < first or step == 0 or (last - first) // step >= MAX_VALUES then
    return nil, last < first and "ends before it starts" or step == 0 and "a step of 0"
      or ("more than %d values"):format(MAX_VALUES)
  end
  for x = first, last, step do
    list[#list + 1] = ("%d"):format(x)
  end
  return list
end

-- Returns the name of a value in the study: a number, or the name of a preset or file. Other values get a name from the
-- letters and digits of the user's text.
local function make_name(value, text)
  if type(value) == "number" then
    return value
  end
  local word = type(value) == "string" and value:gsub("%.lua$", "") or text
  return (word:lower():gsub("[^a-z0-9_.]+", "-"):gsub("^[-_.]+", ""):gsub("%-+$", ""))
end

-- Returns the value of a field. The relative path of a file is made relative to the folder of runs.
local function rebase_path(work, field, value)
  local entry = schema.by_path[field]
  if type(value) == "string" and entry and FILES[entry.type] and value:sub(1, 1) ~= "/" then
    return paths.make_relative(paths.normalise(work.spec_folder .. "/" .. value), work.folder)
  end
  return value
end

-- Returns a fragment of a spec, as Lua text, which sets the field to the value. text: the value as the user wrote it.
-- If the field is a whole section, such as encoding, a string is the name or the path of a preset.
local function write_fragment(work, field, value, text)
  if load_module.FOLDERS[field] and type(value) == "string" then
    local file = value:find("^%.%.?/") and paths.normalise(work.spec_folder .. "/" .. value)
    value = file and paths.make_relative(file, work.folder) or value
    text = ("{ %s = %q }"):format(field == "task" and "kind" or "use", value)
  elseif type(value) == "string" then
    text = ("%q"):format(rebase_path(work, field, value))
  elseif type(value) == "number" then
    text = diagnostics.show(value)
  end
  for name in field:reverse():gmatch("[^.]+") do -- from the innermost name of the field to the outermost
    text = ("{ %s = %s }"):format(name:reverse(), text)
  end
  return text
end

-- Returns the line of an axis's value in the study; nil after an error.
local function write_value(work, axis, text)
  text = text:match("^%s*(.-)%s*$")
  local value, problem = overrides.read_constant(text)
  local mistake = problem
  if type(value) == "table" then -- the study puts the text into a list, where "{1},{2}" would be two values
    mistake = select(2, overrides.read_constant("{ " .. text .. " }"))
  end
  local name = not mistake and make_name(value, text)
  if mistake then
    work.refuse(axis.flag, ("%s: %s"):format(diagnostics.show(text), mistake), VALUES)
  elseif name == "" or type(name) == "string" and #name > load_module.MAX_ID_LENGTH then
    work.refuse(axis.flag, ("%s: its letters and digits give no valid name for this value"):format(
      diagnostics.show(text)), "a shorter value, or a study file, which names its values")
  elseif axis.names[nodes.get_name(name)] then
    work.refuse(axis.flag, ("%s occurs twice"):format(diagnostics.show(name)),
      "values that differ in their letters and digits")
  else
    axis.names[nodes.get_name(name)] = true
    return ("      { name = %s, spec = %s },"):format(type(name) == "string" and ("%q"):format(name)
      or diagnostics.show(name), write_fragment(work, axis.field, value, text))
  end
end

-- Appends the line of each value in a list such as 64,128 or 1:4 to axis.lines.
local function read_values(work, axis, text)
  local items = split_values(text)
  if not items then
    work.refuse(axis.flag, "a bracket or a quote that is not closed", VALUES)
  end
  for _, item in ipairs(items or {}) do
    local integers, problem = parse_range(item)
    if not integers then
      work.refuse(axis.flag, ("%s %s"):format(item, problem), "A:B or A:B:STEP, both included")
      integers = {}
    elseif not integers[1] then -- the item is no range
      integers = { item }
    end
    for _, value_text in ipairs(integers) do
      axis.lines[#axis.lines + 1] = write_value(work, axis, value_text)
    end
  end
end

local function is_within(field, outer_field)
  return field:sub(1, #outer_field + 1) == outer_field .. "."
end

-- Parses a flag --axis; returns the axis, or nil after an error.
local function read_axis(work, text)
  local field, values = text:match("^%s*([%a_][%w_.]*)%s*=(.*)$")
  local flag = "--axis " .. text
  local section = field and field:match("^[^.]*")
  if not field or ("." .. field):gsub("%.[%a_][%w_]*", "") ~= "" then
    return work.refuse(flag, "not of the form FIELD=VALUES", "as in --axis encoding=alibi,rope")
  elseif not study_module.SECTIONS[section] then
    return work.refuse(flag, ("%s: no such field"):format(field), "a field of a spec, as ./longhand fields lists them",
      unknown.make_hint(field, canonical.sort_keys(study_module.SECTIONS), work.root))
  end
  for _, earlier_axis in ipairs(work.axes) do
    if earlier_axis.field == field then
      return work.refuse(flag, ("a second axis %s"):format(field), "one axis with all values: A,B,C")
    elseif is_within(earlier_axis.field, field) then
      return work.refuse(flag, ("%s contains %s, an earlier axis, and would replace its values"):format(field,
        earlier_axis.field),
        ("--axis %s first"):format(field))
    end
  end
  local axis = { field = field, flag = flag, names = {}, lines = {} }
  read_values(work, axis, values)
  return axis
end

-- Returns a word of --set. A path in it is made relative to the folder of runs. A word that sets an axis is refused.
local function read_set(work, text)
  local field, value = text:match("^%s*([%w_.]+)%s*=(.*)$")
  -- Both encoding.use=... and encoding.kind=... replace the whole section `encoding`.
  local section = field and field:gsub("%.use$", ""):gsub("%.kind$", "")
  for _, axis in ipairs(field and work.axes or {}) do
    if axis.field == field or is_within(axis.field, section) or axis.field == section then
      work.refuse("--set " .. text, ("%s is an axis, and --set would override all of its values"):format(axis.field),
        "one of the two")
    end
  end
  local constant = field and overrides.read_constant(value)
  local path = field and rebase_path(work, field, constant)
  return path ~= constant and ("%s=%s"):format(field, path) or text
end

local function read_rates(work, text)
  local rates = lists.map(lists.find_all(text .. ",", "([^,]*),"), function(item)
    return tonumber(item) and diagnostics.show(tonumber(item))
      or work.refuse(work.rates, ("%s is not a number"):format(diagnostics.show(item)), "a list such as 3e-4,1e-3")
  end)
  if lists.find(work.axes, function(axis) return axis.field == "train.learning_rate" end) then
    work.refuse(work.rates, "conflicts with an axis of train.learning_rate", "one of the two")
  end
  return ("  learning_rates = { %s },"):format(table.concat(rates, ", "))
end

-- Returns the text "first, last" of a flag A:B or A.
local function read_range(work, flag, text)
  local first, last = text:match("^(%d+):(%d+)$")
  first = first or text:match("^%d+$")
  if first and last and tonumber(last) < tonumber(first) then
    work.refuse(flag, "ends before it starts", "A:B, both included")
  elseif not first then
    work.refuse(flag, "is not a range of seeds", "A:B, both included, as in 0:4, or one seed")
  end
  return ("%s, %s"):format(first, last or first)
end

-- Returns the line of the seeds; nil if no flag gives seeds.
local function read_seeds(work, options)
  local ranges = { options.seeds and read_range(work, work.seeds.run, options.seeds) or nil }
  for _, name in ipairs(seeds.PARTS) do
    local text, flag = options["seeds_" .. name], work.seeds[name]
    ranges[#ranges + 1] = text and ("%s = { %s }"):format(name, read_range(work, flag, text)) or nil
  end
  return ranges[1] and ("  seeds = { %s },"):format(table.concat(ranges, ", "))
end

-- Names each axis after the last part of its field, such as width. Axes with equal last parts get the whole field.
local function name_axes(axes)
  for _, axes_of_name in ipairs(lists.group(axes, function(axis) return axis.field:match("[^.]*$") end)) do
    for _, axis in ipairs(axes_of_name) do
      axis.name = axes_of_name[2] and axis.field or axes_of_name.key
    end
  end
  return lists.get_names(axes)
end

-- Returns the line of the study with the labels from --label; nil without labels.
local function write_labels(work, texts)
  local names = canonical.sort_keys(lists.merge(table.unpack(lists.map(work.axes, function(axis)
    return axis.names
  end))))
  local labelled_values = {}
  local labels = lists.map(texts, function(text)
    local name, label = text:match("^%s*([^=]-)%s*=%s*(%S[^%c]*)$")
    if not name then
      return work.refuse("--label " .. text, "not of the form VALUE=TEXT", "as in --label none=NoPE")
    elseif not lists.has(names, name) then
      return work.refuse("--label " .. text, ("%s is not a value of an axis"):format(diagnostics.show(name)),
        table.concat(names, ", "), similar_names.make_hint(name, names))
    elseif labelled_values[name] then
      return work.refuse("--label " .. text, ("%s occurs twice"):format(diagnostics.show(name)), "one label per value")
    end
    labelled_values[name] = true
    return ("[%q] = %q"):format(name, label)
  end)
  return labels[1] and ("  report = { labels = { %s } },"):format(table.concat(labels, ", "))
end

-- Returns the axis of a grid without axes. Its only value leaves the spec unchanged and gives the cell the spec's name.
local function make_single_axis(id)
  return { name = "spec", lines = { ("      { name = %q, spec = {} },"):format(id) } }
end

-- Returns the first part of the cells' names: the spec's name, or only its task if an axis replaces the encoding.
local function choose_prefix(work, loaded)
  local task = lists.get(loaded, "tree.fields.task.fields.kind.value")
  local has_axis_of_encoding = lists.find(work.axes, function(axis) return axis.field == "encoding" end)
  local begins_with_task = type(task) == "string" and loaded.id:find(task .. "_", 1, true) == 1
  return has_axis_of_encoding and begins_with_task and task or loaded.id
end

-- Returns the text of the study. id: the name of the spec; spec: its path; prefix: from choose_prefix.
local function write_study(work, id, spec, prefix)
  local fields = lists.map(work.axes, function(axis) return axis.field end)
  local has_axes = #fields > 0
  local lines = { "-- A grid from flags: ./longhand sweep SPEC --axis FIELD=VALUES. To change it, copy it to another",
    "-- file: this file's name belongs to these flags.", "return {",
    ("  title = %q,"):format(has_axes and ("%s: %s"):format(id, table.concat(fields, ", ")) or id) }
  lines[#lines + 1] = has_axes and ("  prefix = %q,"):format(prefix) or nil
  lists.append(lines, { ("  base = { use = %q },"):format(paths.make_relative(spec, work.folder)), "  axes = {" })
  lists.append(lines, lists.collect(has_axes and work.axes or { make_single_axis(id) }, function(axis)
    local first_line = ("    { name = %q, values = {"):format(axis.name)
    return lists.append(lists.join({ first_line }, axis.lines), { "    } }," })
  end))
  return table.concat(lists.append(lists.append(lines, { "  }," }), work.last_lines), "\n") .. "\n}\n"
end

-- Returns a function for messages. It returns the flag that set the value at a path of the study.
local function make_origin(work, spec)
  return function(path)
    local axis, flag = work.axes[tonumber(path:match("^axes%[(%d+)%]"))], nil
    if axis then
      flag = axis.flag
    elseif path:find("^seeds") then
      flag = work.seeds[path:match("^seeds%.(%a+)") or "run"]
    elseif path:find("^learning_rates") then
      flag = work.rates
    end
    return { set = flag or spec }
  end
end

-- Returns the study's file, { path, text (without labels) }. loaded: the opened spec; spec: its path.
local function make_file(work, out, loaded, spec)
  local names = name_axes(work.axes)
  local start = table.concat({ loaded.id, table.unpack(names) }, "-"):sub(1, MAX_NAME)
  local text = write_study(work, loaded.id, spec, choose_prefix(work, loaded))
  return { path = ("%s/%s-%s.lua"):format(out, start, sha256.digest(text):sub(1, 8)), text = text }
end

-- Makes a study from the flags, and sets the fields of the options that the head of this file describes.
local function read_flags(options)
  local d, root = diagnostics.new(), options.project.root
  local spec = must(INPUT, options.project:find_spec(options.study))
  -- Errors of loading get this note, since the user may have named a study instead of a spec.
  d:set_note(options.grid_flag ~= "--axis" and ("%s is for a spec: a study file lists its own seeds and learning "
    .. "rates"):format(options.grid_flag) or nil)
  local loaded = load_module.load(spec, { root = root, diagnostics = d })
  d:set_note(nil)
  local work = { axes = {}, folder = paths.resolve(options.out), spec_folder = paths.get_folder(paths.resolve(spec)),
    root = root, seeds = { run = options.seeds and "--seeds " .. options.seeds },
    rates = options.rates and "--learning-rate " .. options.rates }
  function work.refuse(flag, problem, expected, hint)
    d:add({ at = { set = flag }, what = problem, expected = expected, hint = hint })
  end
  for _, text in ipairs(loaded and options.axes or {}) do
    work.axes[#work.axes + 1] = read_axis(work, text)
  end
  for _, name in ipairs(seeds.PARTS) do
    local text = options["seeds_" .. name]
    work.seeds[name] = text and ("--seeds-%s %s"):format(name, text)
  end
  work.last_lines = lists.join({ read_seeds(work, options) },
    { options.rates and read_rates(work, options.rates) or nil })
  local study = loaded and make_file(work, options.out, loaded, paths.resolve(spec)) or {}
  local set = lists.map(options.set, function(text) return read_set(work, text) end)
  local labels = write_labels(work, options.labels)
  must(INPUT, d:count() == 0, d:text())
  local old_text = write.read(study.path)
  must(INPUT, not old_text or old_text:gsub(LABELS, "", 1) == study.text, ("%s: found a changed study; expected the "
    .. "study of these flags\n  hint: rename the file to sweep the changed study; remove it to continue with the flags")
    :format(study.path))
  local labelled_text = labels and study.text:gsub("}\n$", function(last) return labels .. "\n" .. last end)
  options.flag_study = { text = labelled_text or old_text or study.text,
    origin = make_origin(work, escape.plain(options.study)) }
  options.study, options.set = study.path, set
end

-- Sets study, scale and choice.cells of the options from the words that name a study or its cells.
local function read_words(options)
  local selection = must(INPUT, choice.parse_words(options.studies,
    function(path) return lfs.attributes(path, "mode") end))
  local scale = selection.scale
  must(INPUT, not scale or not options.scale or scale == options.scale,
    ("%s: found two scales, %s and --scale %s\n  expected: one"):format(options.study, scale, options.scale))
  options.study, options.scale, options.choice.cells = selection.study, scale or options.scale, selection.cells
end

function M.settle(options)
  local filters = must(INPUT, choice.parse_only(options.only))
  options.choice = { only = filters[1] and filters };
  (options.grid_flag and read_flags or read_words)(options)
end

return M
