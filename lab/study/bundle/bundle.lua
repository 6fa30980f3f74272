-- A study as one archive for a machine that has nothing but a shell: trainers, their data files, a script that trains
-- the missing runs, and the note from which a later report reads the study.
--
-- Input: the options of the verb, completed by requested_study.lua: project, study, scale, set, choice, flag_study, out
-- (the folder of runs here), levels, device, target, arch, cuda_root, archive. Output: an exit code. Trainers for
-- processors are linked statically. Trainers for GPUs are linked with libc alone. They load the driver's library when
-- they run, so they cannot be static.

local grid = require("lab.study.grid.grid")
local waiting_cells = require("lab.study.run.waiting_cells")
local json = require("dkjson")
local lfs = require("lfs")
local lists = require("base.lists")
local overview = require("lab.study.run.overview")
local packing = require("lab.study.slurm.packing")
local paths = require("base.paths")
local render_build = require("render.builds.build")
local sha256 = require("base.sha256")
local shell = require("base.shell")
local escape = require("base.escape")
local trainer_flags = require("spec.trainer_flags")
local trainers = require("lab.study.run.trainers")
local tuned = require("render.builds.tuned")
local wording = require("base.wording")
local stop = require("lab.stop")
local write = require("base.write")

local M = {}

local DONE, INPUT, ENVIRONMENT, AGAIN = 0, 1, 4, 75
local MAX_RUNS = 4096 -- maximum number of runs of a cell in one process
local LIBC = { "^libc%.", "^libm%.", "^libdl%.", "^libpthread%.", "^librt%.", "^ld[%-%.]" } -- patterns of file names
local say = overview.print

local GLIBC = "glibc: GNU Lesser General Public License 2.1 or later, https://www.gnu.org/software/libc"
local MUSL = "musl: MIT License, https://musl.libc.org"
-- The software and the licence of static libraries, by file name. libc.a belongs to glibc or to musl.
local LIBRARIES = {
  ["libgcc.a"] = "libgcc: GNU General Public License 3 with the GCC Runtime Library Exception, https://gcc.gnu.org",
  ["libgomp.a"] = "libgomp: GNU General Public License 3 with the GCC Runtime Library Exception, https://gcc.gnu.org",
  ["libomp.a"] = "libomp: Apache License 2.0 with LLVM Exceptions, https://openmp.llvm.org",
  ["libjansson.a"] = "jansson: MIT License, https://github.com/akheron/jansson",
}

local NOTICE = [[
The trainers here hold code of
%s
%s
The sources of this code are in the distribution on which the trainers were built: %s.
Longhand's own licence is LICENSE. `longhand gen` generates the sources of each trainer again from the cells of the
study, whose digests are in README.txt.
]]

local COMPLETE = [[
The folder licences has the texts of these licences from the distribution.
]]

local MISSING = [[
NOT COMPLETE: the machine that packed this had no text of the licence of
%s
Add it to the folder licences: some licences require that their text accompanies the code.
]]

-- Returns the software and the licence of a static library, for NOTICE. package: the library's package, or "-".
local function describe_library(name, package)
  return name == "libc.a" and (package:find("^musl") and MUSL or GLIBC) or LIBRARIES[name] or name
end

