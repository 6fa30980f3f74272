-- Attention bias calibration (Duan and Shi 2024): from a trained encoder-decoder to the spec of a student whose scores
-- get a bias along lines of the teacher's attention matrices (docs/calibration.md).
--
-- Input: the options { project, run, spec, trainer, samples, seed, length, reading, set, positions, init, control, out,
-- tables, force, say, provide }, from the command line (lab/cli/command_lines.lua) and lab/verbs.lua. Output: an exit
-- code and, if it is not 0, a message. Writes the student's spec, the teacher's spec if no file has it, and a folder of
-- tables and pictures. A job:
--   run        the teacher's run (trained_run.lua)
--   resolved   the teacher's resolved spec
--   options    the options
--   choices    from fields.lua
--   source     the teacher's run as a source of traces (analyze/source.lua)
--   kind       the kind of traced values: "attention" or "scores"
--   length     the task length of the examples

local fields = require("lab.study.calibrate.fields")
local controls = require("lab.study.calibrate.controls")
local draw = require("lab.study.report.figures.draw")
local heat = require("lab.study.report.figures.heat")
local inference = require("lab.study.analyze.mathematics.inference")
local lfs = require("lfs")
local found_lines = require("lab.study.calibrate.found_lines")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local panels = require("lab.study.report.figures.panels")
local paths = require("base.paths")
local source_module = require("lab.study.analyze.source")
local stops = require("lab.stop")
local student_spec = require("lab.study.calibrate.student_spec")
local escape = require("base.escape")
local trained_run = require("lab.study.read.trained_run")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local must, stop = stops.must, stops.exit

local INPUT, ENVIRONMENT = 1, 4

-- Attention families of a decoder:
--   name      the family's name in specs
--   choices   the field of the job's choices
--   ending    the text after the layer's name in names of a trace
--   title     the name of the family in texts
local FAMILIES = {
  { name = "decoder", choices = "self", ending = "", title = "self-attention" },
  { name = "cross", choices = "cross", ending = ".cross", title = "cross-attention" },
}

-- Returns the trace of the average attention over correctly answered training examples.
local function trace_average(job)
  local split = job.run.info.data and { "--split", "train", "--shuffle" } or {}
  return job.source:trace(job.kind, lists.join({ "--lengths", job.length, "--examples", job.options.samples,
    "--average", "--exact" }, split), { path = job.source.folder .. "/attention.safetensors" })
end

-- Returns a section (found_lines.lua) with the found lines of a family, and with a further field:
--   matrices   the mean attention of each head
local function find_section(job, trace, family)
  local model, choices = job.resolved.model, job.choices
  local name = ("n%d.decoder.layers.%d%s.%s"):format(job.length, model.decoder_layers - 1, family.ending, job.kind)
  local entry = trace.entries[name]
  if not entry or #entry.shape ~= 3 then
    stop(INPUT, ("%s: training examples of length %d have outputs of different lengths; expected equal lengths"):format(
      job.run.dir, job.length))
  end
  local scale = choices.scores == "raw" and math.sqrt(model.width / model.heads) or 1
  local section = { family = family.name, title = family.title, choices = choices[family.choices], heads = {},
    matrices = {}, rows = entry.shape[2], columns = entry.shape[3] }
  local size = section.rows * section.columns
  for head = 1, entry.shape[1] do
    local values = job.source:read(trace, name, (head - 1) * size, size)
    section.matrices[head] = { rows = section.rows, columns = section.columns,
      values = lists.map(values, function(value) return value * scale end) }
    local head_lines, problem = found_lines.find(section.matrices[head], section.choices)
    section.heads[head] = head_lines or stop(INPUT, ("%s: %s: %s\n  hint: --set rows=all"):format(job.run.dir,
      family.title, problem))
    for _, line in ipairs(head_lines.kept_lines) do
      line.head = head - 1
    end
  end
  return section
end

-- Whether the file `path` exists and has the teacher's spec. If it has another spec, the command ends.
local function is_teacher_file(run, options, path)
  local mode = lfs.symlinkattributes(path, "mode")
  local spec = mode and options.project:plan(path, {})
  if mode and not (spec and spec.plan.digest == run.info.digest) then
    stop(INPUT, ("%s: exists, but is not the spec of the run; the student refers to the run's spec by this name\n  "
      .. "expected: --spec SPEC, the spec of the run, or --out FILE in another folder"):format(path))
  end
  return mode ~= nil
end

