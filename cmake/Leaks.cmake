# Sets ITG_LEAKS, the option that links a program with the leak sanitizer, where it works: a leak is reported, and nothing else
# is. It costs tests nothing that can be noticed, so that a dropped free fails a test in every build of GCC. Clang's OpenMP
# (libomp) loses memory of its own at times.
set(ITG_LEAKS "")
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT ITG_SANITIZE AND NOT ITG_FUZZ AND NOT CMAKE_CROSSCOMPILING)
  include(CheckCSourceRuns)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=leak)
  set(leak_source "#include <stdlib.h>\nint main(void) { void *volatile p = malloc(9);")
  check_c_source_runs("${leak_source} free(p); return p == NULL; }" ITG_LEAKS_PASS)
  if(ITG_LEAKS_PASS)
    check_c_source_runs("${leak_source} p = NULL; return p != NULL; }" ITG_LEAKS_LOST)
  endif()
  unset(CMAKE_REQUIRED_FLAGS)
  if(ITG_LEAKS_PASS AND NOT ITG_LEAKS_LOST)
    set(ITG_LEAKS -fsanitize=leak)
  endif()
endif()
message(STATUS "Leaks in tests: ${ITG_LEAKS}")
