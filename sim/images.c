/* A folder of images as an array. Images stand in the folder itself, sorted by name; or in
 * sub-folders, which are classes, numbered as their names are sorted: then the first image of each
 * class comes first, then the second of each, so that the first N samples have all classes alike.
 * Names are compared byte by byte. One image is in memory at a time. */
#include "sim/image.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_IMAGES = 1 << 24, MOST_CLASSES = 1 << 20, MOST_SIDE = 1 << 14 };

typedef struct file {
    char *path;
    int32_t place, class; /* sorted by place, then by class */
} file;

typedef struct folder {
    file *files;
    int64_t count, capacity;
    bool has_classes, gives_classes;
    /* what a sample is */
    int32_t channels, height, width;
    int32_t shorter; /* side before the crop; 0: the image is resized to the sample's sides */
    bool channels_last, exact; /* exact: nothing is resized */
    /* reading */
    int64_t next; /* file */
    unsigned char *sample;
    size_t sample_bytes, used;
    itg_error why;
} folder;

static void close_folder(void *handle)
{
    folder *f = handle;
    for (int64_t i = 0; i < f->count; i++)
        free(f->files[i].path);
    free(f->files);
    free(f->sample);
    free(f);
}

static itg_status no_memory(const char *path, itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its names", path);
}

/* ---- names ---- */

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), n = strlen(end);
    for (size_t i = 0; i < n; i++)
        if (length < n || tolower((unsigned char)name[length - n + i]) != end[i]) return false;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static itg_status add_name(const char *path, const char *name, char ***names, int64_t *count,
                           itg_error *err)
{
    if (*count == MOST_IMAGES)
        return itg_fail(err, ITG_LIMIT, "%s: more than %d names", path, MOST_IMAGES);
    if ((*count & (*count - 1)) == 0) { /* at each power of two the room doubles */
        char **more = realloc(*names, (size_t)(*count ? 2 * *count : 1) * sizeof *more);
        if (!more) return no_memory(path, err);
        *names = more;
    }
    char *whole = itg_path_in(path, name);
    if (!whole) return no_memory(path, err);
    (*names)[(*count)++] = whole;
    return ITG_OK;
}

