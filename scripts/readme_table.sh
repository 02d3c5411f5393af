#!/bin/sh
# The README's tables of targets and operators, as the program knows them: readme_table.sh [--check | --write] [PROGRAM].
set -eu
cd "$(dirname "$0")/.."
mode=print
case "${1:-}" in
    --check | --write) mode=${1#--}; shift ;;
esac
program=${1:-build/release/intaglio}
[ -x "$program" ] || { echo "readme_table.sh: $program is absent: build first" >&2; exit 1; }
exec cmake -D INTAGLIO="$program" -D ROOT="$PWD" -D MODE=$mode -P scripts/readme_table.cmake
