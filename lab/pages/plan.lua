-- The verb `plan`: a plan as a page, as JSON, or its network or masks as a picture.
--
-- Input: { open, say, out, graph, mask, json }, the arguments of the verb (verbs.lua). Output: an exit code, and a
-- message if the code is not 0.

local json = require("dkjson")
local mask_page = require("lab.pages.mask_page")
local network_page = require("lab.pages.network_page")
local plan_page = require("lab.pages.plan_page")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local DONE, USAGE, ENVIRONMENT = 0, 2, 4

local function write_picture(spec, options, svg)
  local path = options.out or spec.id .. ".svg"
  local written, message = write.file(path, svg)
  if not written then
    return ENVIRONMENT, "longhand: " .. message
  end
  options.say(path)
  return DONE
end

-- Draws the network with graphviz, which receives only the text on its standard input.
local function draw_network(spec, options)
  local draw = 'command -v dot >/dev/null && printf %s "$1" | LC_ALL=C.UTF-8 dot -Tsvg'
  local svg = shell.capture({ "sh", "-c", draw, "sh", network_page.graph(spec.plan) })
  if svg:find("<svg", 1, true) then
    return write_picture(spec, options, svg)
  end
  io.stderr:write("graphviz is not installed (dot): the network as text\n")
  options.say(table.concat(network_page.lines(spec.plan), "\n"))
  return DONE
end

function M.run(options)
  if options.out and not options.graph and not options.mask then
    return USAGE, "longhand plan: --out FILE: is for the pictures of --graph and --mask"
  end
  local spec, code = options.open()
  if not spec then
    return code
  elseif options.graph then
    return draw_network(spec, options)
  elseif options.mask then
    return write_picture(spec, options, mask_page.picture(spec.plan))
  elseif options.json then
    options.say(json.encode(plan_page.json(spec.plan), { indent = true, keyorder = plan_page.JSON_ORDER }))
  else
    options.say((plan_page.text(spec.plan):gsub("\n$", "")))
  end
  return DONE
end

return M
