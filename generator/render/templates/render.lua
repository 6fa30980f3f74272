-- The template engine: renders a template with a plan into text, and records the template line of every line.
--
-- Input of M.render:
--   name     the template's name, relative to templates/
--   plan     the plan, whose fields the template reads by name
--   extras   names that take precedence over the plan's, or nil
--   read(name, folder)   returns a text or nil. folder: nil for a template; for an inserted hand-written file
--                        "kernels", or the folder that the template states
-- Output: text and map; or nil and an error { path, line, col, what, hint, notes }. map[i] is the chain of templates
-- that produced line i, innermost first: { { name, line, folder }, ... }.
-- A hole is a place ${...} of a template, into which a value is printed.
--
-- Invariants: the same plan gives the same text; a line of text in a template gives exactly one line each time it runs,
-- except lines of C that are too long (wrap.lua) or lose parameters (signatures.lua); a template can read only the
-- plan's fields, the extras, the arguments of its include, and the helpers below.

local known_fields = require("render.templates.known_fields")
local lists = require("base.lists")
local literals = require("base.literals")
local similar_names = require("base.similar_names")
local signatures = require("render.templates.signatures")
local slots = require("render.templates.slots")
local template = require("render.templates.template")
local escape = require("base.escape")
local wrap = require("render.templates.wrap")

local M = {}

local KERNELS = "kernels"
local C_ENDINGS = { c = true, h = true, inc = true, cu = true, cpp = true } -- endings of the names of C files
local HOLE_HINT = "a hole takes a one-line string or an integer"

local KEYWORDS = [[ auto break case char const continue default do double else enum extern float for goto if inline int
  long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while ]]

