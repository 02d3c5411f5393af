/* Private to api/: what its files share. */
#ifndef ITG_API_H
#define ITG_API_H
#include <intaglio/intaglio.h>
#include "base/base.h"

/* Hands the builder's text to the caller, who frees it with itg_free. */
itg_status itg_take_text(itg_strbuf *text, char **out, itg_error *err);
#endif
