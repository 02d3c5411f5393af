/* What writer and reader of artefact files agree on. Private to realize/. */
#ifndef ITG_ARTEFACT_H
#define ITG_ARTEFACT_H
#define ITG_ARTEFACT_DOMAIN "ai.intaglio"
#define ITG_ARTEFACT_VERSION 1
#define ITG_ARTEFACT_OUTPUT_KEY "intaglio.output." /* + name: derived, written anew each time */
#endif
