-- Compiles generated files into a trainer, in its own folder, completely or not at all.
--
-- Input: a project, the files of a plan, a target folder, instruction-set levels, GPU architectures. Output: the exit
-- code, and text to show. The work happens in a staging folder next to the target folder; only after success does the
-- staging folder replace the target folder. The target folder contains trainer, src/ and stamp. The lines of the stamp:
--   1  the digest of the sources of the CPU half, its linking and its levels
--   2  only with a CUDA half: the word cuda, the digest of its sources, and its targets
--   3  the word defaults, and the digest of the data files, which contain no code: the defaults of flags, and plan.lua
-- A value that a comment calls words is one string, in which blanks separate the words.

local claim = require("base.claim")
local lfs = require("lfs")
local lists = require("base.lists")
local paths = require("base.paths")
local render = require("render.templates.render")
local shell = require("base.shell")
local escape = require("base.escape")
local fingerprint = require("base.fingerprint")
local trainer_defaults = require("render.builds.trainer_defaults")
local write = require("base.write")

local M = {}

-- Messages of programs on a machine without space left, in a folder or in memory.
local NO_SPACE_MESSAGES = { "No space left on device", "Disk quota exceeded", "Read-only file system",
  "Input/output error", "File too large", "Cannot allocate memory", "out of memory", "memory exhausted", "Killed",
  "Bus error" }
local TRIES = 100 -- attempts to claim a folder, a tenth of a second apart, while another build replaces its files
local STEP_BYTES = 4 << 20 -- bytes on the disk that a step of a build may need at once

-- Returns three digests: of the sources of the CPU half (generated and hand-written), of the CUDA half (generated; nil
-- if there is none), and of the data files. gen.lua explains the fields of a file.
function M.make_stamps(project, files)
  local cpu, cuda, data = { project:digest_sources() }, {}, {}
  for _, file in ipairs(files) do
    local text = file.is_data and file.text or file.digest_text or file.text
    table.insert(file.is_data and data or file.cuda and cuda or cpu, file.path .. "\n" .. text)
  end
  return fingerprint.digest(table.concat(cpu, "\n")), cuda[1] and fingerprint.digest(table.concat(cuda, "\n")),
    fingerprint.digest(table.concat(data, "\n"))
end

-- Returns the output of a goal of the Makefile, and its exit code.
local function run_goal(project, ...)
  local text, code = shell.capture(shell.make_command(project.root, project:get_build_setting(), ...))
  return text:gsub("%s+$", ""), code
end

-- Returns the words of the levels that `choice` (all, best, or a list) means for this compiler on this machine; or nil
-- and a message.
function M.find_levels(project, choice)
  local answer, code = "", 1
  if escape.make((choice:gsub(" ", ","))) then
    answer, code = run_goal(project, "print-levels-or-problem", "LEVELS=" .. choice)
  end
  local levels = answer:match("^levels: (.+)$")
  if code ~= 0 or not levels then
    return nil, answer ~= "" and answer or ("the compiler cannot build for these levels: %s"):format(choice)
  end
  return levels
end

-- Returns the reason why a static trainer cannot be linked here, or nil.
function M.find_static_problem(project)
  local problem, code = run_goal(project, "print-static-problem")
  return (code ~= 0 or problem ~= "") and problem or nil
end

-- Returns words for the compiler and the targets of device code: the compiler's kind, version and path, targets such as
-- sm_80, and "text" if the trainer contains the source; or nil and a message. request: { arch, jit, cuda_root }, the
-- values of these flags; min_capability: the lowest compute capability that the device code requires, such as 80.
function M.find_cuda(project, request, min_capability)
  local text = request.jit and "text" or ""
  if request.jit and not request.arch then
    return text
  end
  local root = request.cuda_root and paths.make_absolute(request.cuda_root) or ""
  local words, code = shell.capture_all({ "sh", project.root .. "/runtime/cuda/toolkit.sh", "--build",
    project:get_build_goal(""):gsub("/$", ""), "--root", root, "--arch", request.arch or "", "--least",
    min_capability })
  if code ~= 0 then
    return nil, words
  elseif not escape.make((words:gsub(" ", ","))) then
    return nil, ("make cannot handle the path of the CUDA toolkit: found %s; expected %s"):format(escape.plain(words),
      escape.MAKE_TEXT)
  end
  return (words .. " " .. text):gsub(" $", "")
