-- Checks for names that do not say what they name: lua5.4 tests/lint/names.lua [FILE...]
--
-- Reads the declarations of Lua and C in FOLDERS, or in the named files: local variables, parameters, fields of tables
-- and structs, values of enums. Prints a line for each name of UNCLEAR; exit 1 if there is any. Some of these words
-- belong to the spec language, to flags or to run files: FIELDS lists those that are refused as variables alone.

local FOLDERS = "generator lab runtime include tests/lua tests/unit tests/support spec examples"

-- Prepositions, pronouns, participles and superlatives: they tell the place or state of a thing that they do not name.
local UNCLEAR = "about above after all along alone anything apart asked at away before behind below beside between "
  .. "beyond both done drawn drops each either everything few given goes gone got greatest had here held how "
  .. "it its kept known largest least less longest lot made many met mine more most near nearest needs neither "
  .. "none nothing of often on once one ones only other others ours over own part rest same seen several shortest "
  .. "smallest some somewhere stays such taken that theirs them there these they thing things this those told under "
  .. "wanted what which who whole whose why with within without"
local FIELDS = "about above after all at before below between beyond both done drawn each least less longest more "
  .. "most none of on one only other over own part rest same shortest under what why with within"

-- Names that stay, since renaming them would change the digests of generated sources, or belong to run files.
local KEPT = {
  ["include/longhand/cuda_place.h"] = "before", ["include/longhand/spec.h"] = "greatest longest all",
  ["tests/lua/test_novelty.lua"] = "seen", ["tests/lua/test_run_files.lua"] = "seen",
}

local function make_set(words)
  local set = {}
  for word in words:gmatch("%S+") do
    set[word] = true
  end
  return set
end

local unclear, allowed_fields = make_set(UNCLEAR), make_set(FIELDS)
local problems = 0

-- Values of enums such as NONE and DONE are words for a state.
local function check_name(path, number, name, is_field)
  local is_state = name == "NONE" or name == "DONE"
  local may_stay = is_state or is_field and allowed_fields[name] or make_set(KEPT[path] or "")[name]
  if unclear[name:lower()] and not may_stay then
    problems = problems + 1
    print(("%s:%d: the name %q does not say what it names"):format(path, number, name))
  end
end

local function check_list(path, number, list)
  for name in list:gmatch("[%a_][%w_]*") do
    check_name(path, number, name)
  end
end

local function check_lua(path, number, line)
  line = line:gsub('\\"', ""):gsub('"[^"]*"', '""'):gsub("%-%-.*", "")
  check_list(path, number, line:match("^%s*local%s+([%w_, ]+)") or "")
  check_list(path, number, line:match("%f[%w_]for%s+([%w_, ]+)%s+in%f[%W]") or "")
  check_list(path, number, line:match("%f[%w_]for%s+([%w_]+)%s*=") or "")
  for parameters in line:gmatch("%f[%w_]function[%s%w_.:]*%(([^)]*)%)") do
    check_list(path, number, parameters)
  end
  for field in line:gmatch("[{,.]%s*([%a_][%w_]*)%s*=%f[^=]") do
    check_name(path, number, field, true)
  end
end

local KEYWORDS = make_set("return sizeof else goto case typedef")

local function check_c(path, number, line)
  line = line:gsub('\\"', ""):gsub('"[^"]*"', '""'):gsub("/%*.-%*/", ""):gsub("/%*.*", "")
  if line:find("^%s*%*") then
    return
  end
  for kind, name in line:gmatch("([%w_]+)[%s*]+%f[%w_]([%a_][%w_]*)%s*%f[=;,)%[{]") do
    if not KEYWORDS[kind] then
      check_name(path, number, name)
    end
  end
  for name in line:gmatch(",%s*%**([%a_][%w_]*)%s*%f[=;,)%[}]") do -- also arguments of calls, whose declarations count
    check_name(path, number, name)
  end
end

local function check_file(path)
  local check = path:find("%.lua$") and check_lua or path:find("%.[chi][unp]?[cp]?$") and check_c
  local number = 0
  for line in io.lines(path) do
    number = number + 1
    if check then
      check(path, number, line)
    end
  end
end

if #arg > 0 then
  for _, path in ipairs(arg) do
    check_file(path)
  end
else
  local pipe = assert(io.popen(("find %s -type f | LC_ALL=C sort"):format(FOLDERS)))
  for path in pipe:lines() do
    check_file(path)
  end
  pipe:close()
end
os.exit(problems == 0)
