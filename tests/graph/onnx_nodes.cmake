# Unpacks ARCHIVE into FOLDER and runs PROGRAM on it; skipped (by its message) where there is no archive. LEAST tests must
# pass: an engine that skips everything must not.
if(NOT EXISTS ${ARCHIVE})
  message("${ARCHIVE} is absent")
  return()
endif()
file(REMOVE_RECURSE ${FOLDER})
file(ARCHIVE_EXTRACT INPUT ${ARCHIVE} DESTINATION ${FOLDER})
execute_process(COMMAND ${PROGRAM} ${FOLDER}/onnx/backend/test/data/node RESULT_VARIABLE result OUTPUT_VARIABLE text)
file(REMOVE_RECURSE ${FOLDER})
message("${text}")
if(NOT result EQUAL 0 OR NOT text MATCHES "([0-9]+) passed, 0 failed" OR CMAKE_MATCH_1 LESS ${LEAST})
  message(FATAL_ERROR "node tests: ${LEAST} must pass and none may fail")
endif()
