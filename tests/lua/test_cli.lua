-- The command line: what each verb takes, and what a mistyped one is told.

local support = dofile("tests/lua/support.lua")

local cli = require("cli")
local lu = require("luaunit")

local function parse(line)
  local words = {}
  for word in line:gmatch("%S+") do
    words[#words + 1] = word
  end
  return cli.parse(words)
end

TestParse = {}

function TestParse.test_verbs()
  local got = parse("gen a.lua --set train.steps=3 --set model.layers=1 --out there")
  lu.assertEquals({ got.verb, got.spec, got.set, got.out, got.target },
    { "gen", "a.lua", { "train.steps=3", "model.layers=1" }, "there", "cpu" })
  lu.assertEquals(parse("build a").levels, "all")
  lu.assertNil(parse("build a").static)
  lu.assertTrue(parse("build a --static").static)
  lu.assertEquals(parse("plan a --json").json, true)
  lu.assertEquals(parse("list tasks").what, "tasks")
  lu.assertEquals(parse("where f.c:3").place, "f.c:3")
end

function TestParse.test_trainer_flags_follow_two_dashes()
  local got = parse("train a --set x=1 -- --steps 5 -- --resume")
  lu.assertEquals(got.flags, { "--steps", "5", "--", "--resume" })
  lu.assertEquals(got.set, { "x=1" })
  local nothing, message = parse("gen a -- --steps 5")
  lu.assertNil(nothing)
  lu.assertEquals(message, "flags after -- are for train only")
end

function TestParse.test_mistakes_have_suggestions()
  local cases = {
    ["biuld a"] = "Did you mean 'build'?",
    ["generate a"] = "unknown command 'generate'",
    ["gen a --otu x"] = "Did you mean '--out'?",
    ["gen a --uot x"] = "Did you mean '--out'?",
    ["train a --steps 5"] = "Flags of the trainer follow --: longhand train SPEC -- --steps",
    ["list task"] = "must be one of",
    ["gen"] = "missing argument 'spec'",
    ["gen a b"] = "too many arguments",
    ["demo --steps few"] = "few: not a positive integer",
    ["build a --levels"] = "requires an argument",
  }
  for line, want in pairs(cases) do
    local got, message, usage = parse(line)
    lu.assertNil(got)
    lu.assertStrContains(message, want)
    lu.assertStrContains(usage, "Usage: longhand")
  end
end

TestHelp = {}

function TestHelp.test_help_names_every_verb_within_120_columns()
  local help = cli.help()
  for verb in ("demo test check plan gen build train list fields where stale"):gmatch("%l+") do
    lu.assertStrContains(help, "\n   " .. verb .. " ")
  end
  for line in help:gmatch("[^\n]+") do
    lu.assertTrue(#line <= 120, line)
  end
end

support.run()
