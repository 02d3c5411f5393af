/* Names that are nearly right, for messages. */
#ifndef ITG_NEAREST_NAME_H
#define ITG_NEAREST_NAME_H

/* The nearest of count names, or NULL where none is near. name_at gives the names; it may give NULL
 * to pass over one. */
const char *itg_nearest_name(const char *word, int count,
                             const char *(*name_at)(void *context, int index), void *context);
#endif
