-- The command line: arguments of each verb, and messages about mistakes in them.

local support = dofile("tests/lua/support.lua")

local cli = require("cli.cli").make(require("lab.cli.command_lines"))
local lists = require("base.lists")
local lu = require("luaunit")

local function parse(line)
  return cli.parse(lists.find_all(line, "%S+"), ".")
end

TestParse = {}

function TestParse.test_arguments_of_gen_build_and_train_are_read()
  local args = parse("gen a.lua --set train.steps=3 --set model.layers=1 --out there")
  lu.assertEquals({ args.verb, args.spec, args.set, args.out },
    { "gen", "a.lua", { "train.steps=3", "model.layers=1" }, "there" })
  lu.assertEquals(parse("build a").levels, "all")
  lu.assertNil(parse("build a").static)
  lu.assertTrue(parse("build a --static").static)
  lu.assertEquals(parse("plan a --json").json, true)
  args = parse("report a/b// c/ --out d/")
  lu.assertEquals({ args.runs, args.other, args.out }, { "a/b", "c", "d" })
  lu.assertEquals(parse("analyze pca a/ b/").runs, { "a", "b" })
  lu.assertEquals({ parse("sweep a --out r/").out, parse("sweep a").out, parse("report /").runs }, { "r", "runs", "/" })
  lu.assertEquals({ parse("check a --json").json, parse("fields --json").json }, { true, true })
  lu.assertNil(parse("check a --json --print"))
  args = parse("plan a --graph --out b.svg")
  lu.assertEquals({ args.graph, args.out, args.json }, { true, "b.svg", nil })
  lu.assertNil(parse("plan a --graph --json"))
  lu.assertTrue(parse("plan a --mask").mask)
  lu.assertNil(parse("plan a --graph --mask"))
  args = parse("list encodings rope")
  lu.assertEquals({ parse("list tasks").what, args.what, args.name }, { "tasks", "encodings", "rope" })
  lu.assertEquals(parse("dev where f.c:3").place, "f.c:3")
end

function TestParse.test_targets_and_architectures_are_read()
  lu.assertNil(parse("gen a").target) -- both targets if there is device code
  lu.assertEquals(parse("gen a --target cpu").target, "cpu")
  lu.assertEquals(parse("build a").target, "cpu")
  lu.assertEquals(parse("build a --target cuda,cpu").target, "cpu,cuda")
  local args = parse("train a --target cpu,cuda --arch sm_80,sm_90a --jit --cuda-root /opt/cuda -- --device cuda")
  lu.assertEquals({ args.target, args.arch, args.jit, args.cuda_root, args.flags },
    { "cpu,cuda", "sm_80,sm_90a", true, "/opt/cuda", { "--device", "cuda" } })
  for _, word in ipairs({ "native", "all" }) do
    lu.assertEquals(parse("build a --target cpu,cuda --arch " .. word).arch, word)
  end
end

function TestParse.test_arguments_of_analyses_and_exports_are_read()
  local args = parse("analyze pca a b/c.safetensors --lengths 40,100,150 --part output --sequences 7 --seed 3")
  lu.assertEquals({ args.verb, args.what, args.runs, args.lengths, args.part, args.sequences, args.seed },
    { "analyze", "pca", { "a", "b/c.safetensors" }, { 40, 100, 150 }, "output", 7, 3 })
  args = parse("analyze attention a --crop 9")
  lu.assertEquals({ args.what, args.lengths, args.sequence, args.crop }, { "attention", { 40, 150 }, 1, 9 })
  lu.assertEquals(parse("analyze attention a --lengths 7").lengths, { 7 })
  args = parse("analyze compare a --split validation --margin 2.5 --reference fixed --axis encoding --study s")
  lu.assertEquals({ args.what, args.runs, args.split, args.margin, args.reference, args.axis, args.resamples,
    args.seed },
    { "compare", "a", "validation", 2.5, "fixed", "encoding", 10000, 1 })
  lu.assertEquals(parse("analyze compare a").split, "test")
  args = parse("export pytorch a --out b --spec c --trainer d")
  lu.assertEquals({ args.verb, args.what, args.run, args.out, args.spec, args.trainer },
    { "export", "pytorch", "a", "b", "c", "d" })
  args = parse("export csv a --study s --scale small --out b")
  lu.assertEquals({ args.what, args.runs, args.study, args.scale, args.out }, { "csv", "a", "s", "small", "b" })
  args = parse("export tensorboard a --out b --follow")
  lu.assertEquals({ args.what, args.runs, args.out, args.follow }, { "tensorboard", "a", "b", true })
  lu.assertNil(parse("export tensorboard a").follow)
