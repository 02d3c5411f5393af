/* What a network takes of the memory that a hardware's description states. */
#ifndef ITG_CLI_MEMORY_H
#define ITG_CLI_MEMORY_H
#include "cli/common.h"

/* Whether a cost that is known exceeds what the description states. */
bool itg_cli_memory_exceeded(const itg_hardware *hw, const itg_score *score, itg_metric kind);
/* One line on stderr for each memory that is exceeded. */
void itg_cli_warn_memory(const itg_hardware *hw, const itg_score *score);
/* A line on standard output: what it takes, of what is there; nothing where nothing is stated or
 * known. */
void itg_cli_print_memory(const char *name, const itg_hardware *hw, const itg_score *score);
/* Member "memory": flash_bytes and ram_bytes of the description, and whether the network fits; null
 * where it states neither. */
void itg_cli_json_memory(itg_json_writer *json, const itg_hardware *hw, const itg_score *score);
#endif