/* The paths of what a folder holds, sorted; names that begin with a dot are left out. */
static itg_status list(const char *path, char ***names, int64_t *count, itg_error *err)
{
    itg_status status = ITG_OK;
    DIR *dir = opendir(path);
    if (!dir) return itg_fail(err, ITG_IO, "%s: cannot open: %s", path, strerror(errno));
    for (struct dirent *e; status == ITG_OK && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.') status = add_name(path, e->d_name, names, count, err);
    closedir(dir);
    if (*names) qsort(*names, (size_t)*count, sizeof **names, compare_names);
    return status;
}

bool itg_images_is(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Takes the path over. */
static itg_status add_file(folder *f, char *path, int64_t place, int64_t class, itg_error *err)
{
    if (!ends_with(path, ".png") && !ends_with(path, ".jpg") && !ends_with(path, ".jpeg"))
        return itg_fail(err, ITG_UNSUPPORTED, "%s: neither .png, .jpg nor .jpeg by its name", path);
    if (f->count == MOST_IMAGES)
        return itg_fail(err, ITG_LIMIT, "%s: more than %d images", path, MOST_IMAGES);
    if (f->count == f->capacity) {
        int64_t capacity = f->capacity ? 2 * f->capacity : 64;
        file *more = realloc(f->files, (size_t)capacity * sizeof *more);
        if (!more) return no_memory(path, err);
        f->files = more;
        f->capacity = capacity;
    }
    f->files[f->count++] = (file){path, (int32_t)place, (int32_t) class};
    return ITG_OK;
}

static itg_status add_files(folder *f, const char *path, int64_t class, itg_error *err)
{
    char **names = NULL;
    int64_t count = 0;
    itg_status status = list(path, &names, &count, err);
    if (status == ITG_OK && count == 0) status = itg_fail(err, ITG_BAD_FILE, "%s: no images", path);
    for (int64_t i = 0; i < count && status == ITG_OK; i++) {
        if (itg_images_is(names[i]))
            status = itg_fail(err, ITG_BAD_FILE, "%s: a folder among images", names[i]);
        if (status == ITG_OK) status = add_file(f, names[i], i, class, err);
        if (status == ITG_OK) names[i] = NULL;
    }
    free_names(names, count);
    return status;
}

static int compare_files(const void *a, const void *b)
{
    const file *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->class < y->class ? -1 : x->class > y->class;
}

static itg_status find_files(folder *f, const char *path, itg_error *err)
{
    char **names = NULL;
    int64_t count = 0;
    itg_status status = list(path, &names, &count, err);
    f->has_classes = status == ITG_OK && count > 0 && itg_images_is(names[0]);
    if (f->has_classes && count > MOST_CLASSES)
        status = itg_fail(err, ITG_LIMIT, "%s: more than %d classes", path, MOST_CLASSES);
    for (int64_t i = 0; i < count && status == ITG_OK && f->has_classes; i++)
        status =
            itg_images_is(names[i])
                ? add_files(f, names[i], i, err)
                : itg_fail(err, ITG_BAD_FILE, "%s: a file among the folders of classes", names[i]);
    free_names(names, count);
    if (status == ITG_OK && !f->has_classes) status = add_files(f, path, 0, err);
    if (status == ITG_OK) qsort(f->files, (size_t)f->count, sizeof *f->files, compare_files);
    return status;
}

/* ---- a sample ---- */

static itg_status load(const file *source, itg_image *out, itg_error *err)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    itg_status status = itg_file_read(source->path, ITG_IMAGE_FILE_BYTES, &data, &bytes, err);
    if (status == ITG_OK) status = itg_image_decode(data, bytes, source->path, out, err);
    free(data);
    return status;
}

/* The middle of n that lies before a crop: half to even. */
static int32_t middle(int32_t n)
{
    return n / 2 + (n % 2 != 0 && n / 2 % 2 != 0);
}

static itg_status fit(const folder *f, itg_image *image, itg_error *err)
{
    int32_t width = f->width, height = f->height;
    if (f->exact && (image->width != width || image->height != height))
        return itg_fail(err, ITG_MISMATCH,
                        "%d x %d; expected %d x %d, as the first image has (FOLDER:%dx%dx%d "
                        "resizes all)",
                        image->width, image->height, width, height, f->channels, height, width);
    if (f->shorter > 0) {
        const bool upright = image->width <= image->height;
        const int64_t shorter = upright ? image->width : image->height;
        const int64_t longer = (upright ? image->height : image->width) * f->shorter / shorter;
        if (longer > ITG_IMAGE_PIXELS / f->shorter)
            return itg_fail(err, ITG_LIMIT, "%d x %d is too large where its shorter side is %d",
                            image->width, image->height, f->shorter);
        width = upright ? f->shorter : (int32_t)longer;
        height = upright ? (int32_t)longer : f->shorter;
    }
    itg_status status = itg_image_recolour(image, f->channels, err);
    return status == ITG_OK ? itg_image_resize(image, width, height, err) : status;
}

/* Cuts the middle out, into the sample's layout. */
static void lay_out(folder *f, const itg_image *image)
{
    const int32_t top = middle(image->height - f->height), left = middle(image->width - f->width);
    const size_t area = (size_t)f->height * (size_t)f->width, channels = (size_t)f->channels;
    for (int32_t y = 0; y < f->height; y++)
        for (int32_t x = 0; x < f->width; x++)
            for (size_t c = 0; c < channels; c++) {
                size_t pixel = (size_t)y * (size_t)f->width + (size_t)x;
                size_t from = (size_t)(y + top) * (size_t)image->width + (size_t)(x + left);
                f->sample[f->channels_last ? pixel * channels + c : c * area + pixel] =
                    image->pixels[from * channels + c];
            }
}

static bool read_sample(folder *f)
{
    const file *source = &f->files[f->next];
    itg_image image = {0};
    itg_error why = {0};
    itg_status status = load(source, &image, &f->why);
    if (status == ITG_OK) {
        status = fit(f, &image, &why);
        if (status != ITG_OK) itg_fail(&f->why, status, "%s: %s", source->path, why.message);
    }
    if (status == ITG_OK) lay_out(f, &image);
    free(image.pixels);
    return status == ITG_OK;
}

static bool next_sample(folder *f)
{
    const int64_t class = f->files[f->next].class;
    if (!f->gives_classes && !read_sample(f)) return false;
    if (f->gives_classes) memcpy(f->sample, &class, sizeof class);
    f->next++;
    f->used = 0;
    return true;
}

static int64_t read_folder(void *handle, void *out, size_t bytes)
{
    folder *f = handle;
    if (f->used == f->sample_bytes && f->next == f->count) return 0;
    if (f->used == f->sample_bytes && !next_sample(f)) return -1;
    const size_t left = f->sample_bytes - f->used, part = bytes < left ? bytes : left;
    memcpy(out, f->sample + f->used, part);
    f->used += part;
    return (int64_t)part;
}

/* ---- what a sample is ---- */

static bool take_side(const char **at, int32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)**at)) return false;
    long value = strtol(*at, &end, 10);
    *at = end;
    *out = (int32_t)value;
    return value >= 1 && value <= MOST_SIDE;
}

