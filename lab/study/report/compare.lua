-- Compares two runs: their differing fields, the first step with different numbers, their curves.
--
-- Input:
--   runs, other   the first and the second run: the folder of the run, or a file in this folder
--   metric        the metric to show; nil: all
--   out           the folder of results; nil: nothing is written
--   say           a function that prints a text
-- Output: an exit code, and a message if the code is not 0. Writes only below `out`.

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
local runs = require("lab.study.read.runs")
local scales = require("lab.study.report.figures.scales")
local stop = require("lab.stop")
local table_text = require("lab.study.report.tables.table_text")
local escape = require("base.escape")

local M = {}

local INPUT, ENVIRONMENT = 1, 4
local WIDTH = 100 -- characters of a line of text
local SAMPLE_ROWS = 12 -- rows of the table of curves
local STYLE_NAMES = { "relative", "rand-rope" } -- encodings whose styles runs A and B have
local STYLES = colours.choose_styles(STYLE_NAMES)
local NAMES = { "A", "B" }
local BARS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

-- Facts of run.json that list_facts does not copy: measured times, and the facts that it adds in another form.
local NOT_COPIED = { started = true, ended = true, train_seconds = true, spec = true, flags = true }
-- Logged numbers that are not compared, since measured times differ from run to run.
local TIMES = { seconds = true, steps_per_second = true }

local function read(path)
  local dir = lfs.attributes(path, "mode") == "file" and (path:match("^(.*)/[^/]*$") or ".") or path
  local run = runs.read(dir)
  stop.must(INPUT, run, ("longhand report: %s is not a folder of a run: there is no run.json\n  expected: a folder "
    .. "such as runs/<id>/<digest>/lr0.0003-seed0"):format(escape.plain(path)))
  run.metrics = run.damaged and {} or runs.read_metrics(run)
  if run.damaged then
    stop.exit(INPUT, escape.plain(("longhand report: %s/%s"):format(dir, run.damaged)))
  end
  return run
end

-- Adds each value inside `value` that is not a table to `texts`, { [path] = text }. Returns `texts`.
-- path: the path of `value`.
local function flatten(value, path, texts)
  if type(value) ~= "table" then
    texts[path] = math.type(value) == "float" and ("%.9g"):format(value) or tostring(value)
    return texts
  end
  for key, inner in pairs(value) do
    local name = type(key) == "number" and ("[%d]"):format(key) or "." .. tostring(key)
    flatten(inner, path == "" and name:gsub("^%.", "") or path .. name, texts)
  end
  return texts
end

local function list_differing_keys(a, b)
  return lists.filter(canonical.merge_keys(a, b), function(key) return a[key] ~= b[key] end)
end

-- Returns the facts of run.json as { [path] = text }. Paths of the resolved spec begin with "spec: ".
local function list_facts(run)
  local texts = { flags = table.concat(run.facts.flags, " ") }
  for key, value in pairs(run.facts) do
    if not NOT_COPIED[key] then
      flatten(value, key, texts)
    end
  end
  for path, text in pairs(flatten(run.facts.spec, "", {})) do
    texts["spec: " .. path] = text
  end
  return texts
end

-- Returns the differing facts as { field, a, b }, first the facts outside the spec.
local function list_differences(a, b)
  local facts_a, facts_b = list_facts(a), list_facts(b)
  local differences = lists.map(list_differing_keys(facts_a, facts_b), function(key)
    return { field = key, a = facts_a[key] or "-", b = facts_b[key] or "-" }
  end)
  local function filter(in_spec)
    return lists.filter(differences, function(item) return (item.field:find("^spec: ") ~= nil) == in_spec end)
  end
  return lists.append(filter(false), filter(true))
end

-- Finds the first step at which both runs logged different numbers. Returns two results:
--   { step, keys, a, b }, with the names of these numbers and the logged lines of both runs; nil: there is no such step
--   the count of common steps up to this step, or of all common steps
local function find_first_difference(a, b)
  local rows_by_step, common_count = lists.index_by(b.metrics, function(row) return row.step end), 0
  for _, row in ipairs(a.metrics) do
    local other_row = rows_by_step[row.step]
    local keys = lists.filter(other_row and list_differing_keys(row, other_row) or {},
      function(key) return not TIMES[key] end)
    common_count = common_count + (other_row and 1 or 0)
    if #keys > 0 then
      return { step = row.step, keys = keys, a = row, b = other_row }, common_count
    end
  end
  return nil, common_count
