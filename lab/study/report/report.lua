-- The verb `report`: tables and curves of a study's runs, or of any runs, as text, CSV, LaTeX, pictures and one page.
--
-- Input: the options of the verb:
--   project         of project.lua
--   runs            a folder of runs
--   other           the folder of a second run, or nil; with it, compare.lua compares two runs instead
--   study, scale    names of a study and of its scale, or nil
--   metric          the name of the scored metric, or nil
--   max             whether default items show the best of all runs, too
--   out             the folder of results; nil: a folder in `runs`
--   no_cache        whether the cache is neither read nor written
--   say             a function that prints a text
-- Output: an exit code, and a message if the code is not 0. Writes only below `out` and into the cache; does not change
-- the runs.

local study_analyses = require("lab.study.report.page.study_analyses")
local by_place = require("lab.study.report.figures.by_place")
local canonical = require("base.canonical")
local captions = require("lab.study.report.tables.captions")
local cells = require("lab.study.read.cells")
local checkpoints = require("lab.study.report.tables.checkpoints")
local claims = require("lab.study.report.tables.claims")
local compare = require("lab.study.report.compare")
local cost = require("lab.study.report.tables.cost")
local dependencies = require("lab.study.report.dependencies")
local draw = require("lab.study.report.figures.draw")
local entries = require("lab.study.report.tables.table_entries")
local figures = require("lab.study.report.figures.figures")
local heat_maps = require("lab.study.report.figures.heat_maps")
local held_out = require("lab.study.report.tables.held_out")
local items = require("lab.study.report.items")
local open_study = require("lab.study.report.open_study")
local lfs = require("lfs")
local lists = require("base.lists")
local all_metrics = require("lab.study.report.tables.all_metrics")
local metrics = require("lab.study.read.metrics")
local novel_shares = require("lab.study.report.tables.novel_shares")
local numbers = require("lab.study.report.tables.numbers")
local published_module = require("lab.study.read.published")
local reach = require("lab.study.report.tables.reach")
local readings = require("lab.study.read.readings")
local time_to_threshold = require("lab.study.report.tables.time_to_threshold")
local report_csv = require("lab.study.report.tables.report_csv")
local report_page = require("lab.study.report.page.report_page")
local report_cache = require("lab.study.report.report_cache")
local runs = require("lab.study.read.runs")
local seed_shares = require("lab.study.report.tables.seed_shares")
local settings = require("lab.study.report.settings")
local sha256 = require("base.sha256")
local shell = require("base.shell")
local spread = require("lab.study.report.tables.spread")
local stop = require("lab.stop")
local table_latex = require("lab.study.report.tables.table_latex")
local table_text = require("lab.study.report.tables.table_text")
local escape = require("base.escape")
local score_tables = require("lab.study.report.tables.score_tables")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local must = stop.must
local WIDTH = 100 -- characters of a line on the screen and of report.txt
local MAX_CELLS_ON_SCREEN, MAX_NOTES_ON_SCREEN, MAX_DAMAGED_ON_SCREEN = 40, 12, 5

local INPUT, ENVIRONMENT = 1, 4

-- Returns the name of a cell for which the paper's table has several rows; nil if there is no such cell.
local function find_ambiguous_cell(study, item, file)
  local axis = item.at and numbers.find_axis(study)
  if item.at and not axis then
    return nil -- no run has a score, so the axis of the numbers in `at` is unknown
  end
  local position = item.at and { [axis] = item.at[1] } or {}
  local cell = lists.find(study.cells, function(candidate)
    local key = entries.translate(lists.merge(candidate.key, position), item.names)
    return select(2, published_module.find_number(file, key, file.columns[1])) > 1
  end)
  return cell and score_tables.format_key(study, cell)
end

-- Reads the paper's files (published.lua) that the items name. Returns:
--   by_item   item -> the paper's file of numbers for this item
--   setting   the file of the paper's settings, or nil
local function read_published(project, study, checked_items)
  local by_item, setting = {}, nil
  for _, item in ipairs(checked_items) do
    local function read(field, name)
      local file, message = published_module.read(project, name)
      local ambiguous_cell = file and field == "published" and find_ambiguous_cell(study, item, file)
      local problem = ambiguous_cell and ("%s: several rows fit the cell %s\n  expected: `names` that select one of "
        .. "them"):format(file.path, ambiguous_cell) or message
      return must(INPUT, not ambiguous_cell and file, ("%s: error: report[%d].%s: %s"):format(study.path, item.index,
        field, problem))
    end
    local name = type(item.published) == "table" and item.published.file or item.published
    name = type(name) == "string" and name or nil -- items of the kind "time" have a number here
    by_item[item] = name and read("published", name)
    local setting_name = item.setting or name and (name:match("^(.*/)") or "") .. "setting"
    setting = setting or setting_name and read("setting", setting_name)
  end
  return { by_item = by_item, setting = setting }
