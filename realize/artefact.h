/* What writer and reader of artefact files agree on. Private to realize/. */
#ifndef ITG_ARTEFACT_H
#define ITG_ARTEFACT_H
#include "realize/program.h"
#define ITG_ARTEFACT_DOMAIN "ai.intaglio"
#define ITG_ARTEFACT_VERSION 1
#define ITG_ARTEFACT_OUTPUT_KEY "intaglio.output." /* + name: derived, written anew each time */

/* Constants of codes with fewer bits than their type are stored packed, but for outputs. */
bool itg_value_is_packed(const itg_program *p, int32_t value);
#endif
