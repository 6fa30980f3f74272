-- Reads run folders (run.json, eval.jsonl, metrics.jsonl), and the notes of sweeps next to these folders.
--
-- Input: folders. Output: values that fit run_shapes.lua; or nil and a text on the damage, with file, field, the value
-- found and the value expected; or nil alone if the file does not exist. Invariants: this module writes nothing and
-- opens only regular files of bounded size; M.read_last_line reads only the end of a file of any size. An incomplete
-- last line, as a killed trainer leaves it, is skipped and noted.

local diagnostics = require("base.diagnostics")
local evaluation_lines = require("lab.study.read.evaluation_lines")
local input = require("base.input")
local lfs = require("lfs")
local lists = require("base.lists")
local paths = require("base.paths")
local run_shapes = require("lab.study.read.run_shapes")
local seeds = require("lab.study.read.seeds")
local shapes = require("lab.study.read.shapes")
local escape = require("base.escape")
local write = require("base.write")

local M = { DATA_DIGITS = 8 } -- digits of a training file's SHA-256 in the name of a run's folder

local STOPPED = 75 -- the exit code after a signal
local BLOCK_BYTES = 1 << 16 -- bytes of one read
local TAIL_BYTES = 4096 -- enough for the last line of metrics.jsonl and for most lines of eval.jsonl

-- Returns a problem { field, found, expected } as a text of one line. field: "" for the whole value; name: the file's
-- name; number: the line's number, or nil.
function M.format_problem(name, problem, number)
  local field = problem.field ~= "" and problem.field or nil
  return escape.plain(("%s: %s%sfound %s; expected %s"):format(name, number and ("line %d: "):format(number) or "",
    field and field .. ": " or "", problem.found, problem.expected))
end

local function decode(text, shape)
  local value, problem = input.decode(text)
  problem = problem or shapes.find_problem(value, shape)
  return not problem and value or nil, problem
end

-- Reads and checks a JSON file. Returns its value; nil and a text on the damage; or nil alone without a file.
--   shown_path   the file's name in the text
--   max_bytes    the maximum size of the file
--   shape        from shapes.lua
--   check        a function of the value that returns a problem or nil; nil: no check
function M.read_json(path, shown_path, max_bytes, shape, check)
  local text, problem = input.read(path, max_bytes)
  local value
  if text then
    value, problem = decode(text, shape)
  end
  problem = problem or value and check and check(value)
  return not problem and value or nil, problem and M.format_problem(shown_path, problem)
end

-- Returns the last three names of a run's path, as { id, digest, name }; {} for a shorter path.
function M.split_path(dir)
  local id, digest, name = dir:match("([^/]+)/([^/]+)/([^/]+)$")
  return { id = id, digest = digest, name = name }
end

-- Returns the parts of a run folder's name, as texts: { rate, seed, seeds, data }, {} for a name in another form.
-- seeds: the text of seeds.format; data: the first digits of the training file's SHA-256, or nil.
function M.parse_name(name)
  local rate, seed, part_seeds, suffix = name:match("^lr(.-)%-seed(%d+)([.%w]*)(.*)$")
  return { rate = rate, seed = seed, seeds = seed and seed .. part_seeds,
    data = suffix and suffix:match("^%-data(" .. ("[0-9a-f]"):rep(M.DATA_DIGITS) .. ")") }
end