end

-- Returns the words of M.find_cuda as a phrase for the user.
function M.describe_cuda(words)
  local text = words:find("text$") and "CUDA source that NVRTC compiles where the trainer runs"
  local kind, version, compiler, images = words:gsub(" ?text$", ""):match("^(%l+) (%S+) (%S+) (.+)$")
  if not kind then
    return text
  end
  local list = images:gsub(" ", ", ")
  return ("%s by %s %s (%s)%s"):format(list, kind, version, compiler, text and ", and " .. text or "")
end

function M.has_cuda(dir)
  return (write.read(dir .. "/stamp") or ""):find("\ncuda ", 1, true) ~= nil
end

-- Whether a text includes all words of another text.
local function has_all_words(text, words_text)
  local words = lists.to_set(lists.find_all(text, "%S+"))
  return not lists.find(lists.find_all(words_text, "%S+"), function(word) return not words[word] end)
end

-- Returns the lines of the stamp in dir about compiled code, and the stamp's digest of the data files; nil if the
-- trainer in dir must be compiled for a job. It need not be compiled if it has the job's sources, the requested linking
-- ("static" or "dynamic"; nil: any), and at least the levels and the CUDA targets of the job.
local function read_compiled(dir, job, linking)
  local lines, data_digest = (write.read(dir .. "/stamp") or ""):match("^(.*\n)defaults (%x+)\n$")
  local digest, stamp_linking, levels = (lines or ""):match("^(%x+) (%l+) ([^\n]*)\n")
  local cuda_digest, cuda_words = (lines or ""):match("\ncuda (%x+) ([^\n]*)\n")
  if digest == job.stamp and (linking or stamp_linking) == stamp_linking and has_all_words(levels, job.levels)
    and (not job.cuda or cuda_digest == job.cuda_stamp and has_all_words(cuda_words, job.cuda))
    and lfs.attributes(dir .. "/trainer", "mode") == "file" then
    return lines, data_digest
  end
end

-- Whether the trainer in dir is the job's trainer, with this linking. The defaults are looked up in the trainer, not in
-- the stamp: two concurrent builds may have left the defaults of one build and the stamp of the other.
function M.is_fresh(dir, job, linking)
  local lines, data_digest = read_compiled(dir, job, linking)
  return lines ~= nil and data_digest == job.data_stamp and trainer_defaults.has(dir .. "/trainer", job.defaults)
end

-- Whether nothing needs to be compiled for a job; its defaults may still differ.
function M.is_compiled(dir, job, linking)
  return read_compiled(dir, job, linking) ~= nil
end

-- Describes the build of a spec with its files: { id, files, defaults, levels, linking, cuda } and the digests { stamp,
-- cuda_stamp, data_stamp } (M.make_stamps). levels: words; cuda: words of M.find_cuda, or nil without a CUDA half.
function M.make_job(project, spec, levels, linking, cuda)
  local job = { id = spec.id, files = spec.files, defaults = spec.plan.defaults, levels = levels, linking = linking,
    cuda = cuda }
  job.stamp, job.cuda_stamp, job.data_stamp = M.make_stamps(project, spec.files)
  return job
end

-- Returns the folder of a spec's trainer, unless the user names another.
function M.get_folder(project, spec)
  return project:get_build_path(("trainers/%s-%s"):format(spec.id, spec.plan.digest))
end