end

-- Returns both values as text, with four, nine or all digits, the fewest digits in which the values differ.
local function show_both(a, b)
  for _, form in ipairs(math.type(a) == "float" and math.type(b) == "float" and { "%.4g", "%.9g" } or {}) do
    if form:format(a) ~= form:format(b) then
      return ("%s and %s"):format(form:format(a), form:format(b))
    end
  end
  return ("%s and %s"):format(a, b)
end

local function describe_first_difference(a, b)
  local difference, common_count = find_first_difference(a, b)
  if difference then
    local parts = lists.map(difference.keys, function(key)
      return ("%s %s"):format(key, show_both(difference.a[key], difference.b[key]))
    end)
    return ("The first logged step that differs is %d: %s."):format(difference.step, table.concat(parts, ", "))
  elseif common_count == 0 then
    return "No step was logged by both runs."
  end
  return common_count == 1 and "The only step that both runs logged has the same numbers, except for times."
    or ("All %d steps that both runs logged have the same numbers, except for times."):format(common_count)
end

-- Draws a curve as a line of bars. low, high: the values of the lowest and the highest bar.
local function draw_sparkline(points, low, high)
  local parts, count = {}, math.min(60, #points)
  for i = 1, count do
    local value = points[math.ceil(i * #points / count)][2]
    local share = high > low and (value - low) / (high - low) or 0
    parts[i] = BARS[math.max(1, math.min(#BARS, 1 + math.floor(share * (#BARS - 1) + 0.5)))]
  end
  return table.concat(parts)
end

local function tabulate_samples(pair)
  local b_by_x = lists.index_by(pair.b, function(point) return point[1] end)
  local common_points = lists.filter(pair.a, function(point) return b_by_x[point[1]] end)
  local count, form, rows = math.min(SAMPLE_ROWS, #common_points), "%" .. pair.form, {}
  for i = 1, count do
    local x, a_value = table.unpack(common_points[math.ceil(i * #common_points / count)])
    local b_value = b_by_x[x][2]
    rows[i] = { ("%d"):format(x), form:format(a_value), form:format(b_value),
      ("%+" .. pair.form):format(b_value - a_value) }
  end
  return entries.tabulate({ title = pair.title, heads = { pair.x_name, "A", "B", "B - A" }, rows = rows })
end

local function make_title(metric)
  return (measures.by_name[metric].title:gsub("^%l", string.upper))
end

-- Returns the pairs of curves that have points. metric: the metric to show; nil: all. A pair:
--   name      the name of its files
--   title     its title
--   x_name    the name of x
--   a, b      lists of points { x, value }, one for each run
--   form      the format of values for string.format, without %
--   percent   whether values are in percent
local function list_curves(a, b, metric)
  local curve_pairs = {}
  local function add(pair, list_points)
    pair.a, pair.b = list_points(a), list_points(b)
    curve_pairs[#curve_pairs + 1] = #pair.a + #pair.b > 0 and pair or nil
  end
  for _, name in ipairs(metric and { metric } or { "loss", "accuracy", "accuracy_teacher_forced" }) do
    add({ name = name, title = make_title(name) .. " in training", x_name = "step", form = ".4f" }, function(run)
      return lists.map(run.metrics, function(row) return row[name] and { row.step, row[name] } end)
    end)
  end
  local is_generative = a.decoding or b.decoding
  local names = metric and { metric } or is_generative and { "exact_match", "accuracy", "accuracy_teacher_forced" }
    or { "accuracy" }
  local axis = a.axis == b.axis and a.axis or "length"
  for _, name in ipairs(names) do
    local measure = measures.by_name[name]
    add({ name = name == "accuracy" and "lengths" or "lengths_" .. name, title = ("%s by %s, in %s"):format(
      make_title(name), axis, measure.unit), x_name = axis, form = measure.form:sub(2),
      percent = measure.factor == 100 }, function(run) return figures.list_points(run, nil, measure.factor, name) end)
  end
  return curve_pairs
end

local function make_figure(pair)
  local last = lists.max({ pair.a, pair.b }, function(points) return #points > 0 and points[#points][1] or 0 end)
  local panel = { xlabel = pair.x_name, ylabel = pair.title, x = { 0, math.max(1, last * 1.02) },
    percent = pair.percent }
  panel.curves = lists.map({ pair.a, pair.b }, function(points, i)
    return #points > 0 and { points = points, style = STYLES[STYLE_NAMES[i]], line = NAMES[i] } or nil
  end)
  scales.fit_panel(panel)
  return { name = pair.name, title = pair.title, panels = { panel } }
end

local function format_differences(differences)
  local lines = { "Differences" }
  for _, item in ipairs(differences) do
    local field, a, b = escape.plain(item.field), escape.plain(item.a), escape.plain(item.b)
    local line = ("  %-40s %s  |  %s"):format(field, a, b)
    lines[#lines + 1] = #line <= WIDTH and line or ("  %s\n    A  %s\n    B  %s"):format(field, a, b)
  end
  lines[2] = lines[2] or "  none in run.json, except for times"
  return table.concat(lines, "\n")
end

local function format_pair(pair)
  local low, high = scales.find_range({ pair.a, pair.b }, function(point) return point[2] end)
  return table_text.render(tabulate_samples(pair), WIDTH) .. ("\nA  %s\nB  %s"):format(
    draw_sparkline(pair.a, low, high), draw_sparkline(pair.b, low, high))
end

function M.format_result(result)
  local a, b = result.a, result.b
  local parts = { ("A  %s (%s)\nB  %s (%s)"):format(escape.plain(a.dir), a.state, escape.plain(b.dir), b.state),
    format_differences(result.differences), result.first_difference }
  lists.append(parts, lists.map(result.pairs, format_pair))
  return table.concat(lists.append(parts, lists.map(result.notes, escape.plain)), "\n\n") .. "\n"
end

local function make_csv(result)
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

local function make_page(result, pictures)
  local differences = entries.tabulate({ title = "Differences", heads = { "field", "A", "B" },
    rows = lists.map(result.differences, function(item) return { item.field, item.a, item.b } end) })
  local sections = { { title = "Differences", body = #result.differences > 0 and html.make_table(differences)
    or "<p>None in run.json, except for times.</p>" } }
  lists.append(sections, lists.map(result.pairs, function(pair)
    return { title = pair.title, body = figure.make_body(pair.figure, pictures)
      .. html.make_table(tabulate_samples(pair)) }
  end))
  local lead = ("<p>A: <code>%s</code><br/>B: <code>%s</code></p><p>%s</p>"):format(escape.html(result.a.dir),
    escape.html(result.b.dir), escape.html(result.first_difference))
  return html.make_page({ title = "Two runs", lead = lead, sections = sections })
end

local function write_all(options, result)
  local files = { { path = "compare.txt", text = M.format_result(result) },
    { path = "compare.csv", text = make_csv(result) } }
  for _, pair in ipairs(result.pairs) do
    pair.figure = make_figure(pair)
  end
  local all_figures = lists.map(result.pairs, function(pair) return pair.figure end)
  local is_written, message, problem = draw.write(options.out, files, all_figures, function(pictures)
    return make_page(result, pictures)
  end)
  if not is_written then
    return ENVIRONMENT, "longhand report: " .. message
  end
  options.say(("%s: index.html, compare.txt, compare.csv, pictures: %s"):format(options.out, problem
    and "none" or table.concat(lists.get_names(all_figures), ", ")))
  return problem and ENVIRONMENT or 0, problem and "longhand report: " .. problem
end

-- Returns the comparison:
--   a, b               both runs
--   differences        from list_differences
--   first_difference   a sentence on the first logged step that differs
--   pairs              from list_curves
--   notes              messages on unreadable contents of the runs
function M.compare(path_a, path_b, metric)
  local a, b = read(path_a), read(path_b)
  return { a = a, b = b, differences = list_differences(a, b), first_difference = describe_first_difference(a, b),
    pairs = list_curves(a, b, metric), notes = lists.collect({ a, b }, function(run)
      return lists.map(run.notes, function(note) return ("%s/%s"):format(run.dir, note) end)
    end) }
end

local function compare(options)
  local result = M.compare(options.runs, options.other, options.metric)
  options.say((M.format_result(result):gsub("\n$", "")))
  if options.out then
    return write_all(options, result)
  end
  return 0
end

function M.run(options)
  return stop.catch(compare, options)
end

return M