-- Returns the paths of specs. path: a file with the teacher's spec; is_user_file: whether --spec names this file, or it
-- is in spec/runs. Result:
--   out       the student's file
--   base      the teacher's file, relative to the student's file
--   teacher   { path, text } of the teacher's file if it must be written, or nil
local function choose_paths(run, options, path, is_user_file)
  local id = run.info.id
  local folder = is_user_file and paths.get_folder(path) or run.dir
  local out = options.out or ("%s/%s_calibrated.lua"):format(folder, id)
  local name = out:match("([^/]*)%.lua$")
  if not name or not load_module.is_id(name) then
    stop(INPUT, ("--out %s: not a name of a spec\n  expected: NAME.lua with NAME = %s"):format(out,
      load_module.ID_TEXT))
  end
  local teacher_path = is_user_file and path or ("%s/%s.lua"):format(paths.get_folder(out), id)
  if paths.resolve(out) == paths.resolve(teacher_path) then
    stop(INPUT, ("--out %s: is the teacher's spec\n  expected: another file"):format(out))
  end
  if lfs.symlinkattributes(out, "mode") and not options.force then
    stop(INPUT, out .. ": exists already\n  expected: --out FILE with another name, or --force to overwrite it")
  end
  local base = paths.make_relative(paths.resolve(teacher_path), paths.resolve(paths.get_folder(out)))
  local has_teacher_file = is_user_file or is_teacher_file(run, options, teacher_path)
  return { out = out, base = base,
    teacher = not has_teacher_file and { path = teacher_path, text = write.read(path) } or nil }
end

