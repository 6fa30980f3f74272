-- Completion of the command line in bash and zsh, as the text of a script.
--
-- Input: the outline of the command line (command_outline.lua), flags of the trainer's verb train. Output: text. The
-- script looks up names of specs, studies and sites with `longhand list` when it needs them; the shell completes files.

local lists = require("base.lists")

local M = {}

local function list_names(list)
  return table.concat(lists.collect(list, function(entry) return entry.names or { entry.name } end), " ")
end

-- A command of the shell that sets the possible words for a kind of values (command_outline.lua); nil for the kind
-- "any".
local function write_offer(kind)
  if type(kind) == "table" then
    return ('words="%s"'):format(table.concat(kind, " "))
  elseif kind == "file" then
    return "files=yes"
  elseif kind ~= "any" then
    return ("words=$(_longhand_ids %s) files=yes"):format(kind)
  end
end

-- Adds the branches of a `case` for a verb: a branch for the word after each option with a value, and a branch for all
-- other words.
local function add_verb(lines, entry, path)
  for _, option in ipairs(entry.options) do
    lists.append(lines, lists.map(option.value and option.names or {}, function(name)
      return ('        "%s %s") %s ;;'):format(path, name, write_offer(option.kind) or ":")
    end))
  end
  local argument_offer = write_offer(entry.arguments[1] and entry.arguments[1].kind or "any") or ":"
  lines[#lines + 1] = ('        "%s "*) if [ "$dash" ]; then words="%s"; else %s; fi ;;'):format(path,
    list_names(entry.options), argument_offer)
end

-- The branches of the `case` for all verbs.
local function write_cases(outline)
  local lines = {}
  for _, verb in ipairs(outline.verbs) do
    for _, subverb in ipairs(verb.verbs) do
      add_verb(lines, subverb, verb.name .. " " .. subverb.name)
    end
    if verb.verbs[1] then
      lines[#lines + 1] = ('        "%s "*) words="%s" ;;'):format(verb.name, list_names(verb.verbs))
    else
      add_verb(lines, verb, verb.name)
    end
  end
  return table.concat(lines, "\n")
end

local SCRIPT = [=[
_longhand_ids() {
    "${longhand:-longhand}" list "$1" 2>/dev/null | sed -n 's/^\([a-z][a-z0-9_]*\) .*/\1/p'
}

# _longhand_words CURRENT LONGHAND WORD...: finds completions of the word CURRENT. Before CURRENT, the command line has
# the command LONGHAND and the words WORD..., in this order. The function sets `words`, the possible words, and `files`,
# which is "yes" where the name of a file may stand. In the loop, `subverb` is the second word with a blank in front if
# the verb has subverbs, otherwise "-".
_longhand_words() {
    words='' files='' dash=''
    local current=$1 longhand=$2 before='' verb='' subverb='' word
    shift 2
    case "$current" in -*) dash=yes ;; esac
    for word in "$@"; do
        if [ "$word" = -- ]; then
            words="@TRAINER@"
            return
        elif [ -z "$verb" ]; then
            verb=$word
        elif [ -z "$subverb" ]; then
            case "$verb" in @PARENTS@) subverb=" $word" ;; *) subverb=- ;; esac
        fi
        before=$word
    done
    [ "$subverb" != - ] || subverb=''
    if [ -z "$verb" ]; then
        words="@VERBS@"
        return
    fi
    case "$verb$subverb $before" in
@CASES@
    esac
}
]=]

local BASH = [=[
# Completion of longhand in bash: `longhand completion bash >~/.local/share/bash-completion/completions/longhand`.

@SCRIPT@
_longhand() {
    local words files dash
    _longhand_words "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[@]:0:COMP_CWORD}"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
    [ -z "$files" ] || compopt -o filenames 2>/dev/null
    [ -z "$files" ] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
}

complete -o bashdefault -F _longhand longhand ./longhand
]=]

local ZSH = [=[
#compdef longhand
# Completion of longhand in zsh: `longhand completion zsh >DIR/_longhand`, DIR being one of $fpath.

@SCRIPT@
_longhand() {
    local found files dash
    local -a before
    before=("${(@)words[1,CURRENT-1]}")
    () {
        local -h words
        _longhand_words "${PREFIX}" "${(@)before}"
        found=$words
    }
    compadd -- ${=found}
    [[ -z "$files" ]] || _files
}

_longhand "$@"
]=]

-- Replaces each @NAME@ of a text by a value.
local function fill(text, values)
  return (text:gsub("@(%u+)@", values))
end

-- The script for a shell, "bash" or "zsh". flags: a list of the trainer's flags.
function M.write_script(outline, flags, shell)
  local parent_verbs = lists.map(outline.verbs, function(verb) return verb.verbs[1] and verb.name or nil end)
  local script = fill(SCRIPT, { TRAINER = table.concat(flags, " "), PARENTS = table.concat(parent_verbs, " | "),
    VERBS = list_names(outline.verbs), CASES = write_cases(outline) })
  return fill(shell == "zsh" and ZSH or BASH, { SCRIPT = script })
end

return M
