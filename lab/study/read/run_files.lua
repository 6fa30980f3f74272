-- The only reader of run folders: run.json, eval.jsonl, metrics.jsonl, and the notes of sweeps next to the folders.
--
-- Input: folders. Output: values that fit run_shapes.lua, or nil and a line on the damage: file, field, the value found
-- and the value expected. nil alone: the file does not exist. Invariants: this module writes nothing and opens only
-- regular files of bounded size; an incomplete last line, as a killed trainer leaves it, is skipped and noted.

local diagnostics = require("base.diagnostics")
local evaluation_lines = require("lab.study.read.evaluation_lines")
local input = require("base.input")
local lfs = require("lfs")
local lists = require("base.lists")
local paths = require("base.paths")
local run_shapes = require("lab.study.read.run_shapes")
local shapes = require("lab.study.read.shapes")
local escape = require("base.escape")
local write = require("base.write")

local M = { DATA_DIGITS = 8 } -- digits of a training file's SHA-256 in the name of a run's folder

local STOPPED = 75 -- the exit code after a signal
local BLOCK = 1 << 16 -- bytes of one read
local TAIL = 4096 -- bytes that hold the last line of metrics.jsonl, and of eval.jsonl

-- Describes a problem { field (or nil), found, expected } of a file in one line. The line number may be nil.
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

-- Reads and checks a JSON file. Returns its value; nil and a line on the damage; or nil alone without a file. shown:
-- the name of the file in the line; largest: bytes; check: nil, or a function that returns a problem or nil.
function M.read_json(path, shown, largest, shape, check)
  local text, problem = input.read(path, largest)
  local value
  if text then
    value, problem = decode(text, shape)
  end
  problem = problem or value and check and check(value)
  return not problem and value or nil, problem and M.format_problem(shown, problem)
end

-- Splits the end of a run's path, <id>/<digest>/<name>; fields are nil if the path is shorter.
function M.split_path(dir)
  local id, digest, name = dir:match("([^/]+)/([^/]+)/([^/]+)$")
  return { id = id, digest = digest, name = name }
end

-- Returns the parts of a run folder's name, as texts: { rate, seed, data (of the training file's SHA-256, or nil) }.
function M.parse_name(name)
  local rate, seed, rest = name:match("^lr(.-)%-seed(%d+)(.*)$")
  return { rate = rate, seed = seed, data = rest and rest:match("^%-data(" .. ("[0-9a-f]"):rep(M.DATA_DIGITS) .. ")") }
end

