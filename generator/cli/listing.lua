-- What there is to choose from: the lines of the verb `list`.
--
-- Input: a project and what is listed. Output: lines of text, or nil and a message.

local lists = require("base.lists")
local write = require("base.write")

local M = {}

local FOLDERS = { runs = "spec/runs", encodings = "spec/encodings", models = "spec/models", studies = "spec/studies",
  sites = "spec/sites" }

local TARGETS = {
  "cpu    C for gcc or clang, one object per instruction-set level",
  "cuda   device code for NVIDIA GPUs, beside cpu: docs/cuda.md",
}

local function row(name, about)
  return ("%-34s %s"):format(name, about)
end

local function first_comment(path)
  local text = write.read(path) or ""
  return text:match("^%s*%-%-+%s*([^\n]*)") or ""
end

local function files(project, folder)
  local lines = lists.map(project:names(folder, ".lua"), function(name)
    return row(name, first_comment(project:path(folder .. "/" .. name .. ".lua")))
  end)
  return #lines > 0 and lines or { ("none yet (%s)"):format(folder) }
end

local function tasks(project)
  local facts, message = project:tasks()
  if not facts then
    return nil, message
  end
  local lines = {}
  for _, fact in ipairs(facts.list) do
    lines[#lines + 1] = row(fact.kind, fact.summary)
    for _, axis in ipairs(fact.axes or {}) do
      lines[#lines + 1] = ("    eval.by.%s: %s to %s; %s"):format(axis.name, axis.first, axis.last, axis.doc)
    end
    for _, option in ipairs(fact.options or {}) do
      local choices = option.first and ("%d to %d (%d)"):format(option.first, option.last, option.default)
        or table.concat(option.choices, " ")
      lines[#lines + 1] = ("    options.%s: %s; %s"):format(option.name, choices, option.doc)
    end
  end
  return lists.append(lines, { row('source = "<kind>.c"', "one of your own: docs/own-task.md"),
    row('data = "<file>.jsonl"', "examples of your own: docs/own-task.md") })
end

-- what: targets, tasks or a name of FOLDERS.
function M.lines(project, what)
  if what == "targets" then
    return TARGETS
  elseif what == "tasks" then
    return tasks(project)
  end
  return files(project, FOLDERS[what])
end

return M
