-- A plan for users: the verb `plan`, which shows a plan as a page, as JSON, or its network as a picture.
--
-- Input: a plan. Output: text, or a table for the JSON encoder; M.run prints it or writes a picture.

local choices = require("plan.pages.choices")
local describe = require("plan.pages.describe")
local encoding_facets = require("plan.deriving.encoding_facets")
local lists = require("base.lists")
local memory = require("lab.pages.memory")
local network_page = require("lab.pages.network_page")
local novelty = require("lab.pages.novelty")
local wording = require("base.wording")
local json = require("dkjson")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local format_count = network_page.format_count

-- Returns the choices that change no bit, { what, value, why }. Levels with equal choices and reasons share an entry.
local function list_tuned_choices(plan)
  local list = {}
  for i, choice in ipairs(plan.tuned[1].choices) do
    local groups = lists.group(plan.tuned, function(level) return level.choices[i].value .. level.choices[i].why end)
    lists.append(list, lists.map(groups, function(levels)
      local shared_choice, names = levels[1].choices[i], lists.get_names(levels)
      return { what = choice.name, value = shared_choice.value,
        why = ("%s: %s"):format(table.concat(names, ", "), shared_choice.why) }
    end))
  end
  return list
end

local function list_choices(plan)
  return lists.append(choices.list(plan), list_tuned_choices(plan))
end

function M.make_json(plan)
  local tensors = lists.map(plan.tensors, function(t) return { name = t.name, shape = t.shape, offset = t.offset } end)
  return {
    id = plan.id, digest = plan.digest, parameters = plan.parameters,
    frozen = plan.frozen > 0 and plan.frozen or nil, flops_per_step = plan.flops_per_step,
    memory_bytes = memory.derive(plan).memory_bytes, validation = plan.validation or nil, tensors = tensors,
    operations = network_page.list_operations(plan),
    choices = list_choices(plan),
  }
end

-- The order of fields in the JSON, in all its objects.
M.JSON_ORDER = {
  "id", "digest", "parameters", "frozen", "flops_per_step", "memory_bytes", "validation", "tensors", "operations",
  "choices", "block", "count", "times", "pass", "name", "what", "reads", "shape", "offset", "kept_bytes",
  "scratch_bytes", "flops", "value", "why", "lengths", "examples", "coincide", "training", "evaluation",
}