-- Returns a problem if a fact of run.json differs from the names of its folders, or nil. names: from M.split_path.
local function find_misplacement(facts, names)
  local named = M.parse_name(names.name or "")
  local function make_problem(field, found, expected)
    return { field = field, found = diagnostics.show(found), expected = expected }
  end
  for _, key in ipairs({ "id", "digest" }) do
    if names[key] and names[key] ~= facts[key] then
      return make_problem(key, facts[key], diagnostics.show(names[key]) .. ", as in the path of its folder")
    end
  end
  for key, text in pairs({ learning_rate = named.rate, seed = named.seed }) do
    if tonumber(text) ~= facts[key] then
      return make_problem(key, facts[key], text .. ", as in the name of its folder")
    end
  end
  local seed_text = seeds.format({ seed = facts.seed, part_seeds = facts.seeds_apart })
  if named.seeds and named.seeds ~= seed_text then
    return make_problem("seeds_apart", seed_text, named.seeds .. ", as in the name of its folder")
  end
  local digest = named.data and (facts.data or {}).train_sha256 or ""
  return named.data and digest:sub(1, #named.data) ~= named.data
    and make_problem("data.train_sha256", digest, named.data .. "..., as in the name of its folder") or nil
end

-- Returns the content of run.json, or, like M.read_json, a text on the damage. names: from M.split_path, the names that
-- run.json must agree with; nil: no check.
function M.read_facts(dir, names)
  local name = "run.json"
  local facts, damage = M.read_json(dir .. "/" .. name, name, run_shapes.MAX_BYTES[name], run_shapes.facts,
    function(read) return find_misplacement(read, names or {}) end)
  if facts then
    facts.flags = facts.flags or {}
  end
  return facts, damage
end

-- Whether a run ended in an error, not by a signal. exit: its exit code, or nil.
function M.has_failed(exit)
  return exit ~= nil and exit ~= 0 and exit ~= STOPPED
end

-- Calls take(line, number, is_whole) for each non-empty line of a file, until take returns a result.
--   is_whole   whether the line ends with a newline. A line of more than max_line bytes also counts as whole, and may
--              be cut after max_line + 1 bytes, so that memory holds at most a block and a line
-- Returns the result of take, or nil; nil and a problem if the file cannot be read.
local function read_lines(path, max_bytes, max_line, take)
  local file, problem = input.open(path, max_bytes)
  if not file then
    return nil, problem
  end
  local unfinished, number, result = "", 0, nil
  for block in file:lines(BLOCK_BYTES) do
    local text, start = unfinished .. block, 1
    local newline = text:find("\n", #unfinished + 1, true)
    while newline and not result do
      number = number + 1
      result = newline > start and take(text:sub(start, newline - 1), number, true)
      start, newline = newline + 1, text:find("\n", newline + 1, true)
    end
    unfinished = start == 1 and text or text:sub(start) -- no copy if no line ends in the block
    if not result and #unfinished > max_line then
      result = take(unfinished:sub(1, max_line + 1), number + 1, true)
    end
    if result then
      break
    end
  end
  file:close()
  return result or unfinished ~= "" and take(unfinished, number + 1, false) or nil
end

-- Calls take(row) for each line of a file. Returns a text on the first damaged line, or nil. A damaged last line
-- without a newline only adds a text to notes. read(line) returns a row, or nil and a problem.
local function read_rows(dir, name, notes, take, read)
  local max_line, max_lines = run_shapes.MAX_LINE_BYTES, run_shapes.MAX_LINES
  local function take_row(line, number)
    if #line > max_line then
      return { field = "", found = ("more than %d bytes"):format(max_line), expected = ("at most %d"):format(max_line) }
    elseif number > max_lines then
      return { field = "", found = ("more than %d lines"):format(max_lines),
        expected = ("at most %d"):format(max_lines) }
    end
    local row, problem = read(line)
    if row then
      take(row)
    end
    return problem
  end
  local path = dir .. "/" .. name
  local damage, problem_of_file = read_lines(path, run_shapes.MAX_BYTES[name], max_line,
    function(line, number, is_whole)
    local problem = take_row(line, number)
    if problem and not is_whole then
      notes[#notes + 1] = ("%s: line %d is torn, skipped"):format(name, number)
    elseif problem then
      return M.format_problem(name, problem, number)
    end
  end)
  return damage or problem_of_file and M.format_problem(name, problem_of_file)
end

-- Calls take(row) for every line of eval.jsonl; evaluation_lines.lua describes rows. Returns nil, or a text on damage.
function M.read_evaluations(dir, notes, take)
  return read_rows(dir, "eval.jsonl", notes, take, evaluation_lines.read)
end

-- Calls take(row) for every line of metrics.jsonl: numbers by name, with `step`. Returns nil, or a text on damage.
function M.read_metrics(dir, notes, take)
  return read_rows(dir, "metrics.jsonl", notes, take, function(line)
    local row = line:sub(1, 1) == "{" and evaluation_lines.parse_pairs(line, 2, run_shapes.metrics, {})
    if row and row.step then
      return row
    end
    return decode(line, run_shapes.metrics)
  end)
end

-- Returns the last complete line of metrics.jsonl or eval.jsonl, decoded; nil if it is not valid. bytes: the number of
-- bytes to read at the end of the file; nil: TAIL_BYTES, or more if the line is longer.
function M.read_last_line(dir, name, bytes)
  local shape = name == "eval.jsonl" and run_shapes.evaluation or run_shapes.metrics
  local text = (input.read_end(dir .. "/" .. name, bytes or TAIL_BYTES) or ""):reverse()
  -- The text is reversed, since find has no backward search. line_end: the newline after the line; line_start: the
  -- newline before the line.
  local line_end = text:find("\n", 1, true)
  local line_start = line_end and text:find("\n", line_end + 1, true)
  if not bytes and not line_start and #text >= TAIL_BYTES then
    return M.read_last_line(dir, name, run_shapes.MAX_LINE_BYTES)
  end
  local line = line_end and text:sub(line_end + 1, (line_start or #text + 1) - 1):reverse()
  return line and (decode(line, shape)) or nil
end

local function has_run(dir)
  return lfs.attributes(dir .. "/run.json", "mode") ~= nil
end

local function list_names(path)
  return lists.filter(write.list_names(path), function(name) return name:sub(1, 1) ~= "." end)
end

-- Returns the paths of the entries of some folders, except hidden ones. Adds texts on unreadable folders to problems.
local function list_below(dirs, problems)
  local list = {}
  for _, dir in ipairs(dirs) do
    local is_folder = lfs.attributes(dir, "mode") == "directory"
    if is_folder and not pcall(lfs.dir, dir) then
      problems[#problems + 1] = escape.plain(dir .. ": found a folder that cannot be read; expected runs")
    end
    for _, name in ipairs(is_folder and list_names(dir) or {}) do
      list[#list + 1] = dir .. "/" .. name
    end
  end
  return list
end

-- Returns the paths <root>/<id>/<digest>/<run> of the run folders, sorted; and texts on unreadable folders.
function M.find(root)
  local problems = {}
  return lists.filter(list_below(list_below(list_below({ root }, problems), problems), problems), has_run), problems
end

-- Returns the folder of all runs for `dir`, the folder of an id, a digest or a run; nil for any other folder.
function M.find_root(dir)
  local dirs = { dir }
  for depth = 3, 1, -1 do -- the depth of `dir` below the root, if a run is found
    if lists.find(dirs, has_run) then
      local root = paths.normalise(dir .. ("/.."):rep(depth))
      return root ~= "" and root or "."
    end
    dirs = list_below(dirs, {})
  end
end

-- Returns the notes of sweeps in a folder of runs, sorted by file name; and messages on damaged notes. A note describes
-- a study that ran in the folder: { study, path, absolute, scale, set }, of which the last three may be nil.
function M.read_records(root)
  local list, problems = {}, {}
  for _, name in ipairs(list_names(root)) do
    local text = name:find("%.json$") and input.read(root .. "/" .. name, run_shapes.MAX_BYTES.record)
    local value = text and input.decode(text)
    -- problem is false for a file that is no note, and nil for a valid note
    local problem = type(value) == "table" and value.study ~= nil and shapes.find_problem(value, run_shapes.record)
    if problem then
      problems[#problems + 1] = M.format_problem(root .. "/" .. name, problem)
    elseif problem == nil then
      list[#list + 1] = value
    end
  end
  return list, problems
end

return M
