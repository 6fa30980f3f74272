-- Checks the words of a command line: exit code 0 if they are valid, else 2 and a message. The launcher runs this check
-- before it reports missing packages.

local root = arg[0]:match("^(.*)/lab/cli/usage%.lua$") or "."
package.path = ("%s/generator/?.lua;%s/?.lua;%s"):format(root, root, package.path)

local cli = require("cli.cli").make(require("lab.cli.command_lines"))

local parsed, message, usage = cli.parse(arg, root)
if not parsed then
  io.stderr:write(cli.refusal(message, usage))
  os.exit(2)
end