end

-- Kind of item -> a function of the study, the item, and the paper's file (TABLES) or the name of files (FIGURES).
-- A function in TABLES returns a table. A function in FIGURES returns:
--   a figure or nil: it has panels for curves.lua, or a gnuplot script
--   a list of tables, or nil; these tables may have names
-- The field `file` of a figure or a table is a further file to write, or nil.
local TABLES = { table = score_tables.tabulate, best = score_tables.tabulate_best,
  splits = score_tables.tabulate_sets, numbers = numbers.make_table, reached = time_to_threshold.make_table,
  spread = spread.make_table, claim = claims.make_table }
local FIGURES = { curves = figures.make_by_length, time = figures.make_by_time, axis = figures.make_along_axis,
  progress = figures.make_by_epoch, places = by_place.make, heat = heat_maps.make }

-- Returns the study with the cells that an item shows; all cells if the study was found in a folder.
local function select_cells(study, item)
  -- `only` may name values of the axis that `over` merges, so it is applied first.
  local shown_study = study.is_from_folder and study or cells.select(study, nil, item.only)
  shown_study = item.over and cells.merge_axis(shown_study, item.over) or shown_study
  shown_study = study.is_from_folder and shown_study or cells.select(shown_study, item.where)
  return setmetatable({ labels = lists.merge(study.labels or {}, item.labels) }, { __index = shown_study })
end

-- Fields of an item that are not in the names of its files.
local NOT_IN_NAMES = lists.split_set("kind index title setting published names titles labels width pages")
local MAX_NAME, PREFIX = 64, 48 -- bytes: a longer name becomes its first bytes and a digest

-- Returns the words of a field's value; for a table, the words of its list, then its named keys and their words.
local function list_words(value)
  if type(value) ~= "table" then
    return { tostring(value) }
  end
  return lists.append(lists.collect(value, list_words), lists.collect(canonical.sort_keys(value), function(key)
    return type(key) == "string" and lists.join({ key }, list_words(value[key])) or {}
  end))
end

-- Words for sets whose names would be unclear in names of files.
local SET_WORDS = { [runs.EPOCH] = "batch_accuracy" }

-- Returns the name of an item's files: its kind and the values of its fields.
local function make_file_name(item)
  local words = lists.collect(canonical.sort_keys(item), function(field)
    local field_words = not NOT_IN_NAMES[field] and list_words(item[field]) or {}
    return field == "splits" and lists.map(field_words, function(word) return SET_WORDS[word] or word end)
      or field_words
  end)
  local name = table.concat(lists.join({ item.kind }, words), "-"):gsub("[^%w-]+", "_")
  return #name <= MAX_NAME and name
    or ("%s-%s"):format(name:sub(1, PREFIX), sha256.hash(name):sub(1, 8))
end

