/* Parses the text that says where data is: FILE, FILE:ARRAY, or INPUT=FILE[:ARRAY],... A text that
 * names an existing file is that file, whatever characters it has. */
#include "sim/reader.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *itg_copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static bool is_regular(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static itg_status add(itg_data_sources *sources, const char *input, const char *path,
                      const char *entry, itg_error *err)
{
    size_t count = (size_t)sources->count + 1;
    itg_data_source *items = realloc(sources->items, count * sizeof *items);
    if (items) {
        sources->items = items;
        items[sources->count++] =
            (itg_data_source){input ? itg_copy_text(input) : NULL, itg_copy_text(path),
                              itg_copy_text(path), entry ? itg_copy_text(entry) : NULL};
        items += sources->count - 1;
    }
    return items && items->path && items->file && (items->input || !input) &&
                   (items->entry || !entry)
               ? ITG_OK
               : itg_fail(err, ITG_NO_MEMORY, "%s: no memory", path);
}

/* Cuts FILE:ARRAY at the first colon after the name of a file, else at the last colon, because
 * names of arrays may have colons. Returns the array. */
static char *cut_array(char *text)
{
    char *cut = strrchr(text, ':');
    for (char *at = strchr(text, ':'); at != cut; at = strchr(at + 1, ':')) {
        *at = '\0';
        if (is_regular(text)) return at + 1;
        *at = ':';
    }
    *cut = '\0';
    return cut + 1;
}

/* Adds FILE or, if there is no such file, FILE:ARRAY. */
static itg_status add_file(itg_data_sources *sources, const char *input, const char *path,
                           itg_error *err)
{
    itg_status status = add(sources, input, path, NULL, err);
    if (status != ITG_OK) return status;
    itg_data_source *s = &sources->items[sources->count - 1];
    if (!strchr(path, ':') || is_there(path)) return ITG_OK;
    s->entry = itg_copy_text(cut_array(s->file));
    return s->entry ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "%s: no memory", path);
}

/* ---- several inputs ---- */

static itg_status add_array(itg_data_sources *sources, const char *path, const char *name,
                            itg_error *err)
{
    itg_strbuf text = {0};
    itg_strbuf_format(&text, "%s:%s", path, name);
    itg_status status = add(sources, name, path, name, err);
    if (status != ITG_OK || !itg_strbuf_ok(&text)) {
        itg_strbuf_deinit(&text);
        return status == ITG_OK ? itg_fail(err, ITG_NO_MEMORY, "%s: no memory", path) : status;
    }
    free(sources->items[sources->count - 1].path);
    sources->items[sources->count - 1].path = text.text;
    return ITG_OK;
}

/* Adds one source for each array of an .npz with several arrays, else nothing. */
static itg_status add_archive(itg_data_sources *sources, const char *path, itg_error *err)
{
    char **names = NULL;
    int32_t count = 0;
    itg_status status = itg_npz_names(path, &names, &count, err);
    for (int32_t i = 0; i < count && count > 1 && status == ITG_OK; i++)
        status = add_array(sources, path, names[i], err);
    for (int32_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return status;
}

/* Adds the sources of INPUT=FILE,... The text is cut into its parts. */
static itg_status add_list(itg_data_sources *sources, char *text, itg_error *err)
{
    itg_status status = ITG_OK;
    for (char *item = text, *next; item && status == ITG_OK; item = next) {
        next = strchr(item, ',');
        if (next) *next++ = '\0';
        char *equals = strchr(item, '=');
        if (!equals || equals == item || equals[1] == '\0')
            return itg_fail(err, ITG_BAD_ARGUMENT, "'%s': expected INPUT=FILE", item);
        if (sources->count == ITG_MAX_ARRAYS)
            return itg_fail(err, ITG_LIMIT, "data of more than %d inputs", ITG_MAX_ARRAYS);
        *equals = '\0';
        status = add_file(sources, item, equals + 1, err);
    }
    return status;
}

itg_status itg_data_sources_read(const char *text, itg_data_sources *out, itg_error *err)
{
    itg_data_sources made = {0};
    itg_status status = ITG_OK;
    if (is_regular(text)) status = add_archive(&made, text, err);
    if (status == ITG_OK && made.count == 0 && !is_there(text) && strchr(text, '=')) {
        char *copy = itg_copy_text(text);
        status =
            copy ? add_list(&made, copy, err) : itg_fail(err, ITG_NO_MEMORY, "%s: no memory", text);
        free(copy);
    } else if (status == ITG_OK && made.count == 0) {
        status = add_file(&made, NULL, text, err);
    }
    if (status == ITG_OK)
        *out = made;
    else
        itg_data_sources_deinit(&made);
    return status;
}

void itg_data_sources_deinit(itg_data_sources *sources)
{
    for (int32_t i = 0; i < sources->count; i++) {
        free(sources->items[i].input);
        free(sources->items[i].path);
        free(sources->items[i].file);
        free(sources->items[i].entry);
    }
    free(sources->items);
    *sources = (itg_data_sources){0};
}
