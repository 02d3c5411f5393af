#!/bin/sh
# clang-format decides; --fix rewrites.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
command -v clang-format >/dev/null || need clang-format
files=$(git ls-files '*.c' '*.h' | grep -v '\.pb-c\.')
if [ "${1:-}" = --fix ]; then
    # shellcheck disable=SC2086
    clang-format -i $files
else
    # shellcheck disable=SC2086
    clang-format --dry-run -Werror $files
    echo "$(echo "$files" | wc -l) files are formatted"
fi
