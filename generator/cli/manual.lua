-- The manual page longhand(1), for man, from the outline of the command line.
--
-- Input: an outline (command_outline.lua), the version. Output: roff text.

local lists = require("base.lists")

local M = {}

-- Escapes text for roff, so that roff finds no command in it.
local function escape(text)
  return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("\n([.'])", "\n\\&%1"):gsub("^([.'])", "\\&%1"))
end

local function add_item(lines, name, text)
  lists.append(lines, { ".TP", name, escape(text) })
end

local function add_options(lines, options)
  for _, option in ipairs(options) do
    add_item(lines, ("\\fB%s\\fR%s"):format(escape(table.concat(option.names, ", ")), option.value
      and (" \\fI%s\\fR"):format(escape(option.value)) or ""), option.text)
  end
end

local function add_verb(lines, verb, path)
  lists.append(lines, { ".SS " .. escape(path .. verb.name), escape(verb.text ~= "" and verb.text or verb.summary),
    ".PP", escape(verb.usage) })
  for _, argument in ipairs(verb.arguments) do
    add_item(lines, ("\\fI%s\\fR"):format(escape(argument.name)), argument.text)
  end
  add_options(lines, verb.options)
  for _, subverb in ipairs(verb.verbs) do
    add_verb(lines, subverb, path .. verb.name .. " ")
  end
end

local ENVIRONMENT = {
  { "LONGHAND_BUILD", "folder in which the runtime and trainers are built; default: build in the checkout if that can "
    .. "be written, otherwise a folder in the user's cache" },
  { "LONGHAND_CACHE", "folder of files that later calls use again; default: longhand in XDG_CACHE_HOME or ~/.cache" },
  { "LONGHAND_ISA", "instruction-set level of trainers: x86-64, x86-64-v3 or x86-64-v4" },
  { "LONGHAND_CUDA_ROOT", "the CUDA toolkit's folder" },
  { "CC, CXX", "compilers" },
}

function M.write(outline, version)
  local lines = { (".TH LONGHAND 1 \"\" \"Longhand %s\""):format(escape(version)), ".SH NAME",
    "longhand \\- specialised transformer trainers for positional encodings and length generalisation", ".SH SYNOPSIS",
    escape(outline.usage), ".SH DESCRIPTION", escape(outline.text), ".PP",
    "From a spec (task, encoding, model, training, evaluation), Longhand generates C and CUDA, and compiles them into "
    .. "a trainer for this experiment alone.", ".SH OPTIONS" }
  add_options(lines, outline.options)
  lines[#lines + 1] = ".SH COMMANDS"
  for _, verb in ipairs(outline.verbs) do
    add_verb(lines, verb, "")
  end
  lines[#lines + 1] = ".SH ENVIRONMENT"
  for _, entry in ipairs(ENVIRONMENT) do
    add_item(lines, ("\\fB%s\\fR"):format(entry[1]), entry[2])
  end
  lists.append(lines, { ".SH EXIT STATUS", "0 success; 1 wrong input or a failed run; 2 wrong usage; 3 outdated "
    .. "generated sources, or a trainer with defaults of another build; 4 a missing tool, GPU or disk space; "
    .. "75 stopped by a signal (the same command continues).",
    ".SH SEE ALSO", "The folder docs of the installation." })
  return table.concat(lines, "\n") .. "\n"
end

return M
