-- Runs gnuplot in a temporary folder, since a link in the folder of results may lead to another folder.
--
-- Input:
--   files   a list of { path, text }: the scripts, and files that they read
--   names   the names of the scripts without .gnuplot
--   pages   scripts of a page (curves.make_page); gnuplot reads pages[i] after the script names[i]
-- Output: a list of pictures { path, text }, and the page's pictures as { [name] = text }; or nil and an error.

local curves = require("lab.study.report.figures.curves")
local gnuplot = require("lab.study.report.figures.gnuplot")
local lists = require("base.lists")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local REMEDY = "; all files except pictures are written; for pictures: "

-- Returns a message if this machine cannot draw, else nil. With -d gnuplot ignores the user's settings.
local function find_missing()
  local text, code = shell.capture_all({ "sh", "-c", 'gnuplot -d -e "print GPVAL_TERMINALS"' })
  local missing_terminal = lists.find({ "svg", "pdfcairo", "pngcairo" }, function(name)
    return not (" " .. text .. " "):find((" %s "):format(name), 1, true)
  end)
  if code ~= 0 then
    return "gnuplot is not installed" .. REMEDY .. "apt-get install gnuplot-nox"
  elseif missing_terminal then
    return ("the first gnuplot in PATH has no terminal %s"):format(missing_terminal) .. REMEDY
      .. "put one with Cairo first, such as that of gnuplot-nox"
  end
end

local function draw(folder, files, names, pages)
  local is_written, message = write.files(folder, lists.join(files, pages))
  if not is_written then
    return nil, message
  end
  local pictures, page_pictures = {}, {}
  for i, name in ipairs(names) do
    local page = pages[i]
    if shell.run({ "sh", "-c", 'cd "$1" && shift && LC_ALL=C.UTF-8 gnuplot -d "$@"', "sh", folder, name .. ".gnuplot",
      page and page.path }) ~= 0 then
      return nil, ("gnuplot failed on %s.gnuplot; all files except pictures are written"):format(name)
    end
    for _, terminal in ipairs(gnuplot.TERMINALS) do
      local path = ("%s.%s"):format(name, terminal[1])
      pictures[#pictures + 1] = { path = path, text = write.read(folder .. "/" .. path) }
    end
    for _, path in ipairs(page and page.makes or {}) do
      page_pictures[path] = write.read(folder .. "/" .. path)
    end
  end
  return pictures, page_pictures
end

function M.run(files, names, pages)
  if #names == 0 then
    return {}, {}
  end
  local message, folder = find_missing(), nil
  if not message then
    folder, message = shell.make_temporary_folder()
  end
  if not folder then
    return nil, message
  end
  local pictures, page_pictures_or_message = draw(folder, files, names, pages or {})
  write.remove_tree(folder)
  return pictures, page_pictures_or_message
end

-- Appends the pictures to the files. Returns an error or nil, and the page's pictures.
function M.add(files, names, pages)
  local pictures, page_pictures_or_message = M.run(files, names, pages)
  if not pictures then
    return page_pictures_or_message, {}
  end
  lists.append(files, pictures)
  return nil, page_pictures_or_message
end

-- Writes `files`, the scripts and pictures of figures, and index.html with the text make_page(pictures): all files or
-- none. Three results:
--   the changed paths; nil: nothing was written
--   the message if nothing was written
--   a message if only the pictures are missing
function M.write(out, files, figures, make_page)
  lists.append(files, lists.map(figures, function(figure)
    return { path = figure.name .. ".gnuplot", text = figure.script or curves.make_script(figure) }
  end))
  local problem, pictures = M.add(files, lists.get_names(figures), lists.map(figures, function(figure)
    return figure.script and { path = figure.name .. ".page", text = "", makes = { figure.name .. ".svg",
      figure.name .. ".png" } }
      or curves.make_page(figure)
  end))
  files[#files + 1] = { path = "index.html", text = make_page(pictures) }
  local changed_paths, message = write.files(out, files)
  return changed_paths, message, problem
end

return M