-- Copies the licences of static libraries into folder/licences. Returns nil and a message, or two results:
--   the text of NOTICE
--   the paths of libraries without a known licence
local function make_notice(project, libraries, folder)
  local script = project:path("lab/study/bundle/licences.sh")
  local output, code = shell.capture_all({ "sh", script, folder .. "/licences", table.unpack(libraries) })
  if code ~= 0 then
    return nil, output
  end
  local parts, unlicensed = {}, {}
  for path, package, count in output:gmatch("(%S+) (%S+) (%d+)") do
    local is_missing = count == "0"
    parts[#parts + 1] = ("  %s (%s)"):format(describe_library(path:match("[^/]*$"), package),
      is_missing and "its text was not found" or "licences/" .. package)
    unlicensed[#unlicensed + 1] = is_missing and path or nil
  end
  local distribution = shell.capture_all({ "sh", "-c",
    '. /etc/os-release 2>/dev/null && echo "$PRETTY_NAME" || uname -sr' })
  return NOTICE:format(table.concat(parts, "\n"), unlicensed[1] and MISSING:format("  "
    .. table.concat(unlicensed, "\n  ")) or COMPLETE, distribution), unlicensed
end

-- Texts on how runs train on the other machine, by device.
local TRAINING = {
  cpu = [[
Runs of a cell train side by side, one thread each; if there are fewer runs than processors, several cells train at a
time.]],
  cuda = [[
Cells train one after another on the first GPU, the runs of a cell side by side. With several GPUs, start run.sh once
for each GPU, with different cells: CUDA_VISIBLE_DEVICES=1 sh run.sh CELL...]],
}

-- Returns the flags that give a cell's trainer the names of its files (data, an initial checkpoint) in the bundle. Adds
-- the files to `files`, { [path on this machine] = name in the bundle }.
local function make_file_flags(cell, files)
  local words = trainer_flags.list_training(cell.spec.data_files)
  for i, word in ipairs(words) do
    local flag, path = word:match("^([^=]*=)(.*)$")
    local name = files[path] or ("data/%s-%s"):format(sha256.digest(path):sub(1, 8),
      (path:match("[^/]*$"):gsub("[^%w._-]", "_")))
    files[path], words[i] = name, flag .. name
  end
  return words
end

-- Returns a group's line of cells.txt, which run.sh describes. group: the runs of one process (packing.lua).
local function format_group(options, group, files)
  local runs = lists.map(group.runs, function(run) return run.dir:match("[^/]*$") end)
  local words = { group.cell.id, group.cell.spec.plan.digest, table.concat(runs, ",") }
  lists.append(words, grid.make_flags(group, options.device))
  return table.concat(lists.append(words, make_file_flags(group.cell, files)), " ")
end

local function must_succeed(...)
  return stop.must(ENVIRONMENT, ...)
end

-- Runs a shell script in a folder, with the further arguments as $1, $2, ... Ends the command if the script fails.
local function run_in(folder, script, ...)
  local output, code = shell.capture_all({ "sh", "-c", "cd -- \"$1\" && shift && { " .. script .. "; }", "sh", folder,
    ... })
  must_succeed(code == 0, output)
end

-- Returns the requirements of the trainers as a text. Returns nil and a message if they need libraries other than libc.
-- items: from trainers.lua. All trainers are linked in the same way, so only the first is examined.
local function find_requirements(items)
  local trainer, other_libraries = paths.resolve(items[1].dir) .. "/trainer", {}
  local info = json.decode((shell.capture({ trainer, "info", "--json" })))
  if type(info) ~= "table" then
    return nil, trainer .. " info --json: found no JSON"
  end
  local requirements = { "Linux on " .. shell.capture_all({ "uname", "-m" }) }
  if info.linked ~= "static" then
    local output = shell.capture({ "env", "LC_ALL=C", "readelf", "-d", trainer })
    other_libraries = lists.filter(lists.find_all(output, "%(NEEDED%)[^%[]*%[([^%]]*)%]"), function(library)
      return not lists.find(LIBC, function(pattern) return library:find(pattern) end)
    end)
    requirements[2] = info.least_glibc and ("glibc %s or later"):format(info.least_glibc)
  end
  local min_driver = info.cuda and (info.cuda.least_driver.images or info.cuda.least_driver.ptx)
  requirements[#requirements + 1] = min_driver and ("an NVIDIA driver %s (CUDA %s)"):format(min_driver.release
    and ("of release %d or later"):format(min_driver.release) or "that is new enough", min_driver.cuda)
  if info.cuda and lists.find(items, function(item) return item.cell.spec.plan.cuda.products == "library" end) then
    requirements[#requirements + 1] = "cuBLASLt of CUDA 11 or later (LONGHAND_CUDA_ROOT names its toolkit)"
  end
  if other_libraries[1] then
    return nil, ("%s needs %s of this machine\n  expected: libc alone, with other libraries linked statically"):format(
      trainer, table.concat(other_libraries, ", "))
  end
  return table.concat(requirements, ", ")
end

local function count_cells(study, cells)
  return overview.format_cell_count({ cells = cells, ids = study.ids })
end

-- Returns the text files of a bundle, and the number of runs. bundle: { name (of its folder), requirements (a text) }.
local function make_texts(options, study, items, cells, groups, files, bundle)
  local project, lines, runs = options.project, {}, 0
  local digests = lists.map(cells, function(cell) return ("%-48s plan %s"):format(cell.id, cell.spec.plan.digest) end)
  for i, group in ipairs(groups) do
    lines[i], runs = format_group(options, group, files), runs + #group.runs
  end
  local out = escape.plain(options.out)
  return {
    { path = "cells.txt", text = table.concat(lines, "\n") .. "\n" },
    { path = "run.sh", text = assert(write.read(project:path("lab/study/bundle/run.sh"))) },
    { path = "runner.sh", text = assert(write.read(project:path("lab/study/run/runner.sh"))) },
    { path = "needs.txt", text = bundle.requirements .. "\n" },
    { path = "LICENSE", text = assert(write.read(project:path("LICENSE"))) },
    { path = "README.txt", text = assert(write.read(project:path("lab/study/bundle/readme.txt"))):gsub("%${(%l+)}", {
      title = study.title or study.name, cells = count_cells(study, cells), runs = wording.count(runs, "run"),
      name = overview.name_study(study), requirements = bundle.requirements, training = TRAINING[options.device],
      bundle = bundle.name, out = out, study = study.path .. (study.scale and " --scale " .. study.scale or ""),
      date = os.date("!%Y-%m-%d"), version = assert(write.read(project:path("VERSION"))):gsub("%s+$", ""),
      compiler = tuned.read_compiler(project), levels = items[1].job.levels:gsub(" ", ", "),
      digests = table.concat(digests, "\n") }) },
  }, runs
end

-- Fills a folder in `staging` and packs it. Sets parts.unlicensed, the static libraries without a known licence.
-- Other fields of parts:
--   texts      from make_texts
--   items      from trainers.lua
--   files      { [path on this machine] = name in the bundle }, the files that trainers read
--   libraries  paths of static libraries
local function fill_bundle(options, study, staging, bundle, parts)
  local folder = staging .. "/" .. bundle.name
  must_succeed(write.make_directory(folder))
  must_succeed(write.files(folder, parts.texts))
  must_succeed(overview.write_note({ out = folder .. "/runs", flag_study = options.flag_study }, study))
  local text, unlicensed = make_notice(options.project, parts.libraries, folder) -- or nil and a message
  must_succeed(text, unlicensed)
  parts.unlicensed = unlicensed
  must_succeed(write.files(folder, { { path = "NOTICE", text = text } }))
  run_in(folder, "mkdir -p trainers")
  for _, item in ipairs(parts.items) do
    local copy = "trainers/" .. item.cell.id
    must_succeed(trainers.copy(options.project, item, folder .. "/" .. copy))
    run_in(folder, 'strip -s "$1"', copy) -- removes the symbols
  end
  for path, name in pairs(parts.files) do
    run_in(folder, 'mkdir -p data && cp -- "$1" "$2"', path, name)
  end
  run_in(folder, "find . -path ./runs -prune -o -type f ! -name SHA256SUMS -exec sha256sum {} + "
    .. "| LC_ALL=C sort -k 2 >SHA256SUMS")
  run_in(staging, 'tar -cf archive.tar -- "$1" && gzip -n archive.tar && sync archive.tar.gz '
    .. '&& mv -f archive.tar.gz "$2"', bundle.name, bundle.out)
end

-- Builds the trainers of all cells. linking: "static" or "dynamic". Returns the items of trainers.lua.
local function build(options, cells, linking)
  local problem = linking == "static" and render_build.find_static_problem(options.project)
  overview.must(ENVIRONMENT, not problem, problem)
  return trainers.build_all(options.project, cells, { target = options.target, levels = options.levels,
    arch = options.arch, cuda_root = options.cuda_root, linking = linking }, "nothing was bundled")
end

-- Returns a message on the first missing file that a trainer reads; false if no file is missing.
local function find_missing_file(cells)
  return lists.any(cells, function(cell)
    return lists.any(trainer_flags.list_training(cell.spec.data_files), function(word)
      local path = word:match("=(.*)$")
      return not lfs.attributes(path, "mode") and ("%s: found no file %s, which its trainer reads"):format(cell.id,
        escape.plain(path))
    end)
  end)
end

-- Makes the specs of cells that waited for runs of an earlier stage, if these runs are done on this machine. Returns
-- nil after a signal, or two results:
--   the study
--   its cells with a spec, in the form that packing.lua takes
local function find_cells(options)
  local study, worst_code = overview.must(INPUT, waiting_cells.expand(options))
  if worst_code == AGAIN then
    return nil
  end
  local cells = lists.map(study.cells, function(cell)
    return cell.spec and setmetatable({ missing = cell.runs }, { __index = cell }) or nil
  end)
  if #cells < #study.cells then
    say(("warning: left out: %s made from other cells' runs, which are not done in %s"):format(
      wording.count(#study.cells - #cells, "cell"), escape.plain(options.out)))
  end
  local problem = #cells == 0 and ("%s: all cells wait for other cells' runs; nothing was bundled"):format(
    overview.name_study(study)) or find_missing_file(cells)
  overview.must(INPUT, not problem, problem)
  return study, cells
end

-- Packs the trainers into the archive and prints its name. Returns an exit code.
local function finish(options, study, cells, items, linking)
  local title = study.name .. (study.scale and "-" .. study.scale or "")
  local archive = options.archive or title .. ".tar.gz"
  local name = archive:match("[^/]*$"):gsub("%.tar%.gz$", ""):gsub("%.tgz$", "")
  local requirements, problem = find_requirements(items)
  local bundle = { out = paths.resolve(archive), name = name ~= "" and name or title, requirements = requirements }
  local parts = { items = items, files = {}, libraries = lists.find_all((shell.capture(shell.make_command(
    options.project.root, options.project:get_build_setting(), "print-archives",
    "STATIC=" .. (linking == "static" and "1" or "")))), "%S+") }
  local runs
  if requirements then
    parts.texts, runs = make_texts(options, study, items, cells, packing.make_groups(cells, MAX_RUNS), parts.files,
      bundle)
    local staging = write.make_temporary_name(bundle.out)
    write.remove_tree(staging)
    problem = select(2, stop.catch(fill_bundle, options, study, staging, bundle, parts))
    write.remove_tree(staging)
  end
  overview.must(ENVIRONMENT, not problem, "nothing was bundled: " .. (problem or ""))
  for _, path in ipairs(parts.unlicensed) do
    say(("warning: found no text of the licence of %s; NOTICE states what to add before passing the archive to others")
      :format(path))
  end
  io.stdout:write(("%s: %s, %s, %.1f MB; on the other machine: tar xzf %s && cd %s && sh run.sh\n"):format(
    paths.normalise(archive), count_cells(study, cells), wording.count(runs, "run"),
    lfs.attributes(bundle.out, "size") / 1e6, escape.shell(bundle.out:match("[^/]*$")), escape.shell(bundle.name)))
  return DONE
end

function M.run(options)
  local study, cells = find_cells(options)
  if not study then
    return AGAIN
  end
  local linking = options.device == "cpu" and "static" or "dynamic"
  return finish(options, study, cells, build(options, cells, linking), linking)
end

return M
