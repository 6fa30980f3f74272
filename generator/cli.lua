-- The command line of ./longhand: verbs, arguments, help.
--
-- Input: the list of arguments. Output: { verb = name, ... } with the verb's arguments, trainer flags (after --) in
-- `flags`; or nil, what is wrong, and the usage of the verb. Help is printed by argparse itself, which then exits.

local argparse = require("argparse")
local diagnostics = require("diagnostics")

local M = {}

local SPEC = "a spec file, or the id of one in spec/runs"
local EPILOG = [[
A first look:
   ./longhand demo                                trains two models here and plots their accuracy
   ./longhand list runs                           what is there to build
   ./longhand plan bucket_sort_sinusoid           every number derived from a spec
   ./longhand train bucket_sort_sinusoid -- --steps 1000

Exit codes: 0 done, 1 the input is wrong, 2 usage, 3 stale, 4 environment, 75 stopped by a signal (run it again).]]

local function add_set(command)
  command:option("--set"):argname("FIELD=VALUE"):count("*"):args(1):description("override a field of the spec, "
    .. "for example --set train.steps=1000")
end

local function spec_verb(parser, name, summary)
  local command = parser:command(name):summary(summary):description(summary .. ".")
  command:argument("spec"):description(SPEC)
  add_set(command)
  return command
end

-- Halves of a trainer in the plan's order; every trainer has the CPU half.
local function target(text)
  local wanted = { cpu = false, cuda = false }
  for name in (text .. ","):gmatch("([^,]*),") do
    if wanted[name] == nil then
      return nil, ("--target %s: expected cpu or cpu,cuda"):format(text)
    end
    wanted[name] = true
  end
  if not wanted.cpu then
    return nil, ("--target %s: expected cpu or cpu,cuda; every trainer has a CPU half"):format(text)
  end
  return wanted.cuda and "cpu,cuda" or "cpu"
end

local function architectures(text)
  if text ~= "native" and text ~= "all" then
    for name in (text .. ","):gmatch("([^,]*),") do
      if not name:find("^sm_%d+[af]?$") then
        return nil, ("--arch %s: expected a list such as sm_80,sm_90a, or native, or all"):format(text)
      end
    end
  end
  return text
end

local function add_target(command, default)
  command:option("--target"):argname("TARGET"):default(default):convert(target):description("what for: cpu, or "
    .. "cpu,cuda; default " .. default)
end

local function add_cuda(command, default)
  add_target(command, "cpu")
  command:option("--arch"):argname("LIST"):convert(architectures):description("GPU architectures: a list such as "
    .. "sm_80,sm_90a, native (the GPUs of this machine), all (what the toolkit knows); default: " .. default)
  command:flag("--jit"):description("carry the text of the device code, for the compiler of the machine that runs it")
  command:option("--cuda-root"):argname("DIR"):description("the CUDA toolkit's folder; default: LONGHAND_CUDA_ROOT, "
    .. "or the usual places")
end

local function add_looking_verbs(parser)
  local check = spec_verb(parser, "check", "validate a spec")
  check:flag("--print"):description("show the resolved spec, with the origin of each value")
  local plan = spec_verb(parser, "plan", "print every derived number: shapes, parameters, operations, choices")
  plan:flag("--json"):description("as JSON")
end

local function add_making_verbs(parser)
  local gen = spec_verb(parser, "gen", "write the sources")
  add_target(gen, "cpu,cuda")
  gen:option("--out"):argname("DIR"):description("where to; default generated/<id> for a run of the showcase, "
    .. "else build/generated/<id>")
  local build = spec_verb(parser, "build", "write and compile: DIR/trainer")
  add_cuda(build, "one of each class")
  build:option("--out"):argname("DIR"):description("where to; default build/trainers/<id>-<digest>")
  build:option("--levels"):argname("LIST"):default("all"):description("instruction-set levels: all, best (the widest "
    .. "this machine runs), or a list such as x86-64-v3,x86-64-v4")
  build:flag("--static"):description("link without shared libraries: one file for any Linux of this architecture, "
    .. "with the same bits")
  local train = spec_verb(parser, "train", "build when stale, then train")
  add_cuda(train, "native, without a GPU one of each class")
  train:usage("Usage: longhand train SPEC [--set FIELD=VALUE] [--target cpu,cuda ...] [-- flags of the trainer]")
  train:epilog("Flags of the trainer follow --, for example: -- --steps 1000 --seed 2 --out runs --resume")
