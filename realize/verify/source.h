/* C source that stands for an artefact (docs/emit-c.md, docs/verify.md): its constant arrays, read
 * back from the text by a reader of their own and held against the artefact's tensors and
 * requantization constants. */
#ifndef ITG_VERIFY_SOURCE_H
#define ITG_VERIFY_SOURCE_H
#include "realize/verify/certificate.h"

struct itg_verification {
    itg_certificate derived;
};

/* One array at the beginning of a line, below the line that says what it was made from. */
typedef struct itg_source_array {
    char name[160], from[160];
    int64_t count;
    int64_t *values; /* in the view's arena */
} itg_source_array;

typedef struct itg_source_reader {
    itg_view *view;
    const char *text, *end;
    int32_t line;
} itg_source_reader;

/* The next array; false: there is none, or (a problem) one is not as it must be. */
bool itg_source_next(itg_source_reader *r, itg_source_array *out);

/* Constants of one requantization, as the arrays give them. */
enum { ITG_SOURCE_PARTS = 5 }; /* left, pre, multiplier, shift, post */
typedef struct itg_source_group {
    int32_t node;
    char prefix[32];
    int64_t first, last, fixed; /* sets; a shift that stands in the code */
    const int64_t *part[ITG_SOURCE_PARTS];
    int64_t count[ITG_SOURCE_PARTS]; /* 1: the same for all sets; 0: neutral */
} itg_source_group;

typedef struct itg_source_check {
    itg_view *view;
    itg_source_group *groups; /* heap */
    int32_t group_count, group_capacity;
    bool *seen; /* [initializers]: an array holds it */
} itg_source_check;

itg_status itg_source_check_init(itg_source_check *c, itg_view *v, itg_error *err);
void itg_source_check_deinit(itg_source_check *c);
/* Holds an array against what it says it was made from. */
void itg_source_check_array(itg_source_check *c, const itg_source_array *a);
/* After the last one: requantizations, and whether anything is missing. */
void itg_source_check_rest(itg_source_check *c);
/* The certificate's text, of the program that v has derived; what does not agree becomes v's
 * problems. */
itg_status itg_source_certificate(itg_verification *v, const char *directory, const char *name,
                                  itg_strbuf *out, itg_error *err);
/* source_stages.c: the group against the node's own constants. */
void itg_source_check_group(itg_view *v, const itg_source_group *g);
/* No array is there: every set leaves its sum as it is. */
void itg_source_check_no_group(itg_view *v, const char *prefix);
#endif