-- Returns the path of a folder for make, which runs in the root: relative for folders in the repository, else absolute.
local function get_path_from_root(project, path)
  path = paths.make_absolute(path):gsub("/+$", "")
  local root = project.root .. "/"
  return path:sub(1, #root) == root and path:sub(#root + 1) or path
end

-- Makes an empty folder next to dir that no other process uses; returns a claim, or nil and a message. The names do not
-- depend on time or process, since debugging information contains them and equal sources must give equal bytes.
local function make_staging_folder(dir)
  local ok, problem = write.make_directory(dir:match("^(.*)/[^/]*$"))
  if not ok then
    return nil, problem
  end
  for n = 1, 100 do
    local staging, _, failure = claim.take(("%s.partial%d"):format(dir, n))
    if staging or failure then
      return staging, failure
    end
  end
  return nil, ("cannot make a folder next to %s"):format(dir)
end

-- Returns the generated file of this name; a file without origins of lines if there is none.
local function find_generated(files, name)
  return name and lists.find(files, function(file) return file.path == name end) or { map = {} }
end

-- Returns the file and the line number that a line of output of the C compiler, nvcc or its assembler names; nil if it
-- names none. first: the index of the character at which the file's name must begin.
local function find_place(line, first)
  for _, pattern in ipairs({ "^([^:]+):(%d+)[:,]", "^([%w_.]+)%((%d+)%):", "^([%w_.]+), line (%d+);" }) do
    local name, number = line:match(pattern, first)
    if name then
      return name, number
    end
  end
end

-- Returns the compiler's output, with the template line after every place in a generated file, and shown_folder in
-- place of the folder of the sources. A copy of a file is reported by the name of the original.
function M.annotate(text, folder, files, shown_folder)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n?") do
    local first = line:find(folder .. "/", 1, true)
    local name, number = find_place(line, first and first + #folder + 1 or 1)
    local origin = find_generated(files, first and name).map[tonumber(number)]
    local folder_start, folder_end = line:find(folder, 1, true)
    local file_name = folder_start and line:match("^/([%w_.]+)", folder_end + 1)
    local original = find_generated(files, file_name).original
    if folder_start then
      line = line:sub(1, folder_start - 1) .. (original or shown_folder)
        .. line:sub(folder_end + 1 + (original and #file_name + 1 or 0))
    end
    lines[#lines + 1] = origin and ("%s [%s]"):format(line, render.format_place(origin[1])) or line
  end
  return (table.concat(lines, "\n"):gsub("%s+$", "")) .. "\n"
end

function M.count_processors()
  local text = shell.capture({ "sh", "-c", "nproc 2>/dev/null || echo 2" })
  return tonumber(text) or 2
end

-- Returns the command that compiles the sources in staging/src into staging/trainer.
function M.make_compile_command(project, job, staging, threads)
  local words = job.cuda or ""
  return shell.make_command(project.root, "-j" .. threads, project:get_build_setting(), "trainer", "ID=" .. job.id,
    "SOURCES=" .. get_path_from_root(project, staging) .. "/src", "OUT=" .. get_path_from_root(project, staging),
    "LEVELS=" .. job.levels, "STATIC=" .. (job.linking == "static" and "1" or ""),
    "TARGETS=" .. (job.cuda and "cpu,cuda" or "cpu"), "JIT=" .. (words:find("text$") and "1" or ""),
    "TOOLKIT=" .. words:gsub(" ?text$", ""))
end

-- Forces files to the disk before they replace others, if this machine has the program sync. Returns nil and a message
-- on failure.
local function sync(...)
  local output, code = shell.capture_all({ "sync", ... })
  return code == 0 or code == 127 or nil, output -- 127: no such program
end

-- Claims a folder while its files are replaced, so that files of two builds do not mix: a claim, or nil and a message.
local function claim_replacement(dir)
  local path, holder = dir .. "/replacing", nil
  for _ = 1, TRIES do
    local folder_claim, message
    folder_claim, holder, message = claim.take(path)
    if folder_claim or message then
      return folder_claim, message
    end
    shell.run({ "sleep", "0.1" })
  end
  return nil, ("another build (%s) is replacing files of this trainer; if no build runs, remove the folder %s"):format(
    claim.describe_holder(holder), path)
end

-- Moves the files of the staging folder into dir, in place of older ones; the stamp last.
local function replace_files(staging, dir)
  os.remove(dir .. "/stamp")
  write.remove_tree(dir .. "/src")
  local ok, message = os.rename(staging .. "/src", dir .. "/src")
  for _, name in ipairs({ "trainer", "stamp" }) do
    if ok then
      ok, message = os.rename(staging .. "/" .. name, dir .. "/" .. name)
    end
  end
  return ok, message
end

-- Moves the results of a build into place: the whole folder if the target does not exist, or one file after another
-- into an existing target.
local function move_results(work)
  local dir, staging = work.dir, work.staging
  write.remove_tree(staging .. "/obj")
  os.remove(staging .. "/log")
  if not lfs.attributes(dir, "mode") and os.rename(staging, dir) then
    return os.remove(dir .. work.claim.mark:sub(#staging + 1)) -- the mark has moved with its folder
  end
  local replacement_claim, message = claim_replacement(dir)
  if not replacement_claim then
    return nil, message
  end
  local is_done
  is_done, message = replace_files(staging, dir)
  claim.give_back(replacement_claim)
  return is_done, message
end

-- Returns an exit code and a message if make cannot handle the path `dir`, else nil. setting: the flag or variable that
-- names dir.
function M.refuse_folder(project, dir, setting)
  if not escape.make(get_path_from_root(project, dir)) then
    return 2, ("%s: make cannot handle this folder's name; expected %s; choose another %s\n"):format(
      escape.plain(dir), escape.MAKE_TEXT, setting)
  end
end

-- Begins a build. To end the build, the caller calls M.finish, then claim.give_back(claim). threads: the number of
-- threads of make. Returns nil, an exit code and a message on failure, or a table with these fields:
--   project, job, dir   the arguments, dir as an absolute path
--   claim, staging      the claim of the staging folder, and the path of this folder
--   words               the command that compiles
--   log                 the file for the command's output
--   compiled            the lines of the stamp about compiled code
function M.begin(project, job, dir, threads)
  dir = paths.make_absolute(dir):gsub("/+$", "")
  local code, refusal = M.refuse_folder(project, dir, "--out")
  if code then
    return nil, code, refusal
  end
  local staging_claim, message = make_staging_folder(dir)
  if not staging_claim then
    local is_in_build_folder = get_path_from_root(project, dir):find(project:get_build_goal(""), 1, true) == 1
    return nil, 4, message .. (is_in_build_folder
      and "\n  LONGHAND_BUILD names another folder for the results of builds\n" or "\n")
  end
  local staging = staging_claim.path
  local stamp_lines = ("%s %s %s\n"):format(job.stamp, job.linking, job.levels)
    .. (job.cuda and ("cuda %s %s\n"):format(job.cuda_stamp, job.cuda) or "")
  local work = { project = project, job = job, dir = dir, claim = staging_claim, staging = staging,
    log = staging .. "/log", words = M.make_compile_command(project, job, staging, threads), compiled = stamp_lines }
  local written_paths
  written_paths, message = write.files(staging .. "/src", job.files)
  if not written_paths then
    claim.give_back(work.claim)
    return nil, 4, message .. "\n"
  end
  return work
end

-- Whether the disk has space for STEP_BYTES in a folder.
local function has_space(folder)
  local path = folder .. "/space"
  local file = io.open(path, "wb")
  local is_written = file and file:write(("\0"):rep(STEP_BYTES))
  is_written = file and file:close() and is_written
  os.remove(path)
  return is_written and true or false
end

-- Returns a text about the resource that the machine lacks, if a build failed for lack of a resource; nil in other
-- cases. Compilers and linkers report a lack of space in many ways or not at all, so the space on the disk is tested;
-- but if one of them found a mistake at a place in a file, the mistake is the reason.
function M.find_missing_resource(log, staging)
  local message = lists.find(NO_SPACE_MESSAGES, function(words) return log:find(words, 1, true) end)
  local has_mistake = log:find(":%d+:%d+: error: ") or log:find("%(%d+%): error")
  return message or not has_mistake and not has_space(staging)
    and ("less than %d MB are left"):format(STEP_BYTES >> 20) or nil
end

-- Ends a build whose command returned the exit code `code`: moves its results into place if the code is 0. Returns the
-- exit code for the user, and text to show (warnings, errors) or nil.
function M.finish(work, code)
  local job, staging = work.job, work.staging
  local log = write.read(work.log) or ""
  local text = log:find("%S") and M.annotate(log, get_path_from_root(work.project, staging) .. "/src", job.files,
    job.id) or nil
  if code ~= 0 then
    local failure, resource = text or "make failed and printed nothing\n", M.find_missing_resource(log, staging)
    if resource then
      return 4, ("%s%s: %s\n"):format(failure, work.dir, resource)
    end
    return code > 128 and code or 1, failure -- above 128: a signal ended make
  end
  local ok, reason = write.file(staging .. "/stamp", ("%sdefaults %s\n"):format(work.compiled, job.data_stamp))
  if ok then
    ok, reason = sync(staging .. "/trainer", staging .. "/stamp")
  end
  if ok then
    ok, reason = move_results(work)
  end
  if not ok then
    return 4, ("%s: %s\n"):format(work.dir, reason)
  end
  return 0, text
end

-- Begins a build, calls carry_out(work) and releases the staging folder. Returns the results of carry_out: an exit
-- code, and text to show or nil.
local function run_build(project, job, dir, carry_out)
  local work, code, text = M.begin(project, job, dir, math.min(M.count_processors(), 16))
  if not work then
    return code, text
  end
  local is_done
  is_done, code, text = pcall(carry_out, work)
  claim.give_back(work.claim)
  if not is_done then
    error(code, 0)
  end
  return code, text
end

-- Builds a job (M.make_job) into dir. Returns an exit code, and text to show or nil.
function M.build(project, job, dir)
  return run_build(project, job, dir, function(work)
    return M.finish(work, shell.run(work.words, { output = work.log, errors_too = true }))
  end)
end

-- Returns the job, extended by the sources in dir that the job lacks, since the trainer there may have a CUDA half.
local function add_sources(dir, job)
  local files, is_in_job = {}, {}
  for i, file in ipairs(job.files) do
    files[i], is_in_job[file.path] = file, true
  end
  for name in lfs.dir(dir .. "/src") do
    local path = dir .. "/src/" .. name
    local text = not is_in_job[name] and lfs.attributes(path, "mode") == "file" and write.read(path)
    files[#files + 1] = text and { path = name, text = text } or nil
  end
  return setmetatable({ files = files }, { __index = job })
end

-- Builds without a compiler if the trainer in dir has the requested linking and differs from the job's trainer only in
-- its defaults. Returns the results of M.build, or nil if the trainer must be compiled.
function M.update_defaults(project, job, dir, linking)
  local lines = read_compiled(dir, job, linking)
  if not lines or lfs.attributes(dir .. "/src", "mode") ~= "directory" then
    return nil
  end
  return run_build(project, add_sources(dir, job), dir, function(work)
    local is_done, message = trainer_defaults.write(dir .. "/trainer", work.staging .. "/trainer", job.defaults)
    if is_done == false then
      return 4, message .. "\n"
    elseif is_done and read_compiled(dir, job, linking) == lines then -- no other build has replaced the trainer
      work.compiled = lines
      return M.finish(work, 0)
    end
  end)
end

return M
