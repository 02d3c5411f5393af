# cmake -D OUTPUT=examples.c -D FOLDER=examples -D FILES=a,b -P embed.cmake
# Writes the example's files as C byte arrays (cli/example.h), so that an installed program has them with it.
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
  file(READ "${FOLDER}/${file}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n    " hex "${hex}")
  string(APPEND arrays "static const unsigned char file_${index}[] = {\n    ${hex}0};\n\n")
  string(APPEND rows "    {\"${file}\", file_${index}, ${bytes}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}"
  "/* Made from examples/ by embed.cmake. */\n#include \"cli/example.h\"\n\n${arrays}const itg_cli_example itg_cli_examples[] = {\n${rows}    {NULL, NULL, 0}};\n")
