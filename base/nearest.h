/* Finds the name that a misspelt word may mean, for messages. */
#ifndef ITG_NEAREST_NAME_H
#define ITG_NEAREST_NAME_H

/* Returns the nearest of count names; NULL: none is near. name_at may return NULL to skip a
 * name. */
const char *itg_nearest_name(const char *word, int count,
                             const char *(*name_at)(void *context, int index), void *context);
#endif
