-- Lists the available specs, studies, tasks and so on, for the verb `list`, or shows one of them.
--
-- Input: a project, the name of a list and, for M.show, the name of an item. Output: lines of text, or nil and a
-- message.

local lists = require("base.lists")
local similar_names = require("base.similar_names")
local sandbox = require("spec.reading.sandbox")
local write = require("base.write")

local M = {}

local FOLDERS = { runs = "spec/runs", encodings = "spec/encodings", models = "spec/models", studies = "spec/studies",
  sites = "spec/sites" }

local TARGETS = {
  "cpu    C for gcc or clang, one object per instruction-set level",
  "cuda   device code for NVIDIA GPUs, in addition to cpu: docs/cuda.md",
}

-- Encodings by the paper that compares them, in the paper's order: each entry has the paper's title and the names of
-- its encodings.
local PAPERS = {
  { title = "Ruoss et al. 2023, randomized positional encodings (positions.kind = \"randomized\" with any of these)",
    "none", "sinusoid", "learned", "relative", "rope", "alibi", "label", "geometric" },
  { title = "Duan & Shi 2024, attention bias calibration", "abc_a", "abc_b", "abc_c", "abc_d" },
  { title = "Ito et al. 2024, the Latin Square Task", "lst_nope", "lst_cnope", "lst_cnope_clean", "lst_1d",
    "lst_1d_clean", "lst_2d", "lst_2d_clean", "lst_relative", "lst_relative_clean", "lst_rope", "lst_learned",
    "lst_random" },
}
-- The kinds of models that an encoding fits, for encodings that do not fit all kinds.
local ENCODER, WITH_ENCODER, ENCODER_DECODER = "encoder", "encoder, encoder_decoder", "encoder_decoder"
local MODELS = { coupling = "decoder, encoder_decoder", rope_nope_cycle = "encoder, decoder",
  local_global_cycle = "encoder, decoder", geometric = WITH_ENCODER, abc_b = ENCODER_DECODER,
  abc_c = ENCODER_DECODER, abc_d = ENCODER_DECODER,
  lst_2d = ENCODER, lst_2d_clean = ENCODER, lst_learned = ENCODER, lst_random = ENCODER }

local function format_row(name, summary)
  return ("%-34s %s"):format(name, summary)
end

-- The first sentence of the comment at the head of a file.
local function read_first_sentence(path)
  local words = {}
  for line in (write.read(path) or ""):gmatch("[^\n]*") do
    local text = line:match("^%-%-+%s+(.+)")
    if not text then
      break
    end
    words[#words + 1] = text
  end
  local text = table.concat(words, " ")
  return text:match("^(.-%.)%s+%u") or text
end

local function list_files(project, folder)
  local lines = lists.map(project:list_names(folder, ".lua"), function(name)
    return format_row(name, read_first_sentence(project:path(folder .. "/" .. name .. ".lua")))
  end)
  return #lines > 0 and lines or { ("none yet (%s)"):format(folder) }
end

-- Whether the file of an encoding sets a causal mask.
local function is_causal(path)
  return lists.get(sandbox.run(write.read(path)), "mask.kind") == "causal"
end

local function format_encoding(project, name)
  local models, path = MODELS[name], project:path(("spec/encodings/%s.lua"):format(name))
  return format_row(name, read_first_sentence(path) .. (is_causal(path) and " [causal]" or "")
    .. (models and (" [models: %s]"):format(models) or ""))
end

local function list_encodings(project)
  local lines, is_listed = {}, {}
  local function add(title, names)
    lists.append(lines, { title .. ":" })
    for _, name in ipairs(names) do
      lines[#lines + 1] = "  " .. format_encoding(project, name)
      is_listed[name] = true
    end
    lines[#lines + 1] = ""
  end
  for _, paper in ipairs(PAPERS) do
    add(paper.title, paper)
  end
  local names = project:list_names("spec/encodings", ".lua")
  add("From other papers", lists.filter(names, function(name) return not is_listed[name] end))
  return lists.append(lines, { "[causal]: a causal mask; no query sees a later key, even in an encoder.",
    "An encoding without [models: ...] fits encoders, decoders and encoder-decoders." })
end

-- The lines of a task. task: the facts that its file declares.
local function describe_task(task)
  local lines = { format_row(task.kind, task.summary) }
  for _, axis in ipairs(task.axes or {}) do
    lines[#lines + 1] = ("    eval.by.%s: %s to %s; %s"):format(axis.name, axis.first, axis.last, axis.doc)
  end
  for _, option in ipairs(task.options or {}) do
    local choices = option.first and ("%d to %d (%d)"):format(option.first, option.last, option.default)
      or table.concat(option.choices, " ")
    lines[#lines + 1] = ("    options.%s: %s; %s"):format(option.name, choices, option.doc)
  end
  return lines
end

local function list_tasks(project)
  local facts, message = project:read_tasks()
  if not facts then
    return nil, message
  end
  return lists.append(lists.collect(facts.list, describe_task), {
    format_row('source = "<kind>.c"', "a task of your own: docs/own-task.md"),
    format_row('data = "<file>.jsonl"', "examples of your own: docs/own-task.md") })
end

-- The lines of a list, or nil and a message; list_name: "targets", "tasks" or a name of FOLDERS.
function M.list(project, list_name)
  if list_name == "targets" then
    return TARGETS
  elseif list_name == "tasks" then
    return list_tasks(project)
  elseif list_name == "encodings" then
    return list_encodings(project)
  end
  return list_files(project, FOLDERS[list_name])
end

-- The lines of one item of a list: of a task its summary and options, of other items the text of the file. Returns nil
-- and a message if the list has no such item.
function M.show(project, list_name, name)
  local folder, facts, message = FOLDERS[list_name], nil, nil
  if list_name == "tasks" then
    facts, message = project:read_tasks()
  end
  local names = folder and project:list_names(folder, ".lua")
    or facts and lists.map(facts.list, function(task) return task.kind end)
  if not names then
    return nil, message or ("longhand list %s takes no name; leave out %s"):format(list_name, name)
  elseif not lists.has(names, name) then
    local similar_name = similar_names.find(name, names)
    local candidates = lists.filter(names, function(candidate)
      return candidate == similar_name or candidate:find(name, 1, true) or name:find(candidate, 1, true)
    end)
    return nil, ("longhand list %s: there is no %s; %s"):format(list_name, name, candidates[1] and "similar names: "
      .. table.concat(candidates, ", ") or ("longhand list %s prints all names"):format(list_name))
  elseif facts then
    return describe_task(lists.find(facts.list, function(task) return task.kind == name end))
  end
  local path = ("%s/%s.lua"):format(folder, name)
  local head = list_name == "encodings" and { format_encoding(project, name), "" } or {}
  return lists.append(head, { path .. ":", "", ((write.read(project:path(path))):gsub("\n$", "")) })
end

return M
