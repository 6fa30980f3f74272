-- Looks at the words of a command and does nothing else: exit 0 where they are one, else 2 and a message. The launcher
-- asks before it installs what the command needs.

local root = arg[0]:match("^(.*)/generator/cli/usage%.lua$") or "."
package.path = ("%s/generator/?.lua;%s"):format(root, package.path)

local cli = require("cli.cli")

local parsed, message, usage = cli.parse(arg, root)
if not parsed then
  io.stderr:write(cli.refusal(message, usage))
  os.exit(2)
end
