/* Reads .npz: a zip archive of .npy entries, stored or deflated. The sizes in the directory are not
 * trusted: an entry is refused if it claims to inflate further than deflate can, and is read no
 * further than its array. */
#include "sim/reader.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

typedef struct archive {
    zip_t *zip;
    zip_file_t *file;
} archive;

static int64_t read_entry(void *handle, void *out, size_t bytes)
{
    return zip_fread(((archive *)handle)->file, out, bytes);
}

static void close_archive(void *handle)
{
    archive *a = handle;
    if (a->file) zip_fclose(a->file);
    zip_discard(a->zip);
    free(a);
}

/* Sets *length to that of "x" in the entry name "x.npy". False: the entry is no array. */
static bool entry_array_name(const char *entry, size_t *length)
{
    size_t n = strlen(entry);
    if (n < 4 || strcmp(entry + n - 4, ".npy") != 0) return false;
    *length = n - 4;
    return true;
}

static bool entry_matches(const char *entry, const char *wanted)
{
    size_t length;
    if (!entry_array_name(entry, &length)) return false;
    if (!wanted || strcmp(entry, wanted) == 0) return true;
    return strlen(wanted) == length && memcmp(entry, wanted, length) == 0;
}

static void list_arrays(zip_t *zip, itg_strbuf *out)
{
    zip_int64_t count = zip_get_num_entries(zip, 0);
    for (zip_int64_t i = 0; i < count && out->length < 200; i++) {
        const char *name = zip_get_name(zip, (zip_uint64_t)i, 0);
        size_t length;
        if (name && entry_array_name(name, &length))
            itg_strbuf_format(out, "%s%.*s", out->length ? ", " : "",
                              (int)(length < 60 ? length : 60), name);
    }
}

static itg_status find_entry(zip_t *zip, const char *path, const char *wanted, zip_uint64_t *index,
                             itg_error *err)
{
    zip_int64_t count = zip_get_num_entries(zip, 0), found = 0;
    for (zip_int64_t i = 0; i < count; i++) {
        const char *name = zip_get_name(zip, (zip_uint64_t)i, 0);
        if (!name || !entry_matches(name, wanted)) continue;
        *index = (zip_uint64_t)i;
        found++;
    }
    if (found == 1) return ITG_OK;
    itg_strbuf names = {0};
    list_arrays(zip, &names);
    const char *list = names.text ? names.text : "none";
    itg_status status =
        wanted ? itg_fail(err, ITG_BAD_FILE, "%s: %d arrays named '%s'; it holds: %s", path,
                          (int)found, wanted, list)
               : itg_fail(err, ITG_BAD_FILE,
                          "%s: %d arrays, expected one, or name it as %s:NAME; it holds: %s", path,
                          (int)found, path, list);
    itg_strbuf_deinit(&names);
    return status;
}

static itg_status copy_names(zip_t *zip, char ***names, int32_t *count, itg_error *err)
{
    zip_int64_t entries = zip_get_num_entries(zip, 0);
    if (entries > ITG_MAX_ARRAYS) return ITG_OK;
    *names = calloc((size_t)entries + 1, sizeof **names);
    if (!*names) return itg_fail(err, ITG_NO_MEMORY, "no memory for the names of arrays");
    for (zip_int64_t i = 0; i < entries; i++) {
        const char *name = zip_get_name(zip, (zip_uint64_t)i, 0);
        size_t length;
        if (!name || !entry_array_name(name, &length)) continue;
        char *copy = itg_copy_text(name);
        if (!copy) return itg_fail(err, ITG_NO_MEMORY, "no memory for the names of arrays");
        copy[length] = '\0';
        (*names)[(*count)++] = copy;
    }
    return ITG_OK;
}

itg_status itg_npz_names(const char *path, char ***names, int32_t *count, itg_error *err)
{
    int code = 0;
    zip_t *zip = zip_open(path, ZIP_RDONLY, &code);
    *count = 0;
    *names = NULL;
    if (!zip && code == ZIP_ER_MEMORY)
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to read the archive", path);
    if (!zip) return ITG_OK;
    itg_status status = copy_names(zip, names, count, err);
    zip_discard(zip);
    return status;
}

static itg_status check_entry(zip_t *zip, zip_uint64_t index, const char *path, int64_t file_size,
                              itg_reader *reader, itg_error *err)
{
    zip_stat_t stat;
    zip_stat_init(&stat);
    const zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(zip, index, 0, &stat) != 0 || (stat.valid & needed) != needed)
        return itg_fail(err, ITG_BAD_FILE, "%s: entry %d: incomplete zip directory", path,
                        (int)index);
    if (stat.encryption_method != ZIP_EM_NONE)
        return itg_fail(err, ITG_UNSUPPORTED, "%s: entry '%s' is encrypted", path, stat.name);
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "%s: entry '%s': compression method %d; expected stored or deflated", path,
                        stat.name, (int)stat.comp_method);
    zip_uint64_t ratio = stat.comp_method == ZIP_CM_DEFLATE ? ITG_DEFLATE_RATIO : 1;
    if (stat.comp_size > (zip_uint64_t)file_size || stat.size > ratio * stat.comp_size)
        return itg_fail(err, ITG_BAD_FILE,
                        "%s: entry '%s' claims more bytes than the file can hold", path, stat.name);
    reader->size = reader->max_size = (int64_t)stat.size;
    reader->inflates = true; /* stored entries too, because they have a checksum */
    return ITG_OK;
}

itg_status itg_npz_open(int fd, const char *entry, int64_t file_size, itg_reader *reader,
                        itg_error *err)
{
    int code = 0;
    zip_uint64_t index = 0;
    archive *a = calloc(1, sizeof *a);
    if (a) a->zip = zip_fdopen(fd, 0, &code);
    if (!a || !a->zip) {
        close(fd);
        if (!a) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory", reader->name);
        free(a);
        return itg_fail(err, ITG_BAD_FILE, "%s: a damaged or cut zip archive (libzip error %d)",
                        reader->name, code);
    }
    reader->handle = a;
    reader->read = read_entry;
    reader->close = close_archive;
    itg_status status = find_entry(a->zip, reader->name, entry, &index, err);
    if (status == ITG_OK) status = check_entry(a->zip, index, reader->name, file_size, reader, err);
    if (status != ITG_OK) return status;
    a->file = zip_fopen_index(a->zip, index, 0);
    if (!a->file) return itg_fail(err, ITG_BAD_FILE, "%s: %s", reader->name, zip_strerror(a->zip));
    return ITG_OK;
}
