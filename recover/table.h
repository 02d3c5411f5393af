/* Private to recover: the table of codes. */
#ifndef ITG_RECOVER_TABLE_H
#define ITG_RECOVER_TABLE_H
#include "recover/recover.h"

enum { ITG_RECOVERED_WIDTHS = 33 };
struct itg_recovered {
    itg_strategy *s;          /* holds what the choices point to */
    const uint32_t *widths;   /* [edges]: bit b: width b */
    itg_edge_choice *choices; /* [edges][ITG_RECOVERED_WIDTHS]; bits 0: none */
};

static inline itg_edge_choice *itg_recovered_entry(const itg_recovered *table, int32_t edge,
                                                   int32_t bits)
{
    return &table->choices[(size_t)edge * ITG_RECOVERED_WIDTHS + (size_t)bits];
}
#endif