end

function TestParse.test_arguments_of_runs_are_read()
  for line, expected in pairs({
    ["runs"] = { "list", "runs" },
    ["runs a/ b --where seed=1"] = { "list", "a b", "seed=1" },
    ["runs show a/b"] = { "show", "a/b" },
    ["runs remove a --where seed=1"] = { "remove", "a", "seed=1" },
    ["runs rename a/old new"] = { "rename", "a/old", nil, "new" },
  }) do
    local args = parse(line)
    lu.assertEquals({ args.action, table.concat(args.paths, " "), args.where, args.name }, expected)
  end
end

function TestParse.test_arguments_of_sweep_are_read()
  local args = parse("sweep s --scale small --jobs 3 --out o --set a=1 --dry-run")
  lu.assertEquals({ args.verb, args.action, args.study, args.scale, args.jobs, args.out, args.set, args.device,
    args.target },
    { "sweep", "dry_run", "s", "small", 3, "o", { "a=1" }, "cpu", "cpu" })
  args = parse("sweep status s")
  lu.assertEquals({ args.action, args.study, args.out }, { "status", "s", "runs" })
  for _, word in ipairs({ "resubmit", "cancel" }) do
    lu.assertEquals({ parse("sweep " .. word .. " s").action, parse("sweep " .. word .. " s").study }, { word, "s" })
  end
  args = parse("sweep watch s:a s:b --once")
  lu.assertEquals({ args.action, args.study, args.studies, args.once }, { "watch", "s:a", { "s:a", "s:b" }, true })
  args = parse("sweep s --axis a=1,2 --axis b={1,2} --seeds 0:4 --learning-rate 1,2 --only a=1 --hours 0.5")
  lu.assertEquals({ args.axes, args.seeds, args.rates, args.only, args.hours },
    { { "a=1,2", "b={1,2}" }, "0:4", "1,2", { "a=1" }, 0.5 })
  args = parse("sweep s --slurm site.lua --dry-run --cuda-root /x")
  lu.assertEquals({ args.action, args.slurm, args.device, args.cuda_root }, { "dry_run", "site.lua", "cpu", "/x" })
  args = parse("sweep s --device cuda:1")
  lu.assertEquals({ args.action, args.device, args.target, args.arch }, { "run", "cuda:1", "cpu,cuda", "here" })
  args = parse("sweep s --device cuda --jit --cuda-root /x")
  lu.assertEquals({ args.arch, args.jit, args.cuda_root }, { nil, true, "/x" })
end

function TestParse.test_arguments_of_bundle_are_read()
  local args = parse("bundle s:a s:b --scale small --set a=1 --only c=d --out o.tar.gz --levels best")
  lu.assertEquals({ args.verb, args.study, args.studies, args.scale, args.set, args.only, args.archive, args.out,
    args.levels },
    { "bundle", "s:a", { "s:a", "s:b" }, "small", { "a=1" }, { "c=d" }, "o.tar.gz", "runs", "best" })
  lu.assertEquals({ args.device, args.target, args.arch }, { "cpu", "cpu", nil })
  args = parse("bundle s --axis a=1,2 --seeds 0:4 --learning-rate 1,2 --runs r --device cuda --arch sm_80")
  lu.assertEquals({ args.axes, args.seeds, args.rates, args.out, args.device, args.target, args.arch },
    { { "a=1,2" }, "0:4", "1,2", "r", "cuda", "cpu,cuda", "sm_80" })
end

function TestParse.test_arguments_of_report_are_read()
  local args = parse("report runs --study s --scale small --out o")
  lu.assertEquals({ args.verb, args.runs, args.other, args.study, args.scale, args.out },
    { "report", "runs", nil, "s", "small", "o" })
  args = parse("report a b")
  lu.assertEquals({ args.runs, args.other }, { "a", "b" })
end

-- main.lua writes a command to the descriptor LONGHAND_LAST_WORD, and ./longhand runs this command.
function TestParse.test_flags_of_test_go_to_its_script()
  for _, flags in ipairs({ "", " --times", " --long", " --quick --times" }) do
    local text, is_ok = support.shell(("LONGHAND_LAST_WORD=3 lua5.4 generator/main.lua test%s 3>&1"):format(flags))
    lu.assertTrue(is_ok)
    lu.assertEquals((text:gsub("'", "")), ("exec sh ./tests/run.sh%s"):format(flags))
  end
  lu.assertNil(parse("test --quick --long"))
