/* Programs that compute some of their steps by stripes: rows of the last result at a time, with the
 * rows of each value before it that these depend on. The same codes in less memory, for more
 * multiply-accumulates, since rows at the borders of stripes are computed twice (patch-based
 * inference: MCUNetV2, Lin 2021; here rows alone). */
#ifndef ITG_TILE_H
#define ITG_TILE_H
#include "realize/program.h"

/* Steps first..last, of which only the results of step `last` are read behind them, by `count`
 * stripes; or by_products: products of many rows, of which parts are read apart, as one product for
 * each part (tile_products.c). */
typedef struct itg_stripes {
    int32_t first, last, count;
    bool by_products;
} itg_stripes;

/* Whether the steps can be computed by rows. (tile.c) */
bool itg_stripes_fit(const itg_program *p, int32_t first, int32_t last);
/* Makes the program, which reads the memory of p and must be destroyed first. */
itg_status itg_stripes_build(const itg_program *p, const itg_stripes *stripes, itg_program **out,
                             itg_error *err);
/* Chooses the quickest stripes, by an estimate, by which the program takes at most `most` bytes as
 * C source; those that take the least if none suffice; count 0 if it fits as it is, or nothing
 * makes it smaller. stop: asked before each try; NULL: never. (tile_choose.c) */
itg_status itg_stripes_choose(const itg_program *p, int64_t most, const itg_stop *stop,
                              itg_stripes *out, itg_tiling *tiling, itg_error *err);
/* Whether there are such products; and the program of by_products, a copy if there are none.
 * (tile_products.c) */
itg_status itg_products_find(const itg_program *p, bool *any, itg_error *err);
itg_status itg_products_build(const itg_program *p, itg_program **out, itg_error *err);
int64_t itg_program_macs(const itg_program *p); /* saturated (tile_choose.c) */
#endif
