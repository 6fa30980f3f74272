-- A study as one archive for a machine that has nothing but a shell: static trainers, what they read, a script that
-- trains what is missing, and the note by which a report at home knows the study.
--
-- Input: the options of the verb: project, study, scale, set, levels, out. Output: an exit code. The archive is written
-- under another name and renamed; the trainers that it holds stay in the folder of builds as well.

local grid = require("study.grid.grid")
local json = require("dkjson")
local lfs = require("lfs")
local overview = require("study.run.overview")
local packing = require("study.slurm.packing")
local paths = require("base.paths")
local render_build = require("render.build")
local sha256 = require("base.sha256")
local shell = require("base.shell")
local tongues = require("base.tongues")
local trainer_flags = require("spec.trainer_flags")
local trainers = require("study.run.trainers")
local tuned = require("render.tuned")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local DONE, INPUT, ENVIRONMENT = 0, 1, 4
local SIDE_BY_SIDE = 4096 -- runs of a cell in one process: it takes as many at a time as it has threads
local say = overview.say

local NOTICE = [[
The trainers here are linked statically, and so hold code of
  glibc     GNU Lesser General Public License 2.1 or later, https://www.gnu.org/software/libc
  libgomp   GNU General Public License 3 with the GCC Runtime Library Exception, https://gcc.gnu.org; built with clang,
            libomp in its place: Apache License 2.0 with LLVM Exceptions, https://openmp.llvm.org
  jansson   MIT License, https://github.com/akheron/jansson
What the distribution says of their copyright is in licences, where it says so. Their sources are those of the
distribution that the trainers were built on: %s.
Longhand's own licence is LICENSE. The sources of each trainer are made anew by `longhand gen` from the cells of the
study, of which README.txt has the digests.
]]

local README = [[
%s: %s, %s (%s).

    sh run.sh                 trains and evaluates what is missing, on all processors; after a Ctrl-C it goes on
    sh run.sh --threads 4     on so many
    sh run.sh CELL...         these cells alone
    sha256sum -c SHA256SUMS   whether everything here is whole

Needs Linux on %s, a shell and coreutils; no library. Exit codes: 0 done, 1 a run failed, 4 the machine (disk, memory),
75 stopped: run it again.

Back home, the folder runs is what a sweep would have made:

    cp -R runs/. .../runs/
    ./longhand report .../runs --study %s

What is here: cells.txt has a line for each process, the cell, its plan's digest and the flags of its trainer;
trainers/CELL is its trainer, whose `info` says what it was built from, for and with. Built %s by Longhand %s, %s,
levels %s.

%s
]]

-- What a cell's trainer is told, with the files it reads as they lie here; they are added to `files`, by their path.
local function flags_of(cell, files)
  local words = trainer_flags.of_training(cell.spec.data_files)
  for i, word in ipairs(words) do
    local flag, path = word:match("^([^=]*=)(.*)$")
    local name = files[path] or ("data/%s-%s"):format(sha256.digest(path):sub(1, 8),
      (path:match("[^/]*$"):gsub("[^%w._-]", "_")))
    files[path], words[i] = name, flag .. name
  end
  return words
end

local function line_of(group, files)
  local rates = {}
  for i, rate in ipairs(group.learning_rates) do
    rates[i] = grid.shortest(rate)
  end
  local words = { group.cell.id, group.cell.spec.plan.digest, "--seeds", ("%d:%d"):format(table.unpack(group.seeds)),
    "--learning-rate", table.concat(rates, ","), table.unpack(flags_of(group.cell, files)) }
  return table.concat(words, " ")
end

