#include "cmsis_case.h"
#include <stdlib.h>
#include <string.h>
#include <zip.h>

static const size_t LARGEST = (size_t)1 << 28;

static bool dtype_of(const char *header, itg_dtype *out)
{
    static const struct {
        const char *text;
        itg_dtype dtype;
    } known[] = {{"|i1", ITG_S8},  {"|u1", ITG_U8},  {"<i2", ITG_S16}, {"<u2", ITG_U16},
                 {"<i4", ITG_S32}, {"<i8", ITG_S64}, {"<f4", ITG_F32}};
    const char *at = strstr(header, "'descr'");
    at = at ? strchr(at + 7, '\'') : NULL;
    for (size_t i = 0; at && i < sizeof known / sizeof *known; i++)
        if (strncmp(at + 1, known[i].text, 3) == 0) {
            *out = known[i].dtype;
            return true;
        }
    return false;
}

/* .npy, versions 1 to 3: the size of the data gives the count, shapes are flat in these files. */
static bool parse_npy(const unsigned char *bytes, size_t size, case_array *out)
{
    if (size < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0) return false;
    size_t start = bytes[6] == 1 ? 10 : 12;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (start == 12) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > size - start) return false;
    char *header = calloc(1, length + 1);
    if (!header) return false;
    memcpy(header, bytes + start, length);
    bool known = dtype_of(header, &out->dtype);
    free(header);
    if (!known) return false;
    size_t element = itg_dtype_size(out->dtype), data = size - start - length;
    out->count = (int64_t)(data / element);
    out->data = malloc(data + 1);
    if (!out->data) return false;
    itg_copy_little_endian(out->data, bytes + start + length, data / element, element);
    return data % element == 0;
}

static bool read_member(zip_t *zip, zip_uint64_t index, case_array *out)
{
    zip_stat_t stat;
    if (zip_stat_index(zip, index, 0, &stat) != 0 || stat.size > LARGEST) return false;
    zip_file_t *file = zip_fopen_index(zip, index, 0);
    unsigned char *bytes = malloc((size_t)stat.size + 1);
    bool good = file && bytes && zip_fread(file, bytes, stat.size) == (zip_int64_t)stat.size;
    if (good) {
        size_t length = strlen(stat.name), most = sizeof out->name - 1;
        if (length > 4 && strcmp(stat.name + length - 4, ".npy") == 0) length -= 4;
        memcpy(out->name, stat.name, length < most ? length : most);
        good = parse_npy(bytes, (size_t)stat.size, out);
    }
    free(bytes);
    if (file) zip_fclose(file);
    return good;
}

static itg_status read_arrays(const char *path, cmsis_case *c, itg_error *err)
{
    zip_t *zip = zip_open(path, ZIP_RDONLY, NULL);
    if (!zip) return itg_fail(err, ITG_IO, "%s: cannot be opened as a zip file", path);
    zip_int64_t count = zip_get_num_entries(zip, 0);
    itg_status status = ITG_OK;
    for (zip_int64_t i = 0; i < count && i < CASE_ARRAYS && status == ITG_OK; i++)
        if (!read_member(zip, (zip_uint64_t)i, &c->arrays[c->array_count++]))
            status = itg_fail(err, ITG_BAD_FILE, "%s: member %d is no array", path, (int)i);
    zip_discard(zip);
    return status;
}

itg_status case_open(const char *stem, cmsis_case *out, itg_error *err)
{
    char path[4096];
    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "%s.json", stem);
    itg_status status = itg_json_read(path, LARGEST, &out->json, err);
    snprintf(path, sizeof path, "%s.npz", stem);
    if (status == ITG_OK) status = read_arrays(path, out, err);
    if (status != ITG_OK) case_close(out);
    return status;
}

void case_close(cmsis_case *c)
{
    itg_json_destroy(c->json);
    for (int32_t i = 0; i < CASE_ARRAYS; i++)
        free(c->arrays[i].data);
    memset(c, 0, sizeof *c);
}

/* prefix and name in `out`, which is returned. */
static const char *full_name(const char *prefix, const char *name, char out[CASE_NAME])
{
    snprintf(out, CASE_NAME, "%s%s", prefix ? prefix : "", name);
    return out;
}

const case_array *case_find(const cmsis_case *c, const char *name)
{
    char full[CASE_NAME];
    for (int32_t i = 0; i < c->array_count; i++)
        if (strcmp(c->arrays[i].name, full_name(c->array_prefix, name, full)) == 0)
            return &c->arrays[i];
    return NULL;
}

bool case_has(const cmsis_case *c, const char *key)
{
    char full[CASE_NAME];
    return itg_json_find(itg_json_root(c->json), full_name(c->key_prefix, key, full)) != NULL;
}

int64_t case_int(const cmsis_case *c, const char *key, int64_t otherwise)
{
    char full[CASE_NAME];
    const itg_json_value *v =
        itg_json_find(itg_json_root(c->json), full_name(c->key_prefix, key, full));
    int64_t out = otherwise;
    if (v &&
        itg_json_get_int(c->json, v, -((int64_t)1 << 53), (int64_t)1 << 53, &out, NULL) != ITG_OK)
        return otherwise;
    return out;
}

const char *case_text(const cmsis_case *c, const char *key)
{
    const itg_json_value *v = itg_json_find(itg_json_root(c->json), key);
    const char *text = "";
    if (v && itg_json_get_string(c->json, v, &text, NULL) != ITG_OK) return "";
    return text;
}