/* CxHxW or HxWxC, then @S. */
static bool parse_shape(const char *text, folder *f)
{
    int32_t d[3] = {0};
    for (int i = 0; i < 3; i++)
        if ((i > 0 && *text++ != 'x') || !take_side(&text, &d[i])) return false;
    const bool first = d[0] == 1 || d[0] == 3;
    f->channels_last = !first;
    f->channels = first ? d[0] : d[2];
    f->height = first ? d[1] : d[0];
    f->width = first ? d[2] : d[1];
    if (f->channels != 1 && f->channels != 3) return false;
    if (*text == '@') {
        text++;
        if (!take_side(&text, &f->shorter)) return false;
        if (f->shorter < f->height || f->shorter < f->width) return false;
    }
    return *text == '\0';
}

static itg_status choose_shape(folder *f, const char *entry, const char *path, itg_error *err)
{
    itg_image image = {0};
    if (entry)
        return parse_shape(entry, f)
                   ? ITG_OK
                   : itg_fail(err, ITG_BAD_ARGUMENT,
                              "%s: '%s': expected the shape of a sample, as in %s:3x224x224 or "
                              "%s:224x224x3@256 (1 or 3 channels; the shorter side before the crop "
                              "is no less than the sample's sides), or %s:classes",
                              path, entry, path, path, path);
    itg_status status = load(&f->files[0], &image, err);
    f->exact = true;
    f->channels = image.channels;
    f->height = image.height;
    f->width = image.width;
    free(image.pixels);
    return status;
}

static void describe(const folder *f, itg_array_header *out)
{
    const uint16_t one = 1;
    const bool classes = f->gives_classes;
    const int64_t c = f->channels, h = f->height, w = f->width;
    *out = (itg_array_header){.dtype = classes ? ITG_S64 : ITG_U8,
                              .shape = {.rank = classes ? 1 : 4, .dims = {f->count, c, h, w}},
                              .big_endian = *(const unsigned char *)&one == 0};
    if (f->channels_last) {
        out->shape.dims[1] = h;
        out->shape.dims[2] = w;
        out->shape.dims[3] = c;
    }
    if (classes) out->shape = (itg_shape){.rank = 1, .dims = {f->count}};
}

itg_status itg_images_open(const char *entry, itg_reader *reader, itg_array_header *out,
                           itg_error *err)
{
    const char *path = reader->name;
    const bool classes = entry && strcmp(entry, "classes") == 0;
    folder *f = calloc(1, sizeof *f);
    if (!f) return no_memory(path, err);
    reader->handle = f;
    reader->close = close_folder;
    reader->read = read_folder;
    reader->why = &f->why;
    itg_status status = find_files(f, path, err);
    if (status == ITG_OK && classes && !f->has_classes)
        return itg_fail(err, ITG_BAD_FILE, "%s: no sub-folders, which would be classes", path);
    if (status == ITG_OK && !classes) status = choose_shape(f, entry, path, err);
    if (status != ITG_OK) return status;
    f->gives_classes = classes;
    describe(f, out);
    f->sample_bytes =
        classes ? sizeof(int64_t) : (size_t)f->channels * (size_t)f->height * (size_t)f->width;
    f->used = f->sample_bytes;
    f->sample = malloc(f->sample_bytes);
    reader->size = reader->max_size = f->count * (int64_t)f->sample_bytes;
    return f->sample ? ITG_OK : no_memory(path, err);
}
