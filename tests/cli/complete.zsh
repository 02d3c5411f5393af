# zsh -f complete.zsh FOLDER WORDS: what zsh offers when a tab is pressed behind the words, one a line. Completion needs a terminal, so
# a second zsh runs in one; there compadd, which every completion ends in, tells its matches.
zmodload zsh/zpty
zpty inner zsh -f -i
say() { zpty -w inner "$1"; }
say 'PS1= PS2= RPS1= PROMPT_EOL_MARK=; unsetopt zle_bracketed_paste; stty -echo'
say "fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D; bindkey '^I' complete-word"
say 'compadd() { local -a got=(); builtin compadd -O got "$@"; print -lr -- \<$^got\>; builtin compadd "$@" }'
say "zstyle ':completion:*' list-prompt ''; LISTMAX=100000; print REA''DY"
zpty -r inner line '*READY*'
zpty -w -n inner "$2"$'\t'
sleep 0.2
zpty -w -n inner $'\C-u'
say "print DO''NE"
zpty -r inner text '*DONE*'
print -r -- "$text" | tr -d '\r' | sed -n 's/.*<\(.*\)>$/\1/p'
zpty -d inner