-- Raises an error at the current place of the innermost template.
local function fail(run, message, hint)
  local frame = run.stack[#run.stack]
  local notes = {}
  for i = #run.stack - 1, 1, -1 do
    notes[#notes + 1] = { path = run.stack[i].path, line = run.stack[i].line, what = "included here" }
  end
  error({ path = frame.path, line = frame.line, col = frame.col, what = message, hint = hint, notes = notes }, 0)
end

-- Makes a C identifier from a name such as "x86-64-v3": each run of characters that C does not allow becomes one
-- underscore. Returns nil and a reason if there is none.
local function make_identifier(name)
  if type(name) ~= "string" then
    return nil, ("a name is needed, not %s"):format(type(name))
  end
  local text = name:gsub("[^%w]+", "_")
  if text == "" or text:find("^%d") or KEYWORDS:find("%s" .. text .. "%s") then
    return nil, ("%q makes no C identifier"):format(name)
  end
  return text
end

-- Makes a helper that puts text into a comment or a string of C. escape_text: a function of escape.lua.
local function make_text_helper(escape_text)
  return function(text)
    if type(text) ~= "string" then
      return nil, ("a text is needed, not %s"):format(type(text))
    end
    return escape_text(text)
  end
end

-- Makes a hint with the most similar name among the keys of the given tables; nil if no name is similar.
local function make_hint(name, ...)
  local names = {}
  for _, scope in ipairs({ ... }) do
    for key in pairs(scope) do
      names[#names + 1] = tostring(key)
    end
  end
  table.sort(names)
  return similar_names.make_hint(name, names, "%q")
end

-- Returns the innermost frame, after setting frame.line to the template line that runs now. Lines of text, and calls
-- that give lines, have set frame.line themselves; for other lines of Lua the number is found in Lua's call stack.
local function locate(run)
  local frame = run.stack[#run.stack]
  for level = 2, 30 do
    local info = debug.getinfo(level, "fl")
    if not info then
      break
    end
    if info.func == frame.chunk then
      if frame.line ~= info.currentline then
        frame.line, frame.col = info.currentline, nil
      end
      break
    end
  end
  return frame
end

-- Moves the column to a name in the current line, at or after the hole. If the name is not there, the column stays at
-- the hole, or without a hole moves to the line's first character.
local function point_at(run, name)
  local frame = locate(run)
  local source, pattern = frame.source[frame.line] or "", "%f[%w_]" .. name:gsub("%p", "%%%0") .. "%f[^%w_]"
  frame.col = source:find(pattern, frame.col or 1) or frame.col or source:find("%S") or 1
end

-- Returns the value of a name for a template: from the innermost extras that have it, else from the plan.
local function lookup(run, name)
  for i = #run.extras, 1, -1 do
    local value = rawget(run.extras[i], name)
    if value ~= nil then
      return value
    end
  end
  if run.plan[name] ~= nil then
    return run.plan[name]
  end
  point_at(run, tostring(name))
  fail(run, ("'%s' is not in the plan"):format(name), make_hint(tostring(name), run.helpers, run.plan,
    table.unpack(run.extras)))
end

-- Returns the text of a hole's value; fails if the value is neither one line of text nor an integer.
local function fill_hole(run, expression, value)
  if type(value) == "string" then
    if value:find("[\n\r]") then
      fail(run, ("%s has more than one line"):format(expression), HOLE_HINT)
    end
    return value
  elseif math.type(value) == "integer" then
    return ("%d"):format(value)
  elseif math.type(value) == "float" then
    fail(run, ("%s is a float: %.17g"):format(expression, value), "print floats with f32(x) or f64(x)")
  end
  fail(run, ("%s is %s"):format(expression, value == nil and "nil" or "a " .. type(value)), HOLE_HINT)
end

-- Makes a helper from a function that returns nil and a reason on failure; the failure becomes an error at the place of
-- the call.
local function make_helper(run, name, convert)
  return function(...)
    local text, reason = convert(...)
    if not text then
      point_at(run, name)
      fail(run, ("%s: %s"):format(name, reason))
    end
    return text
  end
end

local run_template

-- Inserts a template, or one section of it, indented to the column of the call. values_by_name: a table of names that
-- the template can read in addition to the plan's, or nil. A template may include itself with other values.
local function include(run, name, values_by_name, section)
  local frame = run.stack[#run.stack]
  if type(name) ~= "string" or (values_by_name ~= nil and type(values_by_name) ~= "table") then
    fail(run, "include takes the name of a template, and optionally a table of names for it")
  end
  for i, outer_frame in ipairs(run.stack) do
    if outer_frame.name == name and outer_frame.section == section and outer_frame.values == values_by_name then
      local names = lists.get_names(table.move(run.stack, i, #run.stack, 1, {}))
      fail(run, ("%s includes itself: %s -> %s"):format(name, table.concat(names, " -> "), name))
    end
  end
  local indent = run.indent
  run.indent = indent .. (" "):rep(frame.col - 1)
  run.extras[#run.extras + 1] = values_by_name or {}
  run_template(run, name, section, values_by_name)
  run.extras[#run.extras] = nil
  run.indent = indent
end

-- Adds a line of text. place: the origin of the line, { name, line, folder }; depth: the number of frames, counted from
-- the outermost, whose includes led to this place. The entry of the map is the place, then the current lines of these
-- frames, the innermost first.
local function add_line(run, text, place, depth)
  run.lines[#run.lines + 1] = text
  local chain = { place }
  for i = depth, 1, -1 do
    chain[#chain + 1] = { run.stack[i].name, run.stack[i].line }
  end
  run.map[#run.map + 1] = chain
end

-- Includes a template and adds an empty line after it.
local function include_paragraph(run, name, values_by_name)
  include(run, name, values_by_name)
  local frame = run.stack[#run.stack]
  add_line(run, "", { frame.name, frame.line }, #run.stack - 1)
end

-- Adds the line of text that the pieces so far make. line: its number in the template.
local function finish_line(run, line)
  local text = table.concat(run.pieces)
  run.pieces = {}
  text = text == "" and "" or run.indent .. text
  add_line(run, text, { run.stack[#run.stack].name, line }, #run.stack - 1)
end

-- Writes HEAD(word, word, ...), which is a call of a function or the head of its definition. The words are the further
-- arguments, or the items of a single list. A word is text or an integer. The word false is left out: it stands for an
-- argument that this experiment does not need.
local function write_call(run, head, ...)
  local words, texts = ..., {}
  words = type(words) == "table" and { n = #words, table.unpack(words) } or table.pack(...)
  for i = 1, words.n do
    local word = words[i]
    if type(word) == "string" or math.type(word) == "integer" then
      texts[#texts + 1] = tostring(word)
    elseif word ~= false then
      fail(run, ("argument %d of %s is %s"):format(i, head, word == nil and "nil" or "a " .. type(word)),
        "a one-line string, an integer, or false for none")
    end
  end
  return ("%s(%s)"):format(head, table.concat(texts, ", "))
end

-- Makes a helper for lines that end with `tail`: call(function, argument, ...), or call(function, { argument, ... }).
local function make_call_helper(tail)
  return function(run, head, ...)
    local frame = run.stack[#run.stack]
    local text = run.indent .. (" "):rep(frame.col - 1) .. write_call(run, head, ...) .. tail
    add_line(run, text, { frame.name, frame.line }, #run.stack - 1)
  end
end

local function invoke(run, ...)
  point_at(run, "invoke")
  return write_call(run, ...)
end

-- Inserts a hand-written file of kernels/, or of another folder, unchanged except that a header loses its guard. Text
-- such as ${name} or % in the file has no meaning here, and no indentation is added.
local function splice(run, name, folder)
  folder = folder or KERNELS
  if type(name) ~= "string" or type(folder) ~= "string" then
    fail(run, ("splice takes the name of a file in %s/, or a name and another folder"):format(KERNELS))
  end
  local text = run.read(name, folder)
  if not text then
    fail(run, ("no such file: %s/%s"):format(folder, name))
  end
  local guard = text:match("\n#ifndef ([%w_]+)\n#define %1\n")
  text = guard and text:gsub("\n+#endif\n$", "\n") or text
  local line = 0
  for source in (text:sub(-1) == "\n" and text or text .. "\n"):gmatch("([^\n]*)\n") do
    line = line + 1
    if not guard or source ~= "#ifndef " .. guard and source ~= "#define " .. guard then
      add_line(run, source, { name, line, folder }, #run.stack)
    end
  end
end

local function add_text(run, text)
  run.pieces[#run.pieces + 1] = text
end

-- The functions that the code of a template (template.lua) calls for pieces of lines, places, holes and ends of lines.
local CODE = {
  __text = add_text,
  __at = function(run, line, col)
    local frame = run.stack[#run.stack]
    frame.line, frame.col = line, col
  end,
  __hole = function(run, ...) add_text(run, fill_hole(run, ...)) end,
  __end = finish_line,
}
local CONVERT = { c_comment = make_text_helper(escape.c_comment), c_string = make_text_helper(escape.c_string),
  f32 = literals.f32, f64 = literals.f64, ident = make_identifier }
local ACTIONS = { include = include, paragraph = include_paragraph, splice = splice, slot = slots.fill,
  inline = slots.inline, call = make_call_helper(";"), invoke = invoke, define = make_call_helper(" {") }

-- Returns a copy of a table of functions, in which the run is the first argument of each.
local function bind(run, functions)
  local names = {}
  for name, call in next, functions do
    names[name] = function(...) return call(run, ...) end
  end
  return names
end

local function make_environment(run)
  run.helpers = bind(run, ACTIONS)
  run.helpers.ipairs = ipairs
  for name, convert in next, CONVERT do
    run.helpers[name] = make_helper(run, name, convert)
  end
  local code = bind(run, CODE)
  return setmetatable({}, {
    __index = function(_, name) return run.helpers[name] or code[name] or lookup(run, name) end,
    __newindex = function(_, name)
      point_at(run, tostring(name))
      fail(run, ("a template cannot set '%s'"):format(name), "write: local " .. name)
    end,
  })
end

-- Returns the parsed template, or one section of it; each is parsed once in a rendering.
local function parse(run, name, section)
  local key = section and name .. "#" .. section or name
  if not run.parsed[key] then
    local text = run.read(name)
    if not text then
      if #run.stack == 0 then
        error({ path = "templates/" .. name, line = 1, col = 1, what = "no such template" }, 0)
      end
      fail(run, ("no such template: templates/%s"):format(name))
    end
    local result, err = template.parse(name, "templates/" .. name, text, section)
    if not result then
      error(err, 0)
    end
    run.parsed[key] = result
  end
  return run.parsed[key]
end

run_template = function(run, name, section, values_by_name)
  local source = parse(run, name, section)
  local chunk = load(source.code, "=" .. source.path, "t", run.environment)
  table.insert(run.stack, { name = name, section = section, values = values_by_name, path = source.path,
    source = source.source, chunk = chunk, line = 1, col = 1 })
  chunk()
  table.remove(run.stack)
end

-- Raises an error for an unknown field. The message names the field as the current line of the template does, with its
-- tables, such as family.mask.kind. record: the table that lacks the field.
local function fail_unknown_field(run, record, field)
  local pattern = "%f[%w_][%a_][%w_%.%[%]]*%." .. field:gsub("%p", "%%%0") .. "%f[^%w_]"
  local frame = locate(run)
  local names = lists.drop_repeats(lists.find_all(frame.source[frame.line], pattern))
  point_at(run, names[1] or field)
  fail(run, ("'%s' is not in the plan"):format(names[1] and table.concat(names, "' or '") or field),
    make_hint(field, record))
end

-- Converts an error that Lua or known_fields.lua raised to an error of `fail`. A Ctrl-C is passed on.
local function convert_error(run, err)
  if type(err) == "table" and err.unknown_field then
    return select(2, pcall(fail_unknown_field, run, err.record, err.unknown_field))
  elseif type(err) == "table" or #run.stack == 0 or err:find("interrupted!", 1, true) then
    return err
  end
  -- If the error names nothing, point_at searches for "\0": no line contains it, so the column does not change.
  point_at(run, err:match("%(%l+ '([^']+)'%)") or "\0")
  local _, located_error = pcall(fail, run, (err:gsub("^[^:]*:%d+: ", "")))
  return located_error
end

-- Returns an entry of the map as a path of the repository and a line: "templates/cpu/step.c.tpl:7".
function M.format_place(entry)
  return ("%s/%s:%d"):format(entry[3] or "templates", entry[1], entry[2])
end

-- Renders a template. finish(lines, map), if given, returns changed lines and a changed map; extras, if given, are
-- names for the whole template; functions, if given, is the record of the functions of files rendered before
-- (signatures.lua), to which the functions of this C file are added.
--
-- The state of a rendering, `run`, has in addition to the arguments:
--   stack        the frames of the running templates, innermost last: { name, section, values, path,
--                source, chunk, line, col }
--   extras       tables of names; names of later tables take precedence
--   parsed       parsed templates, by name and section
--   sections     whether templates of terms have sections, by template and section (slots.lua)
--   indent       the indentation of the lines of an include
--   pieces       the pieces of the current line
--   lines, map   the result
--   environment  the environment in which templates run
--   helpers      the functions in the environment that templates call by name
function M.render(name, plan, read, finish, extras, functions)
  local is_c = functions ~= nil or C_ENDINGS[name:match("%.(%w+)%.tpl$")]
  local run = {
    plan = plan, read = read, parsed = {}, sections = {}, stack = {}, extras = { extras }, indent = "", pieces = {},
    lines = {}, map = {},
    include = include, fail = fail, lookup = lookup, -- slots.lua uses these
  }
  run.environment = make_environment(run)
  known_fields.check_reads(plan)
  local ok, err = xpcall(function()
    run_template(run, name)
    if is_c then
      local ok, problem, number = signatures.remove_unused(functions or signatures.new(), run.lines, run.map)
      local place = not ok and run.map[number][1]
      return ok or error({ path = "templates/" .. place[1], line = place[2], col = 1, what = problem }, 0)
    end
  end, function(err) return convert_error(run, err) end)
  if not ok then
    if type(err) ~= "table" then
      error(err, 0)
    end
    return nil, err
  end
  local lines, map = run.lines, run.map
  if is_c then
    lines, map = wrap.wrap(lines, map)
  end
  if finish then
    lines, map = finish(lines, map)
  end
  return table.concat(lines, "\n") .. (#lines > 0 and "\n" or ""), map
end

return M
