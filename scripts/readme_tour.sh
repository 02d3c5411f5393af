#!/bin/sh
# The README's tour with the output of its commands: readme_tour.sh [--check | --write] [PROGRAM]. In every ```console block, what
# follows a line "$ COMMAND" (lines ending in \ continue) is replaced by what the command prints on standard output now. Seconds are
# not compared, nor when a run was started.
set -eu
cd "$(dirname "$0")/.."
mode=print
case "${1:-}" in
    --check | --write) mode=${1#--}; shift ;;
esac
program=${1:-build/release/intaglio}
[ -x "$program" ] || { echo "readme_tour.sh: $program is absent: build first" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/build"
ln -s "$(realpath "$program")" "$work/bin/intaglio"
ln -s "$PWD/examples" "$work/examples"

awk -v prefix="cd '$work' && PATH='$work/bin':\"\$PATH\" && exec 2>/dev/null && " '
    function run(    line) {
        while ((prefix command) | getline line > 0) print line
        close(prefix command)
    }
    /^```console$/ { inside = 1; print; next }
    /^```$/ { inside = 0 }
    !inside { print; next }
    /^\$ / || continued {
        print
        if (!continued) command = ""
        text = continued ? $0 : substr($0, 3)
        continued = text ~ /\\$/
        sub(/\\$/, "", text)
        command = command text
        if (!continued) run()
    }' README.md >"$work/README.md"

plain() { sed -e 's/in [0-9.]* s,/in _ s,/' -e '/^  started /d' "$1"; }
case $mode in
    print) cat "$work/README.md" ;;
    write) cat "$work/README.md" >README.md ;;
    check)
        plain README.md >"$work/expected"
        plain "$work/README.md" >"$work/found"
        if ! diff "$work/expected" "$work/found"; then
            echo "README.md shows (<) what the program does not print (>): sh scripts/readme_tour.sh --write"
            exit 1
        fi
        echo "README.md shows what the program prints"
        ;;
esac