end

function TestParse.test_trainer_flags_follow_two_dashes()
  local args = parse("train a --set x=1 -- --steps 5 --resume --seeds=0:9 --learning-rate 1e-4,3e-4 --out d --data f")
  lu.assertEquals(args.flags, { "--steps", "5", "--resume", "--seeds=0:9", "--learning-rate", "1e-4,3e-4", "--out", "d",
    "--data", "f" })
  lu.assertEquals(parse("train a -- --steps 2e6 --threads 4 --help --nonsense").flags[1], "--steps")
  lu.assertEquals(args.set, { "x=1" })
  local options, message = parse("gen a -- --steps 5")
  lu.assertNil(options)
  lu.assertEquals(message, "flags after -- are for train only")
end

function TestParse.test_mistakes_have_suggestions()
  local cases = {
    ["biuld a"] = "Did you mean 'build'?",
    ["generate a"] = "unknown command 'generate'",
    ["gen a --otu x"] = "Did you mean '--out'?",
    ["gen a --uot x"] = "Did you mean '--out'?",
    ["train a -- --stepz 5"] = "train: no such flag: --stepz\nhint: did you mean --steps?",
    ["train a -- --lr 5"] = "hint: did you mean --learning-rate?",
    ["train a -- --num_epochs=3"] = "hint: did you mean --steps?",
    ["train a -- --gpu"] = "hint: did you mean --device cuda?",
    ["train a -- --batch-size 5"] = "train.batch is a field of the spec: --set train.batch=... before the --",
    ["train a -- --d-model 5"] = "model.width is a field of the spec",
    ["train a -- --weight-decay 5"] = "train.optimizer.weight_decay is a field of the spec: --set train.opt",
    ["train a -- --frobnicate"] = "hint: the flags of the trainer: --steps --seed --seeds",
    ["train a -- steps"] = "train: 'steps' is not a flag",
    ["train a -- --steps five"] = "--steps: 'five' is not an integer",
    ["train a -- --steps 1.5"] = "--steps: '1.5' is not an integer",
    ["train a -- --threads 0"] = "--threads: 0 is out of range\nexpected: from 1 to 4096",
    ["train a -- --seeds 0:x"] = "--seeds: 'x' is not an integer\nexpected: A:B (both included), or one integer",
    ["train a -- --seeds 0,2"] = "--seeds: '0,2' is not an integer\nexpected: A:B",
    ["train a -- --learning-rate 1e-4,fast"] = "--learning-rate: 'fast' is not a number",
    ["train a -- --steps"] = "--steps: the value is missing",
    ["train a -- --resume=1"] = "--resume: takes no value",
    ["train a -- --out="] = "--out: the value is empty",
    ["train a --lr 5"] = "Flags of the trainer follow --: longhand train SPEC -- --learning-rate",
    ["check a --seed 5"] = "Flags of the trainer follow --: longhand train SPEC -- --seed",
    ["train a --batch_size 5"] = "A field of the spec sets this: --set train.batch=...",
    ["gen a --n-layers 5"] = "A field of the spec sets this: --set model.layers=...",
    ["train a --output-dir x"] = "Flags of the trainer follow --: longhand train SPEC -- --out",
    ["build a --output-dir x"] = "Did you mean '--out'?",
    ["train a --steps 5"] = "Flags of the trainer follow --: longhand train SPEC -- --steps",
    ["list task"] = "must be one of",
    ["gen"] = "missing argument 'spec'",
    ["analyze"] = "a command is required",
    ["runs --yes"] = "--yes is only for remove", ["runs show"] = "the folder of one run",
    ["runs rename a/b"] = "rename needs a folder and a name", ["runs remove"] = "remove needs the folders",
    ["runs show a --where seed=1"] = "--where cannot be used with show",
    ["runs remove a --json"] = "--json cannot be used with remove",
    ["sweep"] = "missing argument 'study'",
    ["sweep status"] = "missing argument 'STUDY'",
    ["sweep a b"] = "too many arguments: b",
    ["sweep status a --dry-run"] = "--dry-run cannot be used with status",
    ["sweep cancel a --slurm s"] = "--slurm cannot be used with cancel",
    ["sweep a --slurm s --jobs 2"] = "--jobs cannot be used with --slurm: the site file sets it",
    ["sweep resubmit a --device cuda"] = "--device cannot be used with resubmit: the site file sets it",
    ["sweep a --device gpu"] = "--device gpu: expected cpu, cuda or cuda:N",
    ["sweep watch a --slurm s"] = "--slurm cannot be used with watch",
    ["sweep watch a --jobs 2"] = "--jobs cannot be used with watch, which trains nothing",
    ["sweep a --once"] = "--once is only for watch",
    ["sweep watch a --once --seconds 3"] = "--seconds cannot be used with --once",
    ["sweep a --seeds 0:4 --scale small"] = "--scale cannot be used with --seeds: a grid from flags has no scales",
    ["sweep a --axis b=1 --scale small"] = "--scale cannot be used with --axis",
    ["sweep a --label b=c"] = "--label needs --axis: a study file lists its labels in `report`",
    ["sweep a --seeds 0:1 --label b=c"] = "--label needs --axis: without an axis no value has a label",
    ["sweep a:b c:d --axis e=1"] = "--axis is for one spec",
    ["sweep a --hours 2 --slurm s"] = "--hours cannot be used with --slurm: `time` and `max_tasks`",
    ["sweep a --hours 2 --dry-run"] = "--hours cannot be used with --dry-run",
    ["sweep a --hours 0"] = "0: not a number above 0",
    ["sweep cancel a --only b=1"] = "--only cannot be used with cancel",
    ["sweep a --jit"] = "--jit is for the CUDA half: add --device cuda",
    ["sweep a --jobs 0"] = "0: not a positive integer",
    ["bundle"] = "missing argument 'study'",
    ["bundle a b"] = "too many arguments: b",
    ["bundle a:b c:d --learning-rate 1"] = "--learning-rate is for one spec: too many arguments: c:d",
    ["bundle a --axis b=1 --scale small"] = "--scale cannot be used with --axis",
    ["bundle a --device cuda:1"] = "must be one of 'cpu', 'cuda'",
    ["bundle a --arch sm_80"] = "--arch is for the CUDA half: add --device cuda",
    ["bundle a --jit"] = "unknown option '--jit'",
    ["plan a --target cuda"] = "The plan shows the choices for the CPU and for the GPU: leave out --target",
    ["analyze pac a"] = "Did you mean 'pca'?",
    ["tune a --lengths 4x8"] = "4x8: expected lengths, as in 20,40",
    ["analyze pca a --lengths 40"] = "expected a length for fitting the components",
    ["analyze pca a --lengths 40,x"] = "expected different lengths",
    ["analyze pca a --part middle"] = "must be one of 'input', 'output'",
    ["analyze attention a --sequences 3"] = "Did you mean '--sequence'?",
    ["analyze compare a --margin 0"] = "0: expected a number of percentage points, above 0",
    ["analyze compare a --split dev"] = "must be one of 'test', 'in_distribution', 'between', 'beyond', 'train', ",
    ["analyze compare a --metric exact"] = "must be one of 'exact_match', 'accuracy', 'accuracy_teacher_forced', ",
    ["analyze compare a --above 0.9"] = "0.9: not a percentage above 1 and below 100; write percent, not a share",
    ["analyze compare a --scale small"] = "--scale names a scale of a study: add --study",
    ["export csv a --scale small"] = "--scale names a scale of a study: add --study",
    ["export jax a"] = "unknown command 'jax'",
    ["gen a b"] = "too many arguments",
    ["demo --steps few"] = "few: not a positive integer",
    ["build a --levels"] = "requires an argument",
    ["build a --target gpu"] = "--target gpu: expected cpu or cpu,cuda",
    ["gen a --target cpu,"] = "--target cpu,: expected cpu or cpu,cuda",
    ["build a --target cuda"] = "every trainer has a CPU half",
    ["build a --target cpu,cuda --arch 80"] = "--arch 80: expected a list such as sm_80,sm_90a, or native, or all",
    ["build a --target cpu,cuda --arch sm_80,native"] = "--arch sm_80,native: expected a list",
    ["build a --target cpu,cuda --arch sm_90x"] = "--arch sm_90x: expected a list",
    ["build a --arch sm_80"] = "--arch is for the CUDA half: add --target cpu,cuda",
    ["train a --jit"] = "--jit is for the CUDA half: add --target cpu,cuda",
    ["build a --cuda-root /x"] = "--cuda-root is for the CUDA half: add --target cpu,cuda",
    ["report"] = "missing argument 'runs'",
    ["report a b c"] = "too many arguments",
    ["report a b --study s"] = "--study, --scale and --max are for a folder of runs",
    ["report a --scale small"] = "--scale names a scale of a study: add --study",
    ["build a --static --target cpu,cuda"] = "a static trainer cannot load the library of the GPU's driver",
  }
  local verbs = lists.to_set(lists.get_names(cli.outline().verbs))
  for line, expected in pairs(cases) do
    local args, message, usage = parse(line)
    lu.assertNil(args)
    lu.assertStrContains(message, expected)
    local verb = line:match("^%l+")
    lu.assertStrContains(usage, "Usage: longhand" .. (verbs[verb] and " " .. verb or ""))
  end
