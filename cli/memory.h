/* Compares the memory of a network with that of a hardware description. */
#ifndef ITG_CLI_MEMORY_H
#define ITG_CLI_MEMORY_H
#include "cli/common.h"

/* Whether the cost is known and exceeds the memory that the description states. */
bool itg_cli_memory_exceeded(const itg_hardware *hw, const itg_score *score, itg_metric kind);
/* Prints one line on stderr for each memory that is exceeded. */
void itg_cli_warn_memory(const itg_hardware *hw, const itg_score *score);
/* Prints a line with the memory that is used and available. Prints nothing if the description
 * states none or the costs are not known. */
void itg_cli_print_memory(const char *name, const itg_hardware *hw, const itg_score *score);
/* Writes member "memory": flash_bytes and ram_bytes of the description, and whether the network
 * fits; null if the description states neither. */
void itg_cli_json_memory(itg_json_writer *json, const itg_hardware *hw, const itg_score *score);
#endif
