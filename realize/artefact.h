/* Private to realize/: constants of artefact files. */
#ifndef ITG_ARTEFACT_H
#define ITG_ARTEFACT_H
#include "realize/program.h"
#define ITG_ARTEFACT_DOMAIN "ai.intaglio"
#define ITG_ARTEFACT_VERSION 1
#define ITG_ARTEFACT_OUTPUT_KEY "intaglio.output." /* + name: derived, written anew each time */

/* Whether a constant is stored packed: codes with fewer bits than their type, except outputs. */
bool itg_value_is_packed(const itg_program *p, int32_t value);
#endif
