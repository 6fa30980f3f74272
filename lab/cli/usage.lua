-- Checks the words of a command line, before the launcher reports missing packages: exit code 0, or 2 and a message.

local root = arg[0]:match("^(.*)/lab/cli/usage%.lua$") or "."
package.path = ("%s/generator/?.lua;%s/?.lua;%s"):format(root, root, package.path)

local cli = require("cli.cli").make(require("lab.cli.command_lines"))

local result, message, usage = cli.parse(arg, root)
if not result then
  io.stderr:write(cli.refusal(message, usage))
  os.exit(2)
end