-- Returns the first fact of run.json that differs from the names of its folders, as a problem; nil if all agree.
local function find_misplacement(facts, place)
  local named = M.parse_name(place.name or "")
  local function problem(field, found, expected)
    return { field = field, found = diagnostics.show(found), expected = expected }
  end
  for _, key in ipairs({ "id", "digest" }) do
    if place[key] and place[key] ~= facts[key] then
      return problem(key, facts[key], diagnostics.show(place[key]) .. ", the folder it lies in")
    end
  end
  for key, text in pairs({ learning_rate = named.rate, seed = named.seed }) do
    if tonumber(text) ~= facts[key] then
      return problem(key, facts[key], text .. ", as its folder is called")
    end
  end
  local digest = named.data and (facts.data or {}).train_sha256 or ""
  return named.data and digest:sub(1, #named.data) ~= named.data
    and problem("data.train_sha256", digest, named.data .. "..., as its folder is called") or nil
end

-- Reads the run.json of a folder. place: from M.split_path; absent if the folder may have any name.
function M.read_facts(dir, place)
  local name = "run.json"
  local facts, damage = M.read_json(dir .. "/" .. name, name, run_shapes.LARGEST[name], run_shapes.facts,
    function(facts)
    return find_misplacement(facts, place or {})
  end)
  if facts then
    facts.flags = facts.flags or {}
  end
  return facts, damage
end

-- Whether a run ended in an error, that is, neither successfully nor by a signal.
function M.has_failed(exit)
  return exit ~= nil and exit ~= 0 and exit ~= STOPPED
end

-- Calls take(line, number, is_whole) for each line of a file that is not empty, until take returns a result. is_whole:
-- the line ends with a newline. A line of more than `longest` bytes is cut after longest + 1 bytes. Returns the result
-- of take, or nil and the problem with the file. At most a block and a line are in memory at a time.
local function read_lines(path, largest, longest, take)
  local file, problem = input.open(path, largest)
  if not file then
    return nil, problem
  end
  local rest, number, found = "", 0, nil
  for block in file:lines(BLOCK) do
    local text, at = rest .. block, 1
    local stop = text:find("\n", #rest + 1, true)
    while stop and not found do
      number = number + 1
      found = stop > at and take(text:sub(at, stop - 1), number, true)
      at, stop = stop + 1, text:find("\n", stop + 1, true)
    end
    rest = text:sub(at)
    if not found and #rest > longest then
      found = take(rest:sub(1, longest + 1), number + 1, true)
    end
    if found then
      break
    end
  end
  file:close()
  return found or rest ~= "" and take(rest, number + 1, false) or nil
end

-- Calls take(row) for each row that read(line) returns; for damaged lines, read returns nil and a problem. Adds a text
-- on an incomplete last line to notes. Returns nil, or the first problem as text.
local function read_rows(dir, name, notes, take, read)
  local longest, most = run_shapes.LONGEST_LINE, run_shapes.MOST_LINES
  local function take_row(line, number)
    if #line > longest then
      return { field = "", found = ("more than %d bytes"):format(longest), expected = ("at most %d"):format(longest) }
    elseif number > most then
      return { field = "", found = "one line more", expected = ("at most %d"):format(most) }
    end
    local row, problem = read(line)
    if row then
      take(row)
    end
    return problem
  end
  local path = dir .. "/" .. name
  local damage, unread = read_lines(path, run_shapes.LARGEST[name], longest, function(line, number, is_whole)
    local problem = take_row(line, number)
    if problem and not is_whole then
      notes[#notes + 1] = ("%s: line %d is torn, skipped"):format(name, number)
    elseif problem then
      return M.format_problem(name, problem, number)
    end
  end)
  return damage or unread and M.format_problem(name, unread)
end

-- Calls take(row) for every line of eval.jsonl, as evaluation_lines.lua returns it. Fields of a row: length, nil if the
-- line has other axes; by, the numbers on these axes; seed, nil for the standard seed; set, for the split "during" with
-- several sets; trained, the share of examples that were trained on; novel, true if trained examples were left out;
-- beyond, the axes on which the condition exceeds all training examples; of, the number of existing examples if fewer
-- were taken; order, "file" if the first examples of the file were taken; data, the first digits of the SHA-256 of
-- their file. Returns nil, or a description of the damage.
function M.read_evaluations(dir, notes, take)
  return read_rows(dir, "eval.jsonl", notes, take, evaluation_lines.read)
end

-- Calls take(row) for every line of metrics.jsonl: numbers by name, always with `step`. Returns damage as text, or nil.
function M.read_metrics(dir, notes, take)
  return read_rows(dir, "metrics.jsonl", notes, take, function(line)
    local row = line:sub(1, 1) == "{" and evaluation_lines.parse_pairs(line, 2, run_shapes.metrics, {})
    if row and row.step then
      return row
    end
    return decode(line, run_shapes.metrics)
  end)
end

-- Returns the last complete line of metrics.jsonl or eval.jsonl, decoded; nil without a valid line. The search runs
-- from the end, since a pattern that is anchored at the end would be tried at every earlier byte.
function M.read_last_line(dir, name)
  local shape = name == "eval.jsonl" and run_shapes.evaluation or run_shapes.metrics
  local text = (input.read_end(dir .. "/" .. name, TAIL) or ""):reverse()
  local close = text:find("\n", 1, true)
  local line = close and text:sub(close + 1, (text:find("\n", close + 1, true) or #text + 1) - 1):reverse()
  return line and (decode(line, shape)) or nil
end

local function has_run(dir)
  return lfs.attributes(dir .. "/run.json", "mode") ~= nil
end

local function list_names(path)
  return lists.filter(write.list_names(path), function(name) return name:sub(1, 1) ~= "." end)
end

-- Returns the paths of the entries of folders, in the folders' order. Appends texts on unreadable folders to problems.
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

-- Returns the run folders below a folder, <id>/<digest>/<run>, as a sorted list; and texts on unreadable folders.
function M.find(root)
  local problems = {}
  return lists.filter(list_below(list_below(list_below({ root }, problems), problems), problems), has_run), problems
end

-- Returns the folder of all runs from the folder of an id, of a digest or of a run; nil for any other folder.
function M.find_root(dir)
  local level = { dir }
  for up = 3, 1, -1 do
    if lists.find(level, has_run) then
      local root = paths.normalise(dir .. ("/.."):rep(up))
      return root ~= "" and root or "."
    end
    level = list_below(level, {})
  end
end

-- Returns the notes of sweeps on the studies that ran in a folder: a list of { study, path, scale, set }, sorted by
-- name; and messages on damaged notes. JSON files without the field `study` are no notes and are ignored.
function M.read_records(root)
  local list, problems = {}, {}
  for _, name in ipairs(list_names(root)) do
    local text = name:find("%.json$") and input.read(root .. "/" .. name, run_shapes.LARGEST.record)
    local value = text and input.decode(text)
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
