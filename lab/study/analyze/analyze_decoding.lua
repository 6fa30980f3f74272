-- Attention weights of every head while a model answers an input, and the bias on scores (after Duan and Shi 2024).
--
-- Input: sources (source.lua), and the options project, say and
--   text     a list of inputs
--   frame    the number of digits to which numbers are padded, or nil
--   layers   indices of layers, from 0; nil: all layers
--   spec     the spec of the runs; nil: the spec in run.json
-- Output: the files decoding.csv (a line for each symbol of an answer) and trace-N.safetensors (one for each text of
-- the first run, then for each text of the second, and so on); the picture.

local heat = require("lab.study.report.figures.heat")
local input = require("base.input")
local lists = require("base.lists")
local masks = require("lab.pages.masks")
local sheets = require("lab.study.analyze.sheets")
local source_module = require("lab.study.analyze.source")
local stop = require("lab.stop").exit
local trained_run = require("lab.study.read.trained_run")
local write = require("base.write")

local M = {}

local INPUT = 1 -- exit code
local CELL = 9 -- side of a cell of the picture, in pixels
local MIN_PANEL, MAX_PANEL = 150, 640 -- least and greatest height of a panel, in pixels
local NO_SYMBOL = { text = "" } -- the item of a token that has no symbol

-- Returns the symbols of a list of tokens, false for a missing token (-1). names: a list of all symbols; the symbol of
-- token i is names[i + 1].
local function name_symbols(tokens, names)
  return lists.map(tokens, function(token) return names[token + 1] or false end)
end

