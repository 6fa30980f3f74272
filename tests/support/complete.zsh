# Checks the lines that zsh completes when Tab is pressed: zsh -f complete.zsh FOLDER, with _longhand in FOLDER. Runs in
# the root of the repository.
zmodload zsh/zpty || exit 3
export ZDOTDIR=$1 LONGHAND_BIN=$PWD
cat >$ZDOTDIR/.zshrc <<'END'
PS1='> ' PROMPT_EOL_MARK='' TERM=dumb
fpath=($ZDOTDIR $fpath) path=($LONGHAND_BIN $path)
autoload -Uz compinit
compinit -u -D
unsetopt beep
stty -echo
show() { print -r -- "<<$BUFFER>>"; BUFFER=; zle accept-line }
zle -N show
bindkey '^X' show
print ready
END
zpty shell zsh -i
zpty -r shell got '*ready*' || exit 1
try() {
    zpty -n -w shell "$1"$'\t\x18'
    zpty -r shell got '*<<*>>*' || exit 1
    got=${${got##*<<}%%>>*}
    [[ $got == "$2" ]] || { print -r -- "$1: found $got, expected $2"; exit 1 }
}
try 'longhand pla' 'longhand plan '
try 'longhand train parity_check_s' 'longhand train parity_check_sinusoid '
try 'longhand train --s' 'longhand train --set '
try 'longhand analyze pca --le' 'longhand analyze pca --lengths '
try 'longhand train x -- --st' 'longhand train x -- --steps '
try 'longhand check RE' 'longhand check README.md '
