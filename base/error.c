/* Error messages are one line of text. Control characters, as in names from files, are replaced. */
#include "base/base.h"
#include "base/utf8.h"
#include <string.h>

static const struct {
    const char *name, *text;
} statuses[ITG_STATUS_COUNT] = {
#define ITG_STATUS(id, text) {#id, text},
#include <intaglio/status.def>
#undef ITG_STATUS
};

static bool is_status(itg_status status)
{
    return (int)status >= 0 && status < ITG_STATUS_COUNT;
}

const char *itg_status_name(itg_status status)
{
    return is_status(status) ? statuses[status].name : "UNKNOWN";
}

const char *itg_status_text(itg_status status)
{
    return is_status(status) ? statuses[status].text : "unknown status";
}

itg_status itg_no_memory(itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY, "out of memory");
}

/* Makes the text one line, and drops a character that was cut off in the middle. */
static void tidy(char *text)
{
    size_t length = strlen(text), at = 0;
    while (at < length) {
        unsigned char c = (unsigned char)text[at];
        if (c < 0x20 || c == 0x7F) text[at] = '?';
        size_t step = itg_utf8_length((const unsigned char *)text + at, length - at);
        if (step == 0 && length - at < 4 && c >= 0xC2) {
            text[at] = '\0';
            return;
        }
        if (step == 0) text[at] = '?';
        at += step ? step : 1;
    }
}

static void format_message(char *out, size_t size, const char *format, va_list arguments)
{
    if (vsnprintf(out, size, format, arguments) < 0) out[0] = '\0';
}

itg_status itg_fail(itg_error *err, itg_status code, const char *format, ...)
{
    if (!err) return code;
    char message[sizeof err->message]; /* an argument may point into err */
    va_list arguments;
    va_start(arguments, format);
    format_message(message, sizeof message, format, arguments);
    va_end(arguments);
    tidy(message);
    err->code = code;
    memcpy(err->message, message, sizeof message);
    return code;
}

itg_status itg_prefix_error(itg_error *err, itg_status code, const char *format, ...)
{
    if (!err) return code;
    char prefix[sizeof err->message];
    va_list arguments;
    va_start(arguments, format);
    format_message(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    return itg_fail(err, err->code != ITG_OK ? err->code : code, "%s: %s", prefix, err->message);
}

itg_status itg_check_stop(const itg_stop *stop, itg_error *err)
{
    if (!stop->asked || !stop->asked(stop->context)) return ITG_OK;
    return itg_fail(err, ITG_CANCELLED, "interrupted");
}

itg_status itg_check_version(const char *name, int32_t version, int32_t expected, itg_error *err)
{
    if (version == expected) return ITG_OK;
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "%s: version %d, this library has %d: initialize it with its macro ..._INIT",
                    name, version, expected);
}
