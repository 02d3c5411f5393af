#!/bin/sh
# Everything again with clang, under AddressSanitizer and UndefinedBehaviorSanitizer, but for the comparison with the second program
# and ten tests that compare long runs with each other or texts with what was printed, or measure accuracy or memory.
# Leaks are looked for by the tests that GCC builds (cmake/Leaks.cmake): clang's OpenMP loses memory of its own.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
need $build_packages $test_packages clang libclang-rt-dev libomp-dev lld
cmake --preset asan-ubsan >/dev/null
build --preset asan-ubsan
ASAN_OPTIONS=detect_leaks=0:malloc_context_size=4 ctest --preset asan-ubsan -j "$(nproc)" -LE slow -E '^(independent|emitted_pairs|lost_channels|search_racing|search_agreement|search_memory_figure|search_tight|search_selection|remote_workers|cli_sensitivity|cli_transcripts)$'
