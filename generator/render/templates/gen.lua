-- All generated files of one plan, in memory.
--
-- Input: the plan; read(name, folder), which returns the text of a template or a file (render.lua); the kernels, a list
-- of { path, text } in a fixed order; whether the CUDA half is requested. Output: a list of files, plan.lua last, and
-- the source digest; or nil and the error of the template engine. A file:
--   path, text        its name and content
--   map               the template line of each line (render.lua)
--   cuda              whether it belongs to the CUDA half
--   is_data           whether it contains data and no code
--   changes_no_bits   whether its code changes no bit of a run
--   digest_text       its text for the digests of a build, without the name of a study
--   original          of task.c: the path of the user's file
--
-- The source digest identifies the code that computes on a CPU: a user's own sampler, every rendered file except spec.c
-- and the files with is_data or changes_no_bits, and the kernels that these files include. The CUDA source digest
-- identifies device.cu, which contains the text of its kernels. Both digests cover the text as the compiler reads it,
-- without comments and names of static functions. spec.c and cuda.c contain the digests, so each is the last rendered
-- file of its half.

local compiled = require("render.templates.compiled")
local lists = require("base.lists")
local plan_file = require("plan.pages.plan_file")
local prune = require("render.templates.prune")
local render = require("render.templates.render")
local signatures = require("render.templates.signatures")
local escape = require("base.escape")
local fingerprint = require("base.fingerprint")

local M = {}

local DEVICE = "device.cu" -- cuda.mk uses the same name
local TASK = "task.c" -- the Makefile uses the same name

-- Replaces a text, in the form that it has in comments, by another.
local function replace(text, old, new)
  return (text:gsub(escape.c_comment(old):gsub("%p", "%%%0"), new))
end

-- Returns a file's text for the digests of a build, without the name of the study in its banner, since several studies
-- may contain the same spec.
local function remove_study(text, plan)
  return not plan.source:find("%.lua:[%w_:-]+$") and text
    or replace(replace(text, plan.command, "./longhand gen " .. plan.id), plan.source, plan.id)
end

-- Returns a file's text as the compiler reads it, without the spec's name in symbols: names and comments change no bit
-- of a run. names: a table from names of static functions to their numbers, which the call extends (compiled.lua).
local function remove_names(text, plan, names)
  local symbol = plan.symbol:gsub("%p", "%%%0")
  text = compiled.reduce(text):gsub("LH_LEVEL_SYMBOL%(" .. symbol .. "%)", "LH_LEVEL_SYMBOL()")
  return compiled.number_names(text:gsub("(longhand_%l+_)" .. symbol .. "%f[^%w_]", "%1"), names)
end

-- The part of the digested text that stands for one file.
local function format_part(file, text)
  return ("%s %d\n%s"):format(file.path, #text, text)
end

-- Returns the kernels that files include, also through other kernels, in the order of `kernels`.
local function list_included(files, kernels)
  local by_path = lists.index_by(kernels, function(kernel) return kernel.path end)
  local is_included = {}
  local function visit(text)
    for path in text:gmatch('#include "(kernels/cpu/[^"]+)"') do
      if by_path[path] and not is_included[path] then
        is_included[path] = true
        visit(by_path[path].text)
      end
    end
  end
  for _, file in ipairs(files) do
    visit(file.text)
  end
  return lists.filter(kernels, function(kernel) return is_included[kernel.path] end)
end

-- Results of digest_included: digests[kernels][paths] is { digest, names }; paths: text with the paths of the included
-- kernels.
local digests = setmetatable({}, { __mode = "k" })

-- Returns the digest of the kernels that files include, and a table from names of static functions to their numbers.
local function digest_included(files, kernels)
  local included_kernels = list_included(files, kernels)
  local key = table.concat(lists.map(included_kernels, function(kernel) return kernel.path end), " ")
  digests[kernels] = digests[kernels] or {}
  if not digests[kernels][key] then
    local names = {}
    local parts = lists.map(included_kernels, function(kernel)
      return format_part(kernel, compiled.number_names(compiled.reduce(kernel.text), names))
    end)
    digests[kernels][key] = { digest = fingerprint.digest(table.concat(parts)), names = names }
  end
  return digests[kernels][key].digest, digests[kernels][key].names
end

local function digest_sources(files, kernels, plan)
  local code_files = lists.filter(files, function(file) return not (file.is_data or file.changes_no_bits) end)
  local digest, kernel_names = digest_included(code_files, kernels)
  local names = lists.merge(kernel_names)
  local parts = lists.map(code_files, function(file)
    return format_part(file, remove_names(file.text, plan, names))
  end)
  return fingerprint.digest(digest .. table.concat(parts))
end

-- Appends the rendered entries of a half to `files`, in order. The entry with the half's digest, the carrier, is
-- rendered last. Returns the digest; or nil and an error. The fields of a half:
--   entries         the files to render, { path, template, family, is_data, changes_no_bits }
--   carrier         the path of the entry whose template prints the digest
--   digest(files)   computes the digest of the other files
--   name            the name by which the carrier's template reads the digest
--   cuda            whether this is the CUDA half
local function render_half(half, plan, read, files)
  local functions, carrier, carrier_index = signatures.new(), nil, nil
  -- Inserts a rendered entry at an index of `files`; returns false, or an error.
  local function add(entry, names, index)
    local text, map_or_error = render.render(entry.template, names, read, entry.path == DEVICE and prune.prune or nil,
      entry.family, functions)
    table.insert(files, index, text and { path = entry.path, text = text, map = map_or_error,
      cuda = half.cuda, is_data = entry.is_data, changes_no_bits = entry.changes_no_bits })
    return not text and map_or_error
  end
  for _, entry in ipairs(half.entries) do
    local problem
    if entry.path == half.carrier then
      carrier, carrier_index = entry, #files + 1
    else
      problem = add(entry, plan, #files + 1)
    end
    if problem then
      return nil, problem
    end
  end
  local digest = half.digest(files)
  local problem = add(carrier, lists.merge(plan, { [half.name] = digest }), carrier_index)
  return not problem and digest or nil, problem
end

local function make_cpu_half(plan, kernels)
  local half = { entries = plan.files, carrier = "spec.c", name = "source_digest" }
  function half.digest(files)
    -- A copy of a user's own sampler has the banner at its end, so that lines keep their numbers.
    local task = plan.task
    files[#files + 1] = task.source and { path = TASK, original = task.path, map = {},
      text = ("%s/* Generated by Longhand; do not edit: a copy of %s. */\n"):format(task.text, task.source) } or nil
    return digest_sources(files, kernels, plan)
  end
  return half
end

local function make_cuda_half(plan)
  local half = { entries = plan.cuda_files, carrier = "cuda.c", name = "cuda_source_digest", cuda = true }
  function half.digest(files)
    local device = lists.find(files, function(file) return file.path == DEVICE end)
    return fingerprint.digest(remove_names(device.text, plan, {}))
  end
  return half
end

function M.render_files(plan, read, kernels, cuda)
  local files = {}
  local digest, message = render_half(make_cpu_half(plan, kernels), plan, read, files)
  local is_complete = digest ~= nil
  if is_complete and cuda then
    local cuda_digest
    cuda_digest, message = render_half(make_cuda_half(plan), plan, read, files)
    is_complete = cuda_digest ~= nil
  end
  if not is_complete then
    return nil, message
  end
  files[#files + 1] = { path = "plan.lua", text = plan_file.write(plan), map = {}, is_data = true }
  for _, file in ipairs(files) do
    file.digest_text = remove_study(file.text, plan)
  end
  return files, digest
end

return M