end

local function add_other_verbs(parser)
  local list = parser:command("list"):summary("what there is"):description("What there is.")
  list:argument("what"):choices({ "runs", "tasks", "encodings", "models", "studies", "targets" })
  parser:command("fields"):summary("every field of a spec: type, range, default")
  local where = parser:command("where"):summary("map a generated line to its template")
  where:argument("place"):argname("FILE:LINE"):description("a line of a generated file")
  where:option("--spec"):argname("SPEC"):description("the spec it was made from; default: the one its banner names")
  add_set(where)
  parser:command("stale"):summary("compare generated/ with what would be written; exit 3 when it differs")
end

local function positive(text)
  local number = math.tointeger(tonumber(text))
  return number and number > 0 and number or nil, ("%s: not a positive integer"):format(text)
end

local function make_parser()
  local parser = argparse("longhand", "Writes, for one experiment, the transformer trainer that a specialist would "
    .. "write by hand for it.", EPILOG)
  parser:usage("Usage: longhand COMMAND ...   (longhand COMMAND --help says more)")
  parser:help_max_width(120):help_description_margin(22):command_target("verb"):require_command(false)
  parser:command("demo"):summary("the main job end to end on this machine: generate, compile, train, plot")
    :option("--steps"):argname("N"):convert(positive):description("training steps of each run; default: the spec's, "
      .. "fewer on a slow machine")
  local test = parser:command("test"):summary("run the whole test suite")
  test:flag("--long"):description("the slow layers too")
  add_looking_verbs(parser)
  add_making_verbs(parser)
  add_other_verbs(parser)
  parser:add_help_command()
  return parser
end

-- argparse hints only at names one edit away; this adds the others, and where a flag of the trainer belongs.
local function hint(parser, message, verb)
  local kind, name = message:match("^unknown (%l+) '([^']+)'")
  if not kind or message:find("Did you mean", 1, true) then
    return message
  end
  local names = {}
  for _, element in ipairs(kind == "command" and parser._commands or parser._options) do
    for _, alias in ipairs(element._aliases) do
      names[#names + 1] = alias
    end
  end
  local nearest = diagnostics.nearest(name, names)
  if nearest then
    return ("%s\nDid you mean '%s'?"):format(message, nearest)
  elseif verb == "train" and kind == "option" then
    return ("%s\nFlags of the trainer follow --: longhand train SPEC -- %s"):format(message, name)
  end
  return message
end

-- Splits the arguments at the first "--".
local function split(arguments)
  local own, flags = {}, {}
  local into = own
  for _, argument in ipairs(arguments) do
    if argument == "--" and into == own then
      into = flags
    else
      table.insert(into, argument)
    end
  end
  return own, flags
end

-- What does not go together; nil where everything does.
local function conflict(result)
  local cuda = result.target == "cpu,cuda"
  for _, name in ipairs({ "arch", "jit", "cuda_root" }) do
    if result[name] and not cuda then
      return ("--%s is for the CUDA half: add --target cpu,cuda"):format((name:gsub("_", "-")))
    end
  end
  if cuda and result.static then
    return "--static --target cpu,cuda: a static trainer can load no library, and GPUs are reached through that of "
      .. "their driver; leave out one of the two"
  end
end

-- The help text of everything.
function M.help()
  return make_parser():get_help()
end

function M.parse(arguments)
  local own, flags = split(arguments)
  local parser = make_parser()
  parser.error = function(at, message)
    error({ message = hint(at, message, own[1]), usage = at:get_usage() }, 0)
  end
  local ok, result = pcall(parser.parse, parser, own)
  if not ok and type(result) == "table" then
    return nil, result.message, result.usage
  elseif not ok then
    error(result, 0)
  elseif #flags > 0 and result.verb ~= "train" then
    return nil, "flags after -- are for train only", parser:get_usage()
  elseif conflict(result) then
    return nil, conflict(result), parser:get_usage()
  end
  result.flags = flags
  return result
end

return M
