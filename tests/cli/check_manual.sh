#!/bin/sh
# Manual pages and completions as the build wrote them: check_manual.sh FOLDER PROGRAM. Pages are read by the checkers that are here;
# each shell that is here completes commands, options, values of options, and files.
set -eu
folder=$1 program=$2 here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "check_manual.sh: $*" >&2; exit 1; }
expect() { # WHAT, WORDS: all are among the lines of $got
    for word in $2; do
        printf '%s\n' "$got" | grep -qxF -e "$word" || fail "$1: no '$word' in: $got"
    done
}
refuse() { # WHAT, WORD
    if printf '%s\n' "$got" | grep -qxF -e "$2"; then fail "$1: '$2' in: $got"; fi
}

for command in "" $("$program" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/-\1/p'); do
    page=$folder/intaglio$command.1
    [ -s "$page" ] || fail "$page is absent"
    if command -v mandoc >/dev/null; then mandoc -T lint -W warning "$page" || fail "mandoc refuses $page"; fi
    if command -v groff >/dev/null; then
        said=$(groff -man -ww -Tascii -z "$page" 2>&1)
        [ -z "$said" ] || fail "groff says of $page: $said"
    fi
    [ -z "$command" ] || "$program" help "${command#-}" | grep -o '^  \(    \|-., \)--[a-z-]*' | grep -o -e '--.*' | while read -r option; do
        grep -qF -e "\\-\\-$(printf %s "${option#--}" | sed 's/-/\\-/g')" "$page" || fail "$page: no $option"
    done
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
touch model.onnx 'two words.onnx'

# bash: COMP_WORDS as readline cuts them ('=' is a word of its own).
complete_bash() {
    bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _intaglio; printf "%s\n" "${COMPREPLY[@]}"' \
        "$folder/intaglio.bash" "$@"
}
complete_zsh() { zsh -f "$here/complete.zsh" "$folder" "$*"; }
complete_fish() { fish --no-config -c "source $folder/intaglio.fish; complete -C '$*'" | cut -f 1; }

check_shell() { # SHELL
    command -v "$1" >/dev/null || { echo "no $1"; return 0; }
    case $1 in bash) equal='--hw = cort' ;; *) equal='--hw=cort' ;; esac
    got=$("complete_$1" intaglio se); expect "$1" "search sensitivity"; refuse "$1" check
    got=$("complete_$1" intaglio check --k); expect "$1" "--keep-softmax"; refuse "$1" --hw
    got=$("complete_$1" intaglio simulate m --threshold p); expect "$1" "percentile power2"; refuse "$1" kl
    got=$("complete_$1" intaglio search m --hw ne); refuse "$1" model.onnx
    got=$("complete_$1" intaglio run --metric mi); expect "$1" miou
    got=$("complete_$1" intaglio realize --emit q); expect "$1" qdq
    got=$("complete_$1" intaglio runs fr); expect "$1" front
    got=$("complete_$1" intaglio check mo); expect "$1" model.onnx
    got=$("complete_$1" intaglio check --hw mo); expect "$1" model.onnx
    # shellcheck disable=SC2086
    got=$("complete_$1" intaglio check $equal | sed 's/^--hw=//'); expect "$1" cortex-m; refuse "$1" cvm
    echo "$1 completes"
}
got=$(complete_bash intaglio search --minimize size,c); expect "bash, a list" size,cycles
got=$(complete_bash intaglio check two); printf '%s\n' "$got" | grep -qxF 'two words.onnx' || fail "a name with a blank: $got"
check_shell bash
check_shell zsh
check_shell fish