end

TestFlags = {}

-- spec/hints/foreign_names.lua lists these names.
function TestFlags.test_names_of_other_programs_stand_for_existing_fields_and_flags()
  local flags, schema = require("spec.trainer_flags").read("."), require("spec.schema")
  lu.assertTrue(#flags >= 17, "flags of verb_train.c and data_files.c")
  lu.assertEquals(flags["--steps"], { kind = "INTEGER", min = 0, max = 4294967295.0 })
  lu.assertNotNil(flags["--eval-data"])
  local field_count, names, targets = 0, require("spec.hints.foreign_names"), {}
  for _, row in ipairs(names.FIELDS) do
    lists.append(targets, { row[1], row[3] })
  end
  for _, meanings in pairs(names.read_flags(".")) do
    lists.append(targets, meanings)
  end
  for _, target in ipairs(targets) do
    local flag = target:match("^%-%-[%w-]+")
    field_count = field_count + (flag and 0 or 1)
    lu.assertTrue(flag ~= nil or schema.by_path[target] ~= nil, target)
  end
  lu.assertTrue(field_count > 40)
  for _, field in ipairs(schema.fields) do
    lu.assertTrue(not field.flag or flags[field.flag] ~= nil, field.path)
  end
end

-- The flags contain absolute paths, so they are valid in any working folder.
function TestFlags.test_files_of_a_spec_become_flags()
  local flags = require("spec.trainer_flags")
  local files = { validation = { real = "/a/items.csv", shown = "items.csv" }, data = { real = "/a/t.jsonl" } }
  lu.assertEquals(flags.list_files(files), { "--data=/a/t.jsonl", "--validation=/a/items.csv" })
  lu.assertEquals(flags.list_files({}), {})
end

TestHelp = {}

-- Help prints the default of a flag after the flag's description.
function TestHelp.test_descriptions_of_verbs_are_sentences_and_of_flags_omit_defaults()
  local function check_verbs(outline)
    for _, verb in ipairs(outline.verbs) do
      lu.assertTrue(verb.name == "help" or verb.text:find("^%u.*%.$") ~= nil, verb.name .. ": " .. verb.text)
      for _, option in ipairs(verb.options) do
        lu.assertNil(option.text:find("default [^:%s]"), verb.name .. ": " .. option.text)
      end
      check_verbs(verb)
    end
  end
  check_verbs(cli.outline())
end

-- If Lua is missing, ./longhand prints the file.
function TestHelp.test_help_equals_its_file()
  support.assert_golden("generator/cli/help.txt", cli.help() .. "\n")
end

function TestHelp.test_help_names_every_verb_within_120_columns()
  local help = cli.help()
  for verb in ("demo test check plan gen build train sweep report list fields dev"):gmatch("%l+") do
    lu.assertStrContains(help, "\n   " .. verb .. " ")
  end
  for line in help:gmatch("[^\n]+") do
    lu.assertTrue(#line <= 120, line)
  end
end

function TestHelp.test_fields_of_one_path_are_printed_only_as_text()
  for _, flag in ipairs({ "--json", "--all" }) do
    local options, message = cli.parse({ "fields", "encoding", flag }, ".")
    lu.assertNil(options)
    lu.assertStrContains(message, "leave out PATH")
  end
end

function TestHelp.test_a_verb_that_moved_is_named()
  for _, verb in ipairs({ "where", "stale", "manual" }) do
    local options, message = cli.parse({ verb }, ".")
    lu.assertNil(options)
    lu.assertStrContains(message, "The verb is now: longhand dev " .. verb)
  end
end

support.run()