-- Returns the options as text, for the comment in the student's spec.
local function format_settings(options)
  local words = { "--reading " .. options.reading, "--samples " .. options.samples, "--seed " .. options.seed }
  lists.append(words, lists.map(options.set, function(word) return "--set " .. word end))
  words[#words + 1] = options.control and "--control " .. options.control or nil
  words[#words + 1] = options.init and "--init" or nil
  return table.concat(words, " ")
end

local function make_comment(job, trace)
  local info = job.run.info
  return {
    ("The spec of a student. The teacher: %s, seed %d, at step %s."):format(info.id, info.seed,
      trace.metadata.step or "?"),
    ("Lines of the attention of the teacher's last decoder layer, averaged over %s training examples:"):format(
      (trace.metadata.exact or "?"):gsub("/", " of ")),
    "those that the teacher answers correctly. Written by longhand calibrate",
    format_settings(job.options),
  }
end

local function write_file(path, text, options)
  must(ENVIRONMENT, write.file(path, text))
  options.say(path)
end

-- Writes the student's spec, and the teacher's spec if no file has it. sections: from find_section; files: from
-- choose_paths.
local function write_specs(job, trace, sections, files)
  local families, random = {}, inference.make_random(job.options.seed)
  for _, section in ipairs(sections) do
    local family_lines = { list = lists.collect(section.heads, function(head) return head.kept_lines end),
      choices = section.choices }
    families[section.family] = controls.make(job.options.control, family_lines, section, section.family,
      #section.heads, random)
  end
  if job.options.init and student_spec.replaces_masks(families, job.resolved.encoding) then
    stop(INPUT, ("%s: --init: lines replace a mask of the teacher, so the student's model does not fit the teacher's "
      .. "checkpoint\n  expected: a teacher without a mask, or no --init"):format(job.run.dir))
  end
  local init
  if job.options.init then
    init = paths.make_relative(paths.resolve(job.run.checkpoint), paths.resolve(paths.get_folder(files.out)))
  elseif job.resolved.init then
    init = false -- cancels the initial checkpoint of the teacher's spec
  end
  local text = student_spec.write_spec({ base = files.base, init = init, lines = families,
    comment = make_comment(job, trace), teacher_encoding = job.resolved.encoding,
    disables_positions = job.options.positions == "none" })
  if files.teacher then
    write_file(files.teacher.path, files.teacher.text, job.options)
  end
  write_file(files.out, text, job.options)
end

-- Returns a script of gnuplot. A family has two rows of pictures: the mean attention of each head, and its bias.
local function make_picture(sections, title)
  local rows = {}
  for _, section in ipairs(sections) do
    local attention_row, bias_row = { label = section.title .. ": mean attention" },
      { label = section.title .. ": bias" }
    for h, head in ipairs(section.heads) do
      attention_row[h] = heat.draw_matrix(("head %d"):format(h - 1), section.matrices[h])
      local biases = found_lines.make_bias(head.kept_lines, section.rows, section.columns, section.choices,
        section.family == "decoder")
      bias_row[h] = heat.draw_matrix(#head.kept_lines > 0 and ("head %d"):format(h - 1)
        or ("head %d, no lines"):format(h - 1), biases)
    end
    rows[#rows + 1], rows[#rows + 2] = attention_row, bias_row
  end
  return panels.make_script({ name = "calibration", title = title,
    note = "queries down, keys right; closed cells are white", panel_height = 160, rows = rows })
end

-- Writes tables and pictures. Returns nil, or a message if the pictures could not be drawn.
local function write_tables(job, trace, sections)
  local out = must(INPUT, write.choose_folder(job.run.dir, "calibration", job.options.tables, "--tables"))
  local title = ("%s: attention of the last decoder layer"):format(job.run.info.id)
  local files = {
    found_lines.make_csv(sections),
    { path = "attention.safetensors", text = write.read(trace.path) },
    { path = "calibration.gnuplot", text = make_picture(sections, title) },
  }
  local problem = draw.add(files, { "calibration" })
  must(ENVIRONMENT, write.files(out, files))
  job.options.say(("%s: calibration.svg, .pdf and .png, lines.csv, attention.safetensors"):format(out))
  return problem
end

local function check_model(run, model)
  if model.kind ~= "encoder_decoder" then
    stop(INPUT, ("%s: its model is %s\n  expected: a run of model.kind = \"encoder_decoder\": lines come from the "
      .. "self-attention and cross-attention of a decoder"):format(run.dir, model.source
      and "a network of the user's own" or ('of the kind "%s"'):format(escape.plain(model.kind))))
  end
end

-- Reports the number of correctly answered examples, and warns if fewer than half were answered correctly.
local function report_samples(job, trace)
  local say, model = job.options.say, job.resolved.model
  local correct_count, total_count = (trace.metadata.exact or ""):match("^(%d+)/(%d+)$")
  must(INPUT, correct_count,
    ("%s: its trainer does not report how many examples it answered correctly"):format(job.run.dir))
  correct_count, total_count = tonumber(correct_count), tonumber(total_count)
  say(("%s: %d of %s answered correctly; attention of decoder layer %d of %d, %s"):format(job.run.info.id,
    correct_count, wording.count(total_count, "training example"), model.decoder_layers, model.decoder_layers,
    wording.count(model.heads, "head")))
  if correct_count < total_count / 2 then
    say("warning: fewer than half were answered correctly; a teacher should answer its training examples correctly")
  end
end

local function open_job(run, spec, options, folder)
  -- train_lengths of run.json is a plain list; train.lengths of a spec is { first, last, step } or { list }.
  local choices, lengths = options.choices, run.info.train_lengths or spec.resolved.train.lengths
  return { run = run, resolved = spec.resolved, options = options, choices = choices,
    kind = choices.scores == "weights" and "attention" or "scores",
    length = options.length or math.max(lengths.last or 0, table.unpack(lengths.list or lengths)),
    source = source_module.open(run, { project = options.project, trainer = options.trainer, folder = folder,
      seed = options.seed, label = run.info.id, provide = function()
        return options.provide(spec.path)
      end }) }
end

-- Traces the teacher, finds lines, and writes tables and specs. Returns the exit code.
local function calibrate(run, spec, options, folder)
  local is_user_file = options.spec or spec.path == options.project:path(("spec/runs/%s.lua"):format(run.info.id))
  local files = choose_paths(run, options, spec.path, is_user_file)
  local job = open_job(run, spec, options, folder)
  local trace = trace_average(job)
  report_samples(job, trace)
  local sections, kept_count = {}, 0
  for i, family in ipairs(FAMILIES) do
    sections[i] = find_section(job, trace, family)
    kept_count = kept_count + found_lines.count_kept(sections[i])
  end
  for _, line in ipairs(found_lines.format_lines(sections)) do
    options.say(line)
  end
  local problem = write_tables(job, trace, sections)
  if kept_count == 0 then
    stop(INPUT, ("%s: no line of any head passes; no student is written\n  hint: see the reasons for each head above; "
      .. "--reading and --set FIELD=VALUE change the criteria"):format(run.dir))
  end
  write_specs(job, trace, sections, files)
  return problem and stop(ENVIRONMENT, problem) or 0
end

local function calibrate_run(options, folder)
  local run = source_module.open_run(options.run)
  check_model(run, run.info.spec.model)
  trained_run.use_spec(options.project, run, options.spec, function(spec)
    return calibrate(run, spec, options, folder)
  end)
end

function M.run(options)
  local message
  options.choices, message = fields.read(options.reading, options.set)
  if not options.choices then
    return 2, message
  elseif options.init and options.positions == "none" then
    return 2, "--positions none cannot be used with --init: the parameters were trained with the teacher's positions\n"
      .. "  expected: --positions keep, the default with --init"
  end
  options.positions = options.positions or options.init and "keep" or "none"
  return source_module.call_in_folder(calibrate_run, options)
end

return M
