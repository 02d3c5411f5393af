#include "graph/onnx/refusals.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"

void itg_refusals_add(itg_refusals *all, const char *what, const char *why, const char *help,
                      const char *where, const itg_error *told)
{
    itg_refusal made = {.help = help, .count = 1};
    snprintf(made.what, sizeof made.what, "%s", what);
    snprintf(made.why, sizeof made.why, "%s", why);
    snprintf(made.first, sizeof made.first, "%s", where);
    if (all->count == 0) all->first = *told;
    for (int32_t i = 0; i < all->count; i++) {
        itg_refusal *r = &all->at[i];
        if (strcmp(r->what, made.what) != 0 || strcmp(r->why, made.why) != 0) continue;
        r->count++;
        return;
    }
    if (all->count < ITG_MOST_REFUSALS)
        all->at[all->count++] = made;
    else
        all->others++;
}

static void add(char *text, size_t size, const char *format, ...) ITG_PRINTF(3, 4);
static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

itg_status itg_refusals_fail(const itg_refusals *all, itg_error *err)
{
    char text[sizeof all->first.message] = "";
    add(text, sizeof text, "%.300s", all->first.message);
    if (all->at[0].count > 1) add(text, sizeof text, " (%" PRId64 " times)", all->at[0].count);
    for (int32_t i = 1; i < all->count; i++)
        add(text, sizeof text, "%s%s (%" PRId64 ")", i == 1 ? "; also refused: " : ", ",
            all->at[i].what, all->at[i].count);
    return itg_fail(err, ITG_UNSUPPORTED, "%s", text);
}

void itg_refusals_destroy(itg_refusals *refusals)
{
    free(refusals);
}
int32_t itg_refusals_count(const itg_refusals *refusals)
{
    return refusals->count;
}
const itg_refusal *itg_refusals_at(const itg_refusals *refusals, int32_t index)
{
    return &refusals->at[index];
}
int64_t itg_refusals_others(const itg_refusals *refusals)
{
    return refusals->others;
}

/* ---- nodes ---- */

static const char *node_help(const itg_onnx_node *node, const char *why)
{
    if (strstr(why, "already quantized")) return "give the float model that it was made from";
    if (strstr(why, "control flow"))
        return "export it with fixed input sizes, where no branch depends on data";
    if (strcmp(node->domain, "com.microsoft") == 0)
        return "export it without ONNX Runtime's optimizations, which make such operators";
    if (strstr(why, "of domain")) return "export it as operators of ONNX itself";
    if (strstr(why, "element type")) return "export the model in float32, with int64 indices";
    if (strstr(why, "operator is not supported"))
        return "export it as other operators: another opset, or without fusing";
    return NULL;
}

void itg_refusals_add_node(itg_refusals *all, const itg_onnx_node *node, int32_t index,
                           const itg_error *told)
{
    char what[128], first[128], op[64];
    snprintf(op, sizeof op, "(%.50s): ", node->op_type);
    const char *why = strstr(told->message, op);
    why = why ? why + strlen(op) : told->message;
    bool plain = !*node->domain || strcmp(node->domain, "ai.onnx") == 0;
    snprintf(what, sizeof what, "operator %.50s%s%.50s", plain ? "" : node->domain,
             plain ? "" : ".", node->op_type);
    snprintf(first, sizeof first, "node %d '%.80s'", (int)index, node->name);
    itg_refusals_add(all, what, why, node_help(node, why), first, told);
}
