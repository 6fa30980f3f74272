-- Compares the settings of runs with the settings of a paper.
--
-- Input: a study with the results of its cells (cells.lua), and the paper's settings, a file of spec/published with the
-- columns setting and value. Output: a list of { name, value, paper, differs }: the name of a setting; the runs' values
-- and the paper's as texts, paper nil if unknown; differs is true only if both are known and unequal.

local canonical = require("base.canonical")
local cells = require("lab.study.read.cells")
local lists = require("base.lists")
local readings = require("lab.study.read.readings")
local runs = require("lab.study.read.runs")
local seeds = require("lab.study.read.seeds")
local wording = require("base.wording")

local M = {}

local NO_VALUE = "nothing evaluated yet"

local function sort_texts(texts)
  local list = lists.drop_repeats(texts)
  table.sort(list, function(a, b)
    local x, y = tonumber(a), tonumber(b)
    return x and y and x < y or not (x and y) and a < b
  end)
  return list
end

local function format_lengths(lengths)
  local first, last = lengths[1], lengths[#lengths]
  return first and (last - first + 1 == #lengths and "" or ("%d of "):format(#lengths))
    .. ("%d to %d"):format(first, last)
end

local function get_field(run, path)
  return lists.get(run.facts, "spec." .. path)
end

-- Returns a text such as "base = 10, width = 61"; nil if the task has no options.
local function format_options(run)
  local options = get_field(run, "task.options") or {}
  local texts = lists.map(canonical.sort_keys(options), function(name)
    return ("%s = %s"):format(name, options[name])
  end)
  return texts[1] and table.concat(texts, ", ")
end

-- Returns a text such as "decoder, post-norm (layer), relu, dropout 0.1"; nil for recurrent models and for a user's own
-- network.
local function format_architecture(model)
  if not model or model.source or not model.kind or model.kind == "recurrent" then
    return nil
  end
  local norm = model.norm or {}
  return ("%s, %s-norm (%s), %s, dropout %g"):format((model.kind:gsub("_", "-")), norm.place or "post",
    norm.kind or "layer", model.activation or "relu", model.dropout or 0)
end

-- Returns a text such as "adam, clipped to norm 1, constant learning rate".
local function format_optimiser(train)
  local kind, clip = lists.get(train, "optimizer.kind"), train and train.clip or {}
  return kind and ("%s, %s, %s learning rate%s"):format(kind,
    clip.kind == "global_norm" and ("clipped to norm %g"):format(clip.max_norm or 1) or "not clipped",
    lists.get(train, "schedule.kind") or "constant",
    (lists.get(train, "schedule.warmup") or 0) > 0 and (", warm-up of %d steps"):format(train.schedule.warmup) or "")
end

-- Returns a text such as "window of 8 before and 8 after". is_causal: whether queries never see later keys.
local function format_mask(mask, is_causal)
  local kind = mask and mask.kind or "full"
  if kind == "window" then
    return ("window of %d before and %d after"):format(mask.left, is_causal and 0 or mask.right or mask.left)
  elseif kind == "full" and is_causal then
    return "causal"
  end
  return kind == "antidiagonal" and ("anti-diagonal of width %d"):format(mask.width) or kind
end

-- Returns the masks of a spec in words, such as "causal" or "decoder: window of 1 before and 0 after"; nil without
-- attention. In an encoder-decoder, encoding.mask is the decoder's mask. The words omit it if it hides only later keys.
local function format_masks(spec)
  local encoding, kind = lists.get(spec, "encoding"), lists.get(spec, "model.kind")
  if not encoding or kind == "recurrent" then
    return nil
  end
  local is_encoder_decoder = kind == "encoder_decoder"
  local own_text = format_mask(encoding.mask, kind == "decoder")
  local texts = { not is_encoder_decoder and own_text ~= "full" and own_text or nil }
  local parts = is_encoder_decoder and lists.merge({ decoder = encoding }, encoding) or encoding
  for _, name in ipairs(canonical.sort_keys(parts)) do
    local mask = type(parts[name]) == "table" and parts[name].mask
    local is_causal = kind == "decoder" or name == "decoder"
    local text = mask and format_mask(mask, is_causal) or "full"
    texts[#texts + 1] = text ~= "full" and not (name == "decoder" and text == "causal")
      and ("%s: %s"):format(name, text) or nil
  end
  return texts[1] and table.concat(texts, ", ") or "full"
end

-- Returns a text such as "stack of 40 cells, too few from length 80 on". capacity: of a recurrent model's memory
-- (plan/deriving/capacity.lua), or nil.
local function format_capacity(capacity)
  if not capacity then
    return nil
  end
  return capacity.cells and ("%s of %d cells%s"):format(capacity.kind, capacity.cells,
    capacity.excess_length and (", too few from length %d on"):format(capacity.excess_length) or "")
    or capacity.kind .. " without limit"
end

-- A setting has a name (of the paper's file) and a function that returns the value of an evaluated run, or nil.
--   is_optional   whether a run without a value is left out, and not shown as "not recorded"
--   axis          the name of an axis; a study with this axis omits the setting
--   usual_value   a value that is not shown if no run has another value
local SETTINGS = {
  { "task", function(run) return cells.name_task(run.facts.spec, run.id) end, axis = "task" },
  { "task options", format_options, is_optional = true },
  { "model", function(run)
    local model = get_field(run, "model")
    local layers = model and wording.format_layers(model)
    if model and model.kind == "recurrent" then
      return ("recurrent, %s, width %s"):format(model.cell, model.width)
    end
    return layers and ("%s, %s, width %s, feed-forward %s"):format(layers, wording.count(model.heads, "head"),
      model.width, model.feedforward)
  end },
  { "architecture", function(run) return format_architecture(get_field(run, "model")) end, is_optional = true },
  { "mask", function(run) return format_masks(run.facts.spec) end, is_optional = true, usual_value = "full" },
  { "parameters", function(run) return run.facts.parameters end, is_optional = true },
  { "optimiser", function(run) return format_optimiser(get_field(run, "train")) end, is_optional = true },
  { "steps", function(run) return ("%d"):format(run.test.step) end },
  { "batch", function(run) return get_field(run, "train.batch") end },
  { "training lengths", function(run)
    return run.axis ~= "length" and "those of the examples" or readings.format_lengths(get_field(run, "train.lengths"))
      or format_lengths(runs.get_lengths(run, "train"))
  end },
  { "test lengths", function(run)
    local text = format_lengths(run.test.lengths)
    return run.axis ~= "length" and ("those of the examples, by %s %s"):format(run.axis, text) or text
  end },
  { "examples per length", function(run) return run.test.is_mixed and "mixed" or ("%d"):format(run.test.examples) end },
  { "precision", function(run) return run.facts.precision or "float32" end },
  { "machine", function(run) return run.facts.machine end },
  { "compiler, instruction-set level", function(run)
    return run.facts.compiler and ("%s, %s"):format(run.facts.compiler, run.facts.level or "?")
  end },
}

-- Formats the paper's learning rates like those of the runs. text: numbers with blanks between them.
local function format_rates(text)
  local rates = lists.map(lists.find_all(text or "", "%S+"), function(word)
    return ("%g"):format(tonumber(word) or 0)
  end)
  return #rates > 0 and table.concat(rates, ", ") or nil
end

function M.list(study, published)
  local evaluated_runs, paper, list = cells.list_scored_runs(study), {}, {}
  for _, row in ipairs(published and published.rows or {}) do
    paper[row.setting] = row.value
  end
  local function list_texts(get_text) -- the texts of all evaluated runs, each once
    return sort_texts(lists.map(evaluated_runs, get_text))
  end
  local function add(name, value, paper_value)
    list[#list + 1] = { name = name, value = value or NO_VALUE, paper = paper_value,
      differs = paper_value ~= nil and value ~= nil and value ~= paper_value }
  end
  for _, setting in ipairs(SETTINGS) do
    local name = setting[1]
    local is_axis = lists.has(lists.get_names(study.axes), setting.axis)
    local texts = is_axis and {} or list_texts(function(run)
      local text = setting[2](run)
      return text and tostring(text) or not setting.is_optional and "not recorded" or nil
    end)
    texts = #texts == 1 and texts[1] == setting.usual_value and {} or texts
    local value = #texts > 4 and ("%s; ... (%d different)"):format(table.concat(texts, "; ", 1, 3), #texts)
      or texts[1] and table.concat(texts, "; ")
    if value or paper[name] and not is_axis then
      add(name, value, paper[name])
    end
    if name == "model" then
      local capacities = sort_texts(lists.map(study.cells, function(cell)
        return format_capacity(lists.get(cell, "spec.plan.capacity"))
      end))
      if capacities[1] then
        add("memory", table.concat(capacities, "; "))
      end
    end
    if name == "training lengths" then
      local seed_texts = list_texts(function(run) return run.seed and seeds.format(run) or "?" end)
      local rates = list_texts(function(run) return run.learning_rate and ("%g"):format(run.learning_rate) or "?" end)
      add("seeds", #seed_texts > 0 and ("%d"):format(#seed_texts) or nil, paper.seeds)
      add("learning rates", rates[1] and table.concat(rates, ", "), format_rates(paper["learning rates"]))
    end
  end
  return list
end

function M.list_differing(settings)
  return lists.map(settings, function(item) return item.differs and item.name or nil end)
end

return M
