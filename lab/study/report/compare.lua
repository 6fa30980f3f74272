-- Compares two runs: their differing fields, the first step with different numbers, their curves.
--
-- Input: { runs, other, out, say }; runs and other are folders of runs or files in them. Output: an exit code, and a
-- message if the code is not 0. Writes only below `out`, and nothing without `out`.

local canonical = require("base.canonical")
local colours = require("lab.study.report.figures.colours")
local draw = require("lab.study.report.figures.draw")
local entries = require("lab.study.report.tables.table_entries")
local figure = require("lab.study.report.page.figure")
local figures = require("lab.study.report.figures.figures")
local html = require("lab.study.report.page.html")
local lfs = require("lfs")
local lists = require("base.lists")
local measures = require("lab.study.read.metrics")
local page = require("lab.study.report.page.page")
local runs = require("lab.study.read.runs")
local scales = require("lab.study.report.figures.scales")
local stop = require("lab.stop")
local table_text = require("lab.study.report.tables.table_text")
local escape = require("base.escape")

local M = {}

local must = stop.must

local INPUT, ENVIRONMENT = 1, 4
local WIDTH = 100
local SAMPLES = 12 -- rows of the table of curves
local LOOKS = { "relative", "rand-rope" } -- whose styles the two runs have
local STYLES = colours.all(LOOKS)
local NAMES = { "A", "B" }
local BARS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

-- Facts that are not compared: they do not describe the computation, or another part of the comparison shows them.
local IGNORED = { started = true, ended = true, train_seconds = true, spec = true, flags = true }
-- Measured times differ from run to run.
local TIMES = { "seconds", "steps_per_second" }

