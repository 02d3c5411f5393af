#include "cli/realize_qdq.h"
#include "cli/common.h"
#include <string.h>

void itg_cli_json_qdq(itg_json_writer *json, const itg_qdq_report *report)
{
    itg_json_put_int(json, "opset", itg_qdq_report_opset(report));
    itg_json_put_bool(json, "any_batch", itg_qdq_report_any_batch(report));
    itg_json_begin(json, "onnxruntime_differs", '[');
    for (int32_t i = 0; i < itg_qdq_report_count(report); i++) {
        const itg_qdq_note *note = itg_qdq_report_note(report, i);
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "node", note->node);
        itg_json_put_text(json, "op", note->op);
        itg_json_put_text(json, "reason", note->reason);
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
}

/* Returns how many nodes have the reason of note `index`; 0 if an earlier note has it. */
static int count_like(const itg_qdq_report *report, int32_t index)
{
    const char *reason = itg_qdq_report_note(report, index)->reason;
    int count = 0;
    for (int32_t i = 0; i < itg_qdq_report_count(report); i++) {
        if (strcmp(itg_qdq_report_note(report, i)->reason, reason) != 0) continue;
        if (i < index) return 0;
        count++;
    }
    return count;
}

void itg_cli_print_qdq(const itg_qdq_report *report, const char *path)
{
    int32_t count = itg_qdq_report_count(report);
    itg_cli_print_line("QDQ model", "%s", path);
    itg_cli_print_line("opset", "%d, %s", (int)itg_qdq_report_opset(report),
                       itg_qdq_report_any_batch(report) ? "batches of any size" : "batch 1");
    if (count == 0)
        itg_cli_print_line("arithmetic", "ONNX Runtime's integer kernels give the program's bits");
    else
        itg_cli_print_line("arithmetic", "ONNX Runtime's differs in %d node%s, and so may outputs",
                           (int)count, itg_plural(count));
    for (int32_t i = 0; i < count; i++) {
        const itg_qdq_note *note = itg_qdq_report_note(report, i);
        int like = count_like(report, i);
        if (like > 0)
            itg_cli_print_line("", "%d, the first '%s' (%s): %s", like, note->node, note->op,
                               note->reason);
    }
}