-- Cells of which everything is known, as packing takes them; how many wait for runs of others.
local function ready(study)
  local cells, waiting = {}, 0
  for _, cell in ipairs(study.cells) do
    if cell.spec then
      cells[#cells + 1] = setmetatable({ missing = cell.runs }, { __index = cell })
    else
      waiting = waiting + 1
    end
  end
  return cells, waiting
end

-- Runs a command in a folder; nil and what it said where it failed.
local function must(folder, script, ...)
  local said, code = shell.capture({ "sh", "-c", "cd -- \"$1\" && shift && { " .. script .. "; } 2>&1", "sh", folder,
    ... })
  return code == 0 or nil, (said:gsub("%s+$", ""))
end

local function one_line(command)
  return (shell.capture({ "sh", "-c", command }):gsub("%s+$", ""))
end

local function digests_of(cells)
  local lines = {}
  for i, cell in ipairs(cells) do
    lines[i] = ("%-48s plan %s"):format(cell.id, cell.spec.plan.digest)
  end
  return table.concat(lines, "\n")
end

local function texts(options, study, items, cells, groups, files)
  local project, lines, runs = options.project, {}, 0
  for i, group in ipairs(groups) do
    lines[i], runs = line_of(group, files), runs + #group.runs
  end
  local distribution = one_line(". /etc/os-release 2>/dev/null && echo \"$PRETTY_NAME\" || uname -sr")
  local note = json.encode({ study = study.name, path = study.path, scale = study.scale or json.null, set = study.set },
    { indent = true, keyorder = { "study", "path", "scale", "set" } })
  return {
    { path = "cells.txt", text = table.concat(lines, "\n") .. "\n" },
    { path = "run.sh", text = assert(write.read(project:path("generator/study/bundle/run.sh"))) },
    { path = "NOTICE", text = NOTICE:format(distribution) },
    { path = "LICENSE", text = assert(write.read(project:path("LICENSE"))) },
    { path = "README.txt", text = README:format(study.title or study.name, wording.count(#cells, "cell"),
      wording.count(runs, "run"), overview.title(study), one_line("uname -m"),
      study.path .. (study.scale and " --scale " .. study.scale or ""), os.date("!%Y-%m-%d"),
      (assert(write.read(project:path("VERSION"))):gsub("%s+$", "")), tuned.compiler(project),
      (items[1].job.levels:gsub(" ", ", ")), digests_of(cells)) },
  }, { { path = study.name .. ".json", text = note .. "\n" } }, runs
end

-- Everything in a folder; nil and a message.
local function fill(folder, own, notes, items, files)
  local done, message = write.files(folder, own)
  if done then
    done, message = write.files(folder .. "/runs", notes)
  end
  for _, item in ipairs(done and items or {}) do
    if done then
      done, message = must(folder, 'mkdir -p trainers && cp -- "$1" "trainers/$2" && strip -s "trainers/$2"',
        paths.absolute(item.dir) .. "/trainer", item.cell.id)
    end
  end
  if done then
    done, message = must(folder, "mkdir licences && for name in libc6-dev libgomp1 libomp-14-dev libjansson-dev; do "
      .. "[ ! -f /usr/share/doc/$name/copyright ] || cp /usr/share/doc/$name/copyright licences/$name; done")
  end
  for path, name in pairs(done and files or {}) do
    if done then
      done, message = must(folder, 'mkdir -p data && cp -- "$1" "$2"', path, name)
    end
  end
  if done then
    done, message = must(folder, "find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS")
  end
  return done, message
end

-- Writes the archive from a folder beside it, which is gone whatever happens: its path; nil and a message.
local function pack(options, study, own, notes, items, files)
  local out = paths.absolute(options.out or study.name .. ".tar.gz")
  local name = study.name .. (study.scale and "-" .. study.scale or "")
  local staging = ("%s.%s.partial"):format(out, (write.read("/proc/self/stat") or ""):match("^%d+") or "0")
  local function make()
    local done, message = write.make_directory(staging .. "/" .. name)
    if done then
      done, message = fill(staging .. "/" .. name, own, notes, items, files)
    end
    if not done then
      return nil, message
    end
    return must(staging, 'tar -cf archive.tar -- "$1" && gzip -n archive.tar && sync archive.tar.gz '
      .. '&& mv -f archive.tar.gz "$2"', name, out)
  end
  write.remove_tree(staging)
  local ran, done, message = pcall(make)
  write.remove_tree(staging)
  if not ran then
    error(done, 0)
  end
  return done and out, message
end

-- The trainers of the cells, linked statically; nil and an exit code.
local function build(options, cells)
  local problem = render_build.static_problem(options.project)
  if problem then
    say("longhand: ", problem)
    return nil, ENVIRONMENT
  end
  local items, code, message = trainers.list(options.project, cells, { target = "cpu", levels = options.levels,
    linking = "static" }, overview.warn)
  if not items then
    say("longhand: ", message)
    return nil, code
  end
  trainers.build(options.project, items, say)
  for _, item in ipairs(items) do
    if not item.fresh then
      say("nothing was bundled, since not all trainers could be built")
      return nil, item.code or ENVIRONMENT
    end
  end
  return items
end

function M.run(options)
  local study, message = overview.cells({ project = options.project, study = options.study, scale = options.scale,
    set = options.set, out = "runs", choice = {} })
  if not study then
    io.stderr:write(message)
    return INPUT
  end
  local cells, waiting = ready(study)
  if waiting > 0 then
    overview.warn(("left out: %s made of other cells' runs, which takes Longhand"):format(wording.count(waiting,
      "cell")))
  end
  if #cells == 0 then
    say("longhand: ", overview.title(study), ": no cell that can be trained by itself; nothing was bundled")
    return INPUT
  end
  for _, cell in ipairs(cells) do
    for _, word in ipairs(trainer_flags.of_training(cell.spec.data_files)) do
      if not lfs.attributes(word:match("=(.*)$"), "mode") then
        say(("longhand: %s: found no file %s; expected what its trainer reads"):format(cell.id,
          tongues.plain(word:match("=(.*)$"))))
        return INPUT
      end
    end
  end
  local items, code = build(options, cells)
  if not items then
    return code
  end
  local files = {}
  local own, notes, runs = texts(options, study, items, cells, packing.groups(cells, SIDE_BY_SIDE), files)
  local out
  out, message = pack(options, study, own, notes, items, files)
  if not out then
    say("longhand: nothing was bundled: ", message)
    return ENVIRONMENT
  end
  io.stdout:write(("%s: %s, %s, %.1f MB; there: tar xzf %s, then sh run.sh\n"):format(paths.normalise(options.out
    or study.name .. ".tar.gz"), wording.count(#cells, "cell"), wording.count(runs, "run"),
    lfs.attributes(out, "size") / 1e6, out:match("[^/]*$")))
  return DONE
end

return M
