/* Finds targets by name: those of hardware/targets, which the build embeds, or a file. */
#include "keys.h"
#include <stdlib.h>
#include <string.h>

int itg_hardware_builtin_count(void)
{
    int count = 0;
    while (itg_hw_builtins[count].name)
        count++;
    return count;
}

const char *itg_hardware_builtin_name(int index)
{
    return index >= 0 && index < itg_hardware_builtin_count() ? itg_hw_builtins[index].name : NULL;
}

const char *itg_hardware_builtin_json(int index)
{
    return index >= 0 && index < itg_hardware_builtin_count()
               ? (const char *)itg_hw_builtins[index].json
               : NULL;
}

const char *itg_hardware_name(const itg_hardware *hw)
{
    return hw->name;
}
const char *itg_hardware_description(const itg_hardware *hw)
{
    return hw->description;
}
const char *itg_hardware_json(const itg_hardware *hw)
{
    return hw->json;
}
bool itg_hardware_all_float(const itg_hardware *hw)
{
    return hw->all_float;
}

static itg_status load_file(const char *path, itg_hardware **out, itg_error *err)
{
    unsigned char *text = NULL;
    size_t bytes = 0;
    itg_status status = itg_file_read(path, ITG_HW_MAX_FILE_BYTES, &text, &bytes, err);
    if (status == ITG_OK)
        status = itg_hardware_parse((const char *)text, bytes, path, out, err);
    else if (!strchr(path, '/') && !strchr(path, '.')) {
        itg_strbuf names = {0};
        for (int i = 0; i < itg_hardware_builtin_count(); i++)
            itg_strbuf_format(&names, "%s%s", i > 0 ? ", " : "", itg_hardware_builtin_name(i));
        status =
            itg_prefix_error(err, status, "no target '%s' is built in (expected one of %s), and",
                             path, names.text ? names.text : "?");
        itg_strbuf_deinit(&names);
    }
    free(text);
    return status;
}

itg_status itg_hardware_load(const char *name_or_path, itg_hardware **out, itg_error *err)
{
    for (const itg_hw_builtin *target = itg_hw_builtins; target->name; target++)
        if (strcmp(target->name, name_or_path) == 0)
            return itg_hardware_parse((const char *)target->json, target->bytes, target->name, out,
                                      err);
    return load_file(name_or_path, out, err);
}