-- Returns an answer: a list of symbols { text, is_wrong, right }; right: the text of the right symbol. The list also
-- has these fields:
--   is_known      whether the right tokens, targets, are known
--   count         the number of requested tokens
--   wrong_count   the number of requested tokens that are wrong or missing
local function make_answer(answers, targets, names)
  local texts, right_texts = name_symbols(answers, names), targets and name_symbols(targets, names) or {}
  local answer = { is_known = targets ~= nil, wrong_count = 0, count = #texts }
  for i, text in ipairs(texts) do
    local is_wrong = right_texts[i] and right_texts[i] ~= text or false
    answer.wrong_count = answer.wrong_count + (is_wrong and 1 or 0)
    if text then
      answer[#answer + 1] = { text = text, is_wrong = is_wrong, right = right_texts[i] or nil }
    end
  end
  return answer
end

-- Returns a stream:
--   reads    for each token the symbol that the model reads there, up to the answer's end
--   writes   for each query the symbol that the model writes there, up to the answer's end
--   tokens   the number of all tokens
-- first: the index, from 1, of the token whose query writes the answer's first symbol, or nil; is_forced: whether the
-- stream reads the symbols of the answer.
local function make_stream(tokens, names, first, answer, is_forced)
  local reads, writes = {}, {}
  for i, text in ipairs(name_symbols(tokens, names)) do
    local position = first and i - first -- in the answer, from 0
    if position and position >= #answer then
      break
    end
    reads[i] = { text = text or "" }
    if position and position > 0 then
      reads[i] = is_forced and answer[position] or NO_SYMBOL
    end
    writes[i] = position and answer[position + 1] or reads[i]
  end
  return { reads = reads, writes = writes, tokens = #tokens }
end

-- Returns the one or two streams (source, target) of a trace, and the answer. prefix: the beginning of all names of
-- tensors.
local function read_streams(source, trace, prefix)
  local function read_integers(name)
    return trace.entries[prefix .. name] and source:read(trace, prefix .. name)
  end
  local model, inputs = source.run.info.spec.model, input.decode(trace.metadata.input_symbols)
  local outputs = input.decode(trace.metadata.output_symbols)
  local answer = make_answer(read_integers("answers"), read_integers("targets"), outputs)
  local single = read_integers("tokens")
  if not single then
    return { make_stream(read_integers("tokens.source"), inputs),
      make_stream(read_integers("tokens.target"), outputs, 1, answer, true) }, answer
  end
  local first = not model.source and not model.readout and #single - #read_integers("answers") + 1 or nil
  return { make_stream(single, inputs, first, answer, model.kind == "decoder") }, answer
end

-- Returns the streams of an attention's queries and keys. The site's name tells both streams. If the shape has another
-- number of tokens than a stream told by the name, the other stream is returned.
local function find_sides(site, streams, shape)
  local source_stream, target_stream = streams[1], streams[2]
  local function choose_side(stream, count)
    if stream.tokens == count then
      return stream
    end
    return stream == source_stream and target_stream or source_stream
  end
  local is_target = target_stream and not site:find("^encoder")
  local queries = choose_side(is_target and target_stream or source_stream, shape[3])
  return queries, choose_side(site:find("%.cross$") and source_stream or queries, shape[4])
end

-- Returns the attentions of a trace as a list of { site, layer (from 0), reads, writes, heads }. reads, writes: from
-- make_stream. heads: for each head the weights, row-major, with a row for each item of `writes`.
local function list_attentions(source, trace, prefix, streams, layers)
  local list = {}
  for _, site in ipairs(source:list_sites(trace, tonumber(prefix:match("^n(%d+)")), "attention")) do
    local layer = tonumber(site:match("layers%.(%d+)"))
    if not layers or lists.has(layers, layer) then
      local name = prefix .. site .. ".attention"
      local values, shape = source:read(trace, name), trace.entries[name].shape
      local queries, keys = find_sides(site, streams, shape)
      local attention = { site = site, layer = layer, writes = queries.writes, reads = keys.reads, heads = {} }
      for head = 1, shape[2] do
        attention.heads[head] = source_module.take_maximum(values, shape, head, head, #attention.writes,
          #attention.reads)
      end
      list[#list + 1] = attention
    end
  end
  return list[1] and list
    or stop(INPUT, ("%s: no layer of --layers has an attention\n  expected: indices of layers, from 0"):format(
      source.run.dir))
end

-- Returns the requested layers that have no attention in the list, ascending.
local function find_absent_layers(attentions, layers)
  local layers_present = lists.map(attentions, function(attention) return attention.layer end)
  local absent_layers = lists.map(layers or {}, function(layer)
    return not lists.has(layers_present, layer) and layer or nil
  end)
  table.sort(absent_layers)
  return lists.drop_repeats(absent_layers)
end

local function describe_answer(answer)
  local text = table.concat(lists.map(answer, function(symbol) return symbol.text end))
  return text, not answer.is_known and "right answer unknown" or answer.wrong_count == 0 and "right"
    or ("%d of %d wrong"):format(answer.wrong_count, answer.count)
end

-- Traces a model's answer to an input, and prints the answer. Returns a result:
--   source      the source
--   text        the input
--   answer      from make_answer
--   summary     input, answer and verdict as a text
--   bytes       the bytes of the trace's file
--   attentions  from list_attentions
--   streams     from read_streams
local function analyze(source, text, options)
  local trace = source:trace("attention", { "--text=" .. text, options.frame and "--frame=" .. options.frame })
  local prefix -- prefix of all names of tensors: the length, and the number of outputs if it can differ
  for _, name in ipairs(trace.names) do
    prefix = name:match("^(n[%do]+%.)answers$") or prefix
  end
  local streams, answer = read_streams(source, trace, prefix)
  local answered, verdict = describe_answer(answer)
  options.say(("%s: %s -> %s  %s"):format(source.label, text, answered, verdict))
  return { source = source, text = text, answer = answer, summary = ("%s -> %s (%s)"):format(text, answered, verdict),
    bytes = write.read(trace.path), attentions = list_attentions(source, trace, prefix, streams, options.layers),
    streams = streams }
end

-- Returns the biases that masks of the run's spec add to scores, for masks of the kinds lines, window and antidiagonal:
-- a list of { site, writes, reads, heads (of masks.list_cells) }. Returns also a message if the run's own spec cannot
-- be read. spec_path: the path of the spec that the user names, or nil for the run's own spec.
local function list_biases(result, project, spec_path)
  local list = {}
  local is_read, message = trained_run.with_spec(project, result.source.run, spec_path, function(spec)
    for _, family in ipairs(spec.plan.attentions) do
      local kind = family.mask.kind
      local writes = result.streams[family.queries.stream + 1].writes
      local keys = result.streams[family.keys.stream + 1]
      if kind == "lines" or kind == "window" or kind == "antidiagonal" then
        list[#list + 1] = { site = family.name, writes = writes, reads = keys.reads,
          heads = masks.list_cells(family, #writes, keys.tokens) }
      end
    end
    return true
  end)
  if not is_read and spec_path then
    stop(INPUT, ("--spec %s: %s: %s"):format(spec_path, result.source.run.dir, message))
  end
  return list, not is_read and message or nil
end

local function draw_attention(result, attention, font, suffix)
  local row = { label = ("%s: %s%s"):format(result.source.label, attention.site, suffix) }
  return lists.append(row, lists.map(attention.heads, function(head, h)
    return heat.add_symbols(heat.draw_weights(head, #attention.writes, ("head %d"):format(h - 1)), attention, font)
  end))
end

local function draw_bias(result, bias, font)
  local row = { label = ("%s: bias of %s, equal in all layers"):format(result.source.label, bias.site) }
  return lists.append(row, lists.map(bias.heads, function(head, h)
    local title = #bias.heads > 1 and ("head %d"):format(h - 1) or "all heads"
    return heat.add_symbols(heat.draw_cells(title, head, #bias.reads), bias, font)
  end))
end

-- Returns a picture with a row for each attention of each result, and rows for biases.
local function make_picture(results)
  local max_symbols = 0
  for _, attention in lists.iterate_nested(results, "attentions") do
    max_symbols = math.max(max_symbols, #attention.writes, #attention.reads)
  end
  local size = math.max(MIN_PANEL, math.min(CELL * max_symbols, MAX_PANEL))
  local font = math.max(3, math.min(9, math.floor(0.8 * size / max_symbols)))
  return { title = "Attention of every head while decoding", panel_height = size,
    note = "rows: written symbols; columns: read symbols; a cross: a wrong symbol; white: a hidden key",
    rows = lists.collect(results, function(result)
      return lists.join(lists.map(result.attentions, function(attention, a)
        return draw_attention(result, attention, font, a == 1 and "; " .. result.summary or "")
      end), lists.map(result.biases, function(bias) return draw_bias(result, bias, font) end))
    end) }
end

local function make_csv(results)
  return sheets.to_csv("decoding.csv", "run=result.source.label text=result.text place answer=symbol.text "
    .. "right=symbol.right wrong", lists.collect(results, function(result)
      return lists.map(result.answer, function(symbol, i)
        return { result = result, place = i - 1, symbol = symbol,
          wrong = symbol.right and (symbol.is_wrong and 1 or 0) }
      end)
    end))
end

function M.run(sources, options)
  local list, files = {}, {}
  for _, source in ipairs(sources) do
    for t, text in ipairs(options.text) do
      local result = analyze(source, text, options)
      local message
      result.biases, message = list_biases(result, options.project, options.spec)
      if message and t == 1 then
        options.say(("%s: the picture omits the bias on scores: %s"):format(source.label, message))
      end
      for _, layer in ipairs(t == 1 and find_absent_layers(result.attentions, options.layers) or {}) do
        options.say(("%s: layer %d of --layers has no attention"):format(source.label, layer))
      end
      list[#list + 1] = result
      files[#list] = { path = ("trace-%d.safetensors"):format(#list), text = result.bytes }
    end
  end
  files[#files + 1], files.picture = make_csv(list), make_picture(list)
  return files
end

return M
