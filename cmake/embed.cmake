# cmake -D OUTPUT=schema.c -D INPUT=schema.sql -D FROM=logs/schema.sql -D HEADER=logs/store.h -D NAME=itg_log_schema -P embed.cmake
# Writes a text as a C byte array of that name, which the header declares, with a zero at its end.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n    " hex "${hex}")
file(WRITE "${OUTPUT}"
  "/* Made from ${FROM} by embed.cmake. */\n#include \"${HEADER}\"\n\nconst unsigned char ${NAME}[] = {\n    ${hex}0};\n")
