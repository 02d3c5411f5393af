# cmake -D OUTPUT=schema.c -D INPUT=schema.sql -P embed.cmake
# Writes the schema as a C byte array with a zero at its end.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n    " hex "${hex}")
file(WRITE "${OUTPUT}"
  "/* Made from logs/schema.sql by embed.cmake. */\n#include \"logs/store.h\"\n\nconst unsigned char itg_log_schema[] = {\n    ${hex}0};\n")