local function describe_validation(validation)
  local lengths, coincide = validation.lengths, validation.coincide
  local range = lengths[2] and ("%d..%d"):format(lengths[1], lengths[#lengths]) or ("%d"):format(lengths[1])
  return ("validation  %s, %s, %s of each, from a separate stream; at least %.1f%% of the inputs are expected to occur "
    .. "in training, too, and %.1f%% in the final evaluation, since few short inputs exist"):format(
    wording.count(#lengths, "length"), range, wording.count(validation.examples, "example"), 100 * coincide.training,
    100 * coincide.evaluation)
end

-- Returns the line of the page on how a generative model is evaluated.
local function describe_answers(plan)
  local ends = plan.task.has_end_symbol and "ended by the model" or "answer length given"
  if plan.resolved.eval.decoding == "teacher_forced" then
    return "answers     teacher-forced (eval.decoding): one pass over the target's tokens, no answers of the model"
  end
  local on_device = plan.device and plan.device.decoding and "on a device, in one launch for all models of a process"
    or "on a device, at most one pass for each answer; the models of a process share these passes"
  local cost = plan.cpu.decoding
    and "sequences with an error in this pass are then decoded token by token, with cached keys and values: this adds "
      .. "at most as many operations as the pass has, and 1 to 2 times its time; " .. on_device
    or "sequences with an error in this pass are then decoded together, with at most a pass for each answer"
  return ("answers     the model's own (greedy), %s; first a pass over the target's tokens; %s"):format(ends, cost)
end

function M.format_dropout(plan)
  local model, parts = plan.resolved.model, {}
  if not plan.network_sizes or plan.network_sizes.dropout then
    parts[1] = "dropout " .. (plan.dropout.rate_text or "0")
  end
  for _, entry in ipairs({ { "attention_dropout", "of attention's weights" }, { "hidden_dropout", "of hidden numbers" },
    { "embedding_dropout", "of the embedding" } }) do
    local rate = model[entry[1]]
    parts[#parts + 1] = rate and ("%s %.9g"):format(entry[2], rate) or nil
  end
  return #parts > 0 and ", " .. table.concat(parts, ", ") or ""
end

local function add_encodings(plan, lines)
  if not plan.attentions[2] then
    lines[#lines + 1] = "encoding    " .. describe.describe_encoding(plan)
    return
  end
  for i, family in ipairs(plan.attentions) do
    lines[#lines + 1] = ("%-12s%s: %s"):format(i == 1 and "encoding" or "", family.title,
      describe.describe_encoding(plan, family))
  end
end

-- Returns how often, on average, training meets a sampled position or distance. With several ranges, returns the
-- smallest of their means. Returns nil in these cases:
--   nothing is sampled
--   training has no number of steps
--   a file determines the lengths
local function count_visits(plan)
  local train, min_visits = plan.resolved.train, nil
  if not train.steps or plan.task.data then
    return nil
  end
  for _, stream in ipairs(plan.streams) do
    for _, reader in ipairs(encoding_facets.list_readers(plan, stream, plan.input_draw)) do
      local positions = reader.positions
      local range = positions.range or positions.distance and positions.distance.range
      local draws = positions.kind == "sequence" and train.batch or 1
      local visits = range and train.steps * stream.mean_tokens * draws / range
      min_visits = visits and math.min(visits, min_visits or visits) or min_visits
    end
  end
  return min_visits
end

-- Returns the line of the page on the task.
local function describe_task(plan)
  local task, computation = plan.task, plan.computation
  local name = plan.resolved.task.name and plan.resolved.task.name .. ", " or ""
  local file = (task.source or task.data) and " (" .. task.path .. ")" or ""
  local options = task.options and ", " .. task.options or ""
  local pauses = computation and (", %s per input token (pause tokens)"):format(computation.text) or ""
  local loss = ""
  if task.loss then
    loss = task.excludes_masked_labels and ", loss of the labels that count (mask 1)"
      or ", loss of all labels, including masked ones"
  end
  return ("task        %s%s%s%s, %d input symbols, %d classes%s%s"):format(name, task.kind, file, options,
    task.input_count, plan.classes, pauses, loss)
end

function M.format_page(plan)
  local lines, bytes = { plan.id .. "  " .. plan.digest, "" }, memory.derive(plan)
  add_encodings(plan, lines)
  lists.append(lines, {
    string.format("model       %s%s, %s%s", describe.describe_sizes(plan), M.format_dropout(plan), plan.precision,
      describe.describe_model(plan)),
    describe_task(plan),
    "parameters  " .. format_count(plan.parameters)
      .. (plan.frozen > 0 and (", and %s frozen"):format(format_count(plan.frozen)) or ""),
    string.format("step        %.3f GFLOP (nominal) at the %s (%.1f tokens), batch %d",
      plan.flops_per_step / 1e9, plan.task.data and "longest length" or "mean length in training", plan.mean_tokens,
      plan.train.batch),
    string.format("memory      %.1f MB in training with %d threads, without evaluations (%.1f MB of parameters, "
      .. "%.1f MB of activations per thread)%s", bytes.memory_bytes / 1e6, memory.THREADS,
      bytes.parameter_bytes / 1e6, bytes.workspace_bytes / 1e6, plan.task.data and ", and the task's examples" or ""),
  })
  lines[#lines + 1] = plan.validation and describe_validation(plan.validation) or nil
  lines[#lines + 1] = novelty.describe(plan)
  lines[#lines + 1] = plan.decoder and describe_answers(plan) or nil
  local rows = list_choices(plan)
  local visits = count_visits(plan)
  if visits then
    rows[#rows + 1] = { what = "visits of a position", value = visits < 10 and string.format("%.2g", visits)
      or format_count(math.floor(visits + 0.5)),
      why = "in training: steps (times the batch, if each sequence has positions of its own) times mean tokens, "
        .. "divided by the range" }
  end
  lists.append(lines, { "", "choices" })
  local width = math.max(table.unpack(lists.map(rows, function(choice) return #tostring(choice.value) end)))
  local row_format = ("  %%-24s %%-%ds  %%s"):format(width)
  lists.append(lines, lists.map(rows, function(choice)
    return row_format:format(choice.what, choice.value, choice.why)
  end))
  lines[#lines + 1] = ""
  lists.append(lines, network_page.format_lines(plan))
  lists.append(lines, { "", "tensors" })
  lists.append(lines, lists.map(plan.tensors, function(t)
    return string.format("  %-42s %-14s offset %9s", t.name, "[" .. t.shape_text .. "]", format_count(t.offset))
  end))
  return table.concat(lines, "\n") .. "\n"
end

local DONE, USAGE, ENVIRONMENT = 0, 2, 4

-- Draws the network as a picture; without graphviz, prints it as text. Returns an exit code and a message or nil.
local function draw_network(spec, options)
  local path = options.out or spec.id .. ".svg"
  local draw = 'command -v dot >/dev/null && printf %s "$1" | LC_ALL=C.UTF-8 dot "-T$2"'
  local picture = shell.capture({ "sh", "-c", draw, "sh", network_page.draw_graph(spec.plan), path:match("%a+$") })
  if picture ~= "" then
    local is_written, message = write.file(path, picture)
    if not is_written then
      return ENVIRONMENT, "longhand: " .. message
    end
    options.say(path)
    return DONE
  end
  io.stderr:write("graphviz is not installed (dot): the network as text\n")
  options.say(table.concat(network_page.format_lines(spec.plan), "\n"))
  return DONE
end

-- The verb `plan`. options: { open, say, out, graph, json } (verbs.lua). Returns an exit code and a message.
function M.run(options)
  if options.out and not options.graph then
    return USAGE, "longhand plan: --out FILE is only for the pictures of --graph and --mask"
  end
  local spec, code = options.open()
  if not spec then
    return code
  elseif options.graph then
    return draw_network(spec, options)
  elseif options.json then
    options.say(json.encode(M.make_json(spec.plan), { indent = true, keyorder = M.JSON_ORDER }))
  else
    options.say((M.format_page(spec.plan):gsub("\n$", "")))
  end
  return DONE
end

return M
