# cmake -D OUTPUT=builtin_targets.c -D FOLDER=targets -D TARGETS=a,b -P embed.cmake
# Writes the targets' JSON files as C byte arrays: no tool but CMake, no limit on the length of a string literal.
string(REPLACE "," ";" TARGETS "${TARGETS}")
set(arrays "")
set(rows "")
set(index 0)
foreach(target IN LISTS TARGETS)
  file(READ "${FOLDER}/${target}.json" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n    " hex "${hex}")
  string(APPEND arrays "static const unsigned char target_${index}[] = {\n    ${hex}0};\n\n")
  string(APPEND rows "    {\"${target}\", target_${index}, ${bytes}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}"
  "/* Made from hardware/targets by embed.cmake. */\n#include \"hardware/keys.h\"\n\n${arrays}const itg_hw_builtin itg_hw_builtins[] = {\n${rows}    {NULL, NULL, 0}};\n")