-- Returns a sentence on each item that fits no cell.
--   checked_items    the items, each once for each of its pages
--   fitted_indices   the set of the indices (in study.report) of items that fit a cell
local function describe_unfitted(checked_items, fitted_indices)
  return lists.map(lists.group(checked_items, function(item) return item.index end), function(pages)
    local last = pages[#pages]
    return not fitted_indices[last.index] and ("report[%d] (%s) is left out: no cell of the study fits the item's "
      .. "`where`, `only` and `pages`."):format(last.index, last.title or last.kind) or nil
  end)
end

local function make_section(contents)
  return { title = contents.title, table = contents }
end

-- Makes the sections of the items, and then those of held_out.lua. papers: from read_published. Returns:
--   a list of sections, each a figure or { title, table }
--   a list of sentences, from describe_unfitted
local function make_sections(study, checked_items, papers)
  local sections, fitted_indices, name_counts = {}, {}, {}
  for _, item in ipairs(checked_items) do
    local shown_study = select_cells(study, item)
    if #shown_study.cells > 0 then
      fitted_indices[item.index] = true
      local name = make_file_name(item)
      name_counts[name] = (name_counts[name] or 0) + 1
      name = name_counts[name] > 1 and ("%s-%d"):format(name, name_counts[name]) or name
      local figure, tables
      if FIGURES[item.kind] then
        figure, tables = FIGURES[item.kind](shown_study, item, name)
      else
        tables = { TABLES[item.kind](shown_study, item, papers.by_item[item]) }
      end
      sections[#sections + 1] = figure and lists.update(figure, { name = name, width = item.width })
      lists.append(sections, lists.map(tables or {}, function(contents)
        return make_section(lists.update(contents, { name = contents.name and name .. "-" .. contents.name or name }))
      end))
    end
  end
  return lists.append(sections, lists.map(held_out.make_tables(study), make_section)),
    describe_unfitted(checked_items, fitted_indices)
end

local function make_sweep_words(options, study)
  local words = { "./longhand", "sweep", study.path, study.scale and "--scale", study.scale }
  for _, set in ipairs(study.set or {}) do
    lists.append(words, { "--set", set })
  end
  return lists.append(words, { "--out", options.runs })
end

-- Makes a function that formats the command to make the runs of a cell.
local function make_command_formatter(options, study)
  local sweep = not study.is_from_folder and shell.join(make_sweep_words(options, study))
  return function(cell)
    if sweep then
      return ("%s  # %s"):format(sweep, cell.spec and "digest " .. cell.spec.plan.digest or cell.lost_text
        or "waits for another cell's run")
    end
    local source = cell.runs[1].facts.spec and cell.runs[1].facts.spec.source or cell.id
    return ("%s  # digest %s; then trainer train with the flags of a run"):format(shell.join({ "./longhand", "build",
      source }), escape.plain(cell.digest))
  end
end

-- Returns the paragraphs below the title, { text, is_flagged }: a description of the scores, then flagged warnings.
local function make_lead(report, study)
  local requested_count, counts = 0, { evaluated = 0 }
  for _, run in lists.iterate_nested(study.cells, "runs") do
    requested_count, counts[run.state] = requested_count + 1, (counts[run.state] or 0) + 1
  end
  local evaluated_count, unscored_text = counts.evaluated, runs.format_states(counts)
  local metric, details = metrics.by_name[study.scored.metric], captions.describe(study, true)
  local lead = { { text = ("%d of %s %s a score%s. A score is the %s at the last step, in %s.%s"):format(
    evaluated_count, wording.count(requested_count, "run"), evaluated_count == 1 and "has" or "have",
    unscored_text ~= "" and (" (%s)"):format(unscored_text) or "", metric.title, metric.unit,
    details and " " .. details or "") } }
  local remarks, differing = lists.join(open_study.list_remarks(study), report.unfitted),
    settings.list_differing(report.settings)
  if #differing > 0 then
    table.insert(remarks, 1, ("%sNot the paper's setting: %s. So differences from the paper's numbers do not "
      .. "show whether its results were reproduced."):format(study.scale and ("Scale %s. "):format(study.scale) or "",
      table.concat(differing, ", ") .. (#differing == 1 and " differs" or " differ")))
  end
  return lists.append(lead, lists.map(remarks, function(text) return { text = text, is_flagged = true } end))
end

-- Returns the report:
--   study, title         the study, and the title of the page
--   settings             from settings.lua
--   paper                the file of the paper's settings
--   every_cell           a list of tables about all cells
--   readings             from readings.lua
--   format_command       a function of a cell that returns the command to make its runs
--   analyses             from study_analyses.lua
--   command              the command that makes all runs, or this report if the runs are of no study
--   sections, unfitted   from make_sections
--   problems, damaged    lists of messages
--   lead                 from make_lead
local function make_report(options, study, checked_items, papers)
  local report = {
    study = study,
    title = (study.title or study.name) .. (study.scale and (", scale %s"):format(study.scale) or ""),
    settings = settings.list(study, papers.setting), paper = papers.setting,
    every_cell = lists.map({ all_metrics, score_tables, seed_shares, reach, novel_shares,
      checkpoints, cost }, function(module)
      return module.make_cells_table(study)
    end),
    readings = readings.count_answers(cells.list_scored_runs(study)),
    format_command = make_command_formatter(options, study), analyses = study_analyses.find(options.runs, study.name),
    command = shell.join(study.is_from_folder and { "./longhand", "report", options.runs }
      or make_sweep_words(options, study)),
  }
  report.sections, report.unfitted = make_sections(study, checked_items, papers)
  report.problems, report.damaged = open_study.list_problems(study)
  report.lead = make_lead(report, study)
  return report
end

local function format_settings(report)
  local value_width = lists.max(report.settings, function(item) return #item.value end)
  local name_width = lists.max(report.settings, function(item) return #item.name end)
  return table.concat(lists.map(report.settings, function(item)
    local gap = (" "):rep(math.max(0, math.min(value_width, 30) - #item.value) + 2)
    local paper = item.paper and ("%spaper: %s%s"):format(gap, item.paper, item.differs and "  (differs)" or "") or ""
    return ("  %s%s  %s"):format(item.name, (" "):rep(name_width - #item.name), escape.plain(item.value .. paper))
  end), "\n")
end

local function format_readings(report)
  return table.concat(lists.join({ table_text.wrap(readings.TITLE, WIDTH) }, lists.map(report.readings, function(item)
    return ("  %-26s %s"):format(item.question, table_text.wrap(item.text, WIDTH - 29, (" "):rep(29)))
  end)), "\n")
end

local function list_tables(report)
  return lists.map(report.sections, function(section) return section.table end)
end

-- Formats the report as text. is_complete: with all tables and notes, for a file.
local function format_report(report, is_complete)
  local max_notes = not is_complete and MAX_NOTES_ON_SCREEN or nil
  local title = escape.plain(report.title)
  local parts = { title .. "\n" .. ("="):rep(utf8.len(title)) }
  lists.append(parts, lists.map(report.lead, function(paragraph) return table_text.wrap(paragraph.text, WIDTH) end))
  parts[#parts + 1] = "What was run\n" .. format_settings(report)
  local tables = list_tables(report)
  if is_complete or #report.study.cells <= MAX_CELLS_ON_SCREEN then
    lists.append(tables, report.every_cell)
  end
  lists.append(parts, lists.map(tables, function(contents)
    return (table_text.render(contents, WIDTH, max_notes):gsub("\n$", ""))
  end))
  parts[#parts + 1] = #report.readings > 0 and format_readings(report) or nil
  parts[#parts + 1] = #report.problems > 0 and "What could not be read" .. open_study.format(report.problems) or nil
  return table.concat(parts, "\n\n") .. "\n"
end

local function make_files(report)
  local latex = lists.join({ "% Needs \\usepackage{booktabs}.\n" },
    lists.map(lists.append(list_tables(report), report.every_cell), table_latex.render))
  return lists.append({ { path = "report.txt", text = format_report(report, true) },
    { path = "tables.tex", text = table.concat(latex, "\n") } }, lists.append(report_csv.make_files(report.study),
    lists.map(report.sections, function(section) return section.file or section.table and section.table.file end)))
end

local function describe_damage(report, out)
  local count, noun = #report.damaged, #report.study.problems > 0 and "file" or "run"
  return count > 0 and ("longhand report: %s %s damaged and left out; %s/report.txt lists all:%s"):format(
    wording.count(count, noun), count == 1 and "is" or "are", escape.plain(out),
    open_study.format(report.damaged, MAX_DAMAGED_ON_SCREEN)) or nil
end

-- Writes all files or none. Returns:
--   an exit code, and a message or nil
--   the written files; nil if pictures are missing
local function write_report(options, report, out)
  local files = make_files(report)
  local all_figures = lists.filter(report.sections, function(section) return not section.table end)
  -- draw.write adds the pictures to `files`. problem: pictures are missing.
  local is_written, message, problem = draw.write(out, files, all_figures, function(pictures)
    return report_page.render(report, pictures)
  end)
  if not is_written then
    return ENVIRONMENT, "longhand report: " .. message
  end
  local names = table.concat(lists.get_names(all_figures), ", ")
  options.say(("%s: index.html, report.txt, report.csv, runs.csv, tables.tex%s"):format(out,
    names ~= "" and not problem and (", %s as .svg, .pdf and .png"):format(names) or ""))
  local damage = describe_damage(report, out)
  local messages = lists.append({ damage }, { problem and "longhand report: " .. problem })
  return damage and INPUT or problem and ENVIRONMENT or 0, messages[1] and table.concat(messages, "\n"),
    not problem and files or nil
end

local function read_report(options)
  local study = must(INPUT, open_study.open(options, "longhand report: "))
  local checked_items = must(INPUT, items.check(study, options.max))
  return make_report(options, study, checked_items, read_published(options.project, study, checked_items))
end

local function make_and_print(options, key)
  local start_time, said = os.time(), {}
  local function say(text)
    said[#said + 1] = text
    options.say(text)
  end
  local dependencies_read, report = dependencies.observe(read_report, options)
  say((format_report(report, false):gsub("\n$", "")))
  local out, problem = write.choose_folder(options.runs, study_analyses.name_folder("report", report.study.name),
    options.out)
  must(INPUT, out, "longhand report: " .. (problem or ""))
  local code, message, files = write_report(setmetatable({ say = say }, { __index = options }), report, out)
  if files and not options.no_cache then
    report_cache.keep(key, { said = said, code = code, message = message, start_time = start_time, out = out,
      files = files },
      dependencies_read)
  end
  return code, message
end

function M.run(options)
  if options.other then
    return compare.run(options)
  end
  -- The key of a cached report contains everything on which the report depends, except the contents of files.
  local key = canonical.format({ folder = lfs.currentdir(), runs = options.runs, study = options.study,
    scale = options.scale, out = options.out, metric = options.metric, max = options.max })
  local record = not options.no_cache and report_cache.recall(key)
  if not record then
    return stop.catch(make_and_print, options, key)
  end
  for _, text in ipairs(record.said) do
    options.say(text)
  end
  return record.code, record.message
end

return M