local function read(path)
  local dir = lfs.attributes(path, "mode") == "file" and (path:match("^(.*)/[^/]*$") or ".") or path
  local run = runs.read(dir)
  must(INPUT, run, ("longhand report: %s is no folder of a run: there is no run.json\n  expected: a folder such as "
    .. "runs/<id>/<digest>/lr0.0003-seed0"):format(escape.plain(path)))
  run.metrics = run.damaged and {} or runs.metrics(run)
  if run.damaged then
    stop.with(INPUT, escape.plain(("longhand report: %s/%s"):format(dir, run.notes[#run.notes])))
  end
  return run
end

-- Converts nested tables into a map from path to text.
local function flatten(value, path, into)
  if type(value) ~= "table" then
    into[path] = math.type(value) == "float" and ("%.9g"):format(value) or tostring(value)
    return into
  end
  for key, inner in pairs(value) do
    local name = type(key) == "number" and ("[%d]"):format(key) or "." .. tostring(key)
    flatten(inner, path == "" and name:gsub("^%.", "") or path .. name, into)
  end
  return into
end

local function differing_keys(a, b)
  return lists.filter(canonical.sorted_keys(lists.merged(a, b)), function(key) return a[key] ~= b[key] end)
end

local function top_level(facts)
  local map = {}
  for key, value in pairs(facts) do
    if not IGNORED[key] and type(value) ~= "table" then
      map[key] = flatten(value, "", {})[""]
    end
  end
  map.flags = table.concat(facts.flags, " ")
  return map
end

-- Differences in run.json, facts first and then fields of the resolved spec: { { field, a, b }, ... }.
local function differences(a, b)
  local list = {}
  local maps = { { top_level(a.facts), top_level(b.facts), "" },
    { flatten(a.facts.spec or {}, "", {}), flatten(b.facts.spec or {}, "", {}), "spec: " } }
  for _, pair in ipairs(maps) do
    for _, key in ipairs(differing_keys(pair[1], pair[2])) do
      list[#list + 1] = { field = pair[3] .. key, a = pair[1][key] or "-", b = pair[2][key] or "-" }
    end
  end
  return list
end

-- The first step for which both runs logged different numbers, times excluded, as { step, keys, a, b }; and the number
-- of steps that both runs logged.
local function first_difference(a, b)
  local others, common = {}, 0
  for _, row in ipairs(b.metrics) do
    others[row.step or 0] = row
  end
  for _, row in ipairs(a.metrics) do
    local other = others[row.step or 0]
    if other then
      common = common + 1
      local keys = lists.filter(differing_keys(flatten(row, "", {}), flatten(other, "", {})), function(key)
        return not lists.has(TIMES, key)
      end)
      if #keys > 0 then
        return { step = row.step, keys = keys, a = row, b = other }, common
      end
    end
  end
  return nil, common
end

-- Both values with four digits, or with all digits if they are equal in four digits.
local function show_both(a, b)
  for _, form in ipairs(math.type(a) == "float" and math.type(b) == "float" and { "%.4g", "%.9g" } or {}) do
    if form:format(a) ~= form:format(b) then
      return ("%s and %s"):format(form:format(a), form:format(b))
    end
  end
  return ("%s and %s"):format(a, b)
end

local function difference_text(a, b)
  local found, common = first_difference(a, b)
  if found then
    local parts = lists.map(found.keys, function(key)
      return ("%s %s"):format(key, show_both(found.a[key], found.b[key]))
    end)
    return ("The first logged step that differs is %d: %s."):format(found.step, table.concat(parts, ", "))
  elseif common == 0 then
    return "The two logged no step in common."
  end
  return common == 1 and "The only step that both logged has the same numbers, times aside."
    or ("All %d steps that both logged have the same numbers, times aside."):format(common)
end

local function column(metrics, key)
  return lists.map(metrics, function(row) return tonumber(row[key]) and { row.step, tonumber(row[key]) } or nil end)
end

-- A text of bars for a list of values, scaled to the range from low to high.
local function sparkline(points, low, high)
  local parts, wanted = {}, math.min(60, #points)
  for i = 1, wanted do
    local value = points[math.ceil(i * #points / wanted)][2]
    local share = high > low and (value - low) / (high - low) or 0
    parts[i] = BARS[math.max(1, math.min(#BARS, 1 + math.floor(share * (#BARS - 1) + 0.5)))]
  end
  return table.concat(parts)
end

-- A table of the curves of a pair at some of the places that both curves have.
local function samples(pair)
  local others, rows = {}, {}
  for _, point in ipairs(pair.b) do
    others[point[1]] = point[2]
  end
  local common = lists.filter(pair.a, function(point) return others[point[1]] end)
  local count = math.min(SAMPLES, #common)
  for i = 1, count do
    local x, value = table.unpack(common[math.ceil(i * #common / count)])
    local plain = "%" .. pair.form
    rows[i] = { ("%d"):format(x), plain:format(value), plain:format(others[x]),
      ("%+" .. pair.form):format(others[x] - value) }
  end
  return entries.plain({ title = pair.title, heads = { pair.corner, "A", "B", "B - A" }, rows = rows })
end

-- A metric by length, or by another axis for held-out examples, from the last evaluation, in the metric's unit.
local function by_length(run, metric)
  return figures.points(run, nil, measures.of[metric].factor, metric)
end

local function title_of(metric)
  return (measures.of[metric].title:gsub("^%l", string.upper))
end

-- The curves to show: { name, title, corner, a, b, form, percent }, without curves that neither run has. metric: the
-- only metric to show; nil: all metrics.
local function pairs_of_curves(a, b, metric)
  local list = {}
  local function add(name, title, corner, form, percent, points_a, points_b)
    if #points_a + #points_b > 0 then
      list[#list + 1] = { name = name, title = title, corner = corner, form = form, percent = percent, a = points_a,
        b = points_b }
    end
  end
  for _, name in ipairs(metric and { metric } or { "loss", "accuracy", "accuracy_teacher_forced" }) do
    add(name, title_of(name) .. " in training", "step", ".4f", false, column(a.metrics, name),
      column(b.metrics, name))
  end
  local generative = a.decoding or b.decoding
  local names = metric and { metric } or generative and { "exact_match", "accuracy", "accuracy_teacher_forced" }
    or { "accuracy" }
  local axis = a.axis == b.axis and a.axis or "length"
  for _, name in ipairs(names) do
    local measure = measures.of[name]
    add(name == "accuracy" and "lengths" or "lengths_" .. name, ("%s by %s, in %s"):format(title_of(name), axis,
      measure.unit), axis, measure.form:sub(2), measure.factor == 100, by_length(a, name), by_length(b, name))
  end
  return list
end

local function figure_of(pair)
  local last = 0
  for _, points in ipairs({ pair.a, pair.b }) do
    last = #points > 0 and math.max(last, points[#points][1]) or last
  end
  local panel = { xlabel = pair.corner, ylabel = pair.title, x = { 0, math.max(1, last * 1.02) },
    percent = pair.percent }
  panel.curves = lists.map({ pair.a, pair.b }, function(points, i)
    return #points > 0 and { points = points, style = STYLES[LOOKS[i]], title = NAMES[i], line = NAMES[i] } or nil
  end)
  scales.fit(panel)
  return { name = pair.name, title = pair.title, panels = { panel } }
end

local function differences_model(list)
  return entries.plain({ title = "What differs", heads = { "field", "A", "B" },
    rows = lists.map(list, function(item) return { item.field, item.a, item.b } end) })
end

-- Prints two values that are too long for a table below their field.
local function differences_text(list)
  local lines = { "What differs" }
  for _, item in ipairs(list) do
    local field, a, b = escape.plain(item.field), escape.plain(item.a), escape.plain(item.b)
    local line = ("  %-40s %s  |  %s"):format(field, a, b)
    lines[#lines + 1] = #line <= WIDTH and line or ("  %s\n    A  %s\n    B  %s"):format(field, a, b)
  end
  lines[2] = lines[2] or "  nothing in run.json but times"
  return table.concat(lines, "\n")
end

local function pair_text(pair)
  local low, high = scales.range({ pair.a, pair.b }, function(point) return point[2] end)
  return table_text.render(samples(pair), WIDTH) .. ("\nA  %s\nB  %s"):format(sparkline(pair.a, low, high),
    sparkline(pair.b, low, high))
end

local function text_of(result)
  local a, b = result.a, result.b
  local parts = { ("A  %s (%s)\nB  %s (%s)"):format(escape.plain(a.dir), a.state, escape.plain(b.dir), b.state),
    differences_text(result.differences), result.first }
  lists.append(parts, lists.map(result.pairs, pair_text))
  return table.concat(lists.append(parts, lists.map(result.notes, escape.plain)), "\n\n") .. "\n"
end

local function csv_of(result)
  local lines = { "curve,run,x,value" }
  for _, pair in ipairs(result.pairs) do
    for _, side in ipairs({ "a", "b" }) do
      for _, point in ipairs(pair[side]) do
        lines[#lines + 1] = ("%s,%s,%d,%.9g"):format(escape.csv(pair.name), side:upper(), point[1], point[2])
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function page_of(result, pictures)
  local sections = { { title = "What differs", body = #result.differences > 0
    and html.table(differences_model(result.differences)) or "<p>Nothing in run.json but times.</p>" } }
  lists.append(sections, lists.map(result.pairs, function(pair)
    return { title = pair.title, body = figure.body(pair.figure, pictures) .. html.table(samples(pair)) }
  end))
  local lead = ("<p>A: <code>%s</code><br/>B: <code>%s</code></p><p>%s</p>"):format(escape.html(result.a.dir),
    escape.html(result.b.dir), escape.html(result.first))
  return page.render({ title = "Two runs", lead = lead, sections = sections })
end

local function write_all(options, result)
  local files = { { path = "compare.txt", text = text_of(result) }, { path = "compare.csv", text = csv_of(result) } }
  for _, pair in ipairs(result.pairs) do
    pair.figure = figure_of(pair)
  end
  local figures_of = lists.map(result.pairs, function(pair) return pair.figure end)
  local written, message, problem = draw.write(options.out, files, figures_of, function(pictures)
    return page_of(result, pictures)
  end)
  if not written then
    return ENVIRONMENT, "longhand report: " .. message
  end
  options.say(("%s: index.html, compare.txt, compare.csv, pictures: %s"):format(options.out, problem
    and "none" or table.concat(lists.names(figures_of), ", ")))
  return problem and ENVIRONMENT or 0, problem and "longhand report: " .. problem
end

-- The comparison of two runs. metric: the metric of the curves; nil: all metrics.
function M.result(path_a, path_b, metric)
  local a, b = read(path_a), read(path_b)
  local result = { a = a, b = b, differences = differences(a, b), first = difference_text(a, b),
    pairs = pairs_of_curves(a, b, metric), notes = {} }
  for run, note in lists.nested({ a, b }, "notes") do
    table.insert(result.notes, ("%s/%s"):format(run.dir, note))
  end
  return result
end

local function compare(options)
  local result = M.result(options.runs, options.other, options.metric)
  options.say((text_of(result):gsub("\n$", "")))
  if not options.out then
    return 0
  end
  return write_all(options, result)
end

function M.run(options)
  return stop.catch(compare, options)
end

M.text = text_of

return M
