/* PNG by libpng, JPEG by libjpeg-turbo, told apart by their first bytes. */
#include "sim/image.h"
#include <stdlib.h>
#include <string.h>
#if defined(ITG_WITH_PNG)
#include <png.h>
#endif
#if defined(ITG_WITH_JPEG)
#include <turbojpeg.h>
#endif

#if defined(ITG_WITH_PNG) || defined(ITG_WITH_JPEG)
static itg_status new_image(int64_t width, int64_t height, int32_t channels, const char *name,
                            itg_image *out, itg_error *err)
{
    if (width < 1 || height < 1) return itg_fail(err, ITG_BAD_FILE, "%s: an empty image", name);
    if (width > ITG_IMAGE_PIXELS / height)
        return itg_fail(err, ITG_LIMIT, "%s: an image of %lld x %lld; the limit is %lld pixels",
                        name, (long long)width, (long long)height, (long long)ITG_IMAGE_PIXELS);
    *out = (itg_image){(int32_t)width, (int32_t)height, channels,
                       malloc((size_t)(width * height * channels))};
    return out->pixels ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "%s: no memory", name);
}
#endif

/* ---- PNG ---- */
#if defined(ITG_WITH_PNG)
typedef struct png_work {
    const unsigned char *data;
    size_t left;
    const char *name;
    itg_image *out;
    itg_error *err;
    itg_status status;
    png_bytep *rows;
} png_work;

static void on_png_error(png_structp png, png_const_charp why)
{
    png_work *w = png_get_error_ptr(png);
    w->status = itg_fail(w->err, ITG_BAD_FILE, "%s: damaged PNG: %.120s", w->name, why);
    png_longjmp(png, 1);
}

static void on_png_warning(png_structp png, png_const_charp why)
{
    (void)png, (void)why;
}

static void read_png_bytes(png_structp png, png_bytep out, size_t bytes)
{
    png_work *w = png_get_io_ptr(png);
    if (bytes > w->left) png_error(png, "the file ends within it");
    memcpy(out, w->data, bytes);
    w->data += bytes;
    w->left -= bytes;
}

/* libpng leaves it by longjmp where the file is damaged; everything lies in *w. */
static void read_png(png_structp png, png_infop info, png_work *w)
{
    if (setjmp(png_jmpbuf(png))) return;
    png_set_read_fn(png, w, read_png_bytes);
    png_set_user_limits(png, 1 << 24, 1 << 24);
    png_set_chunk_malloc_max(png, 1 << 24);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    const png_uint_32 height = png_get_image_height(png, info);
    w->status = new_image(png_get_image_width(png, info), height, png_get_channels(png, info),
                          w->name, w->out, w->err);
    if (w->status != ITG_OK) return;
    w->rows = malloc(height * sizeof *w->rows);
    if (!w->rows) {
        w->status = itg_fail(w->err, ITG_NO_MEMORY, "%s: no memory", w->name);
        return;
    }
    for (png_uint_32 y = 0; y < height; y++)
        w->rows[y] = w->out->pixels + (size_t)y * (size_t)w->out->width * (size_t)w->out->channels;
    png_read_image(png, w->rows);
    png_read_end(png, NULL);
}

static itg_status decode_png(const unsigned char *data, size_t bytes, const char *name,
                             itg_image *out, itg_error *err)
{
    png_work w = {data, bytes, name, out, err, ITG_OK, NULL};
    png_structp png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &w, on_png_error, on_png_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (info)
        read_png(png, info, &w);
    else
        w.status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory", name);
    png_destroy_read_struct(&png, &info, NULL);
    free(w.rows);
    return w.status;
}
#else
static itg_status decode_png(const unsigned char *data, size_t bytes, const char *name,
                             itg_image *out, itg_error *err)
{
    (void)data, (void)bytes, (void)out;
    return itg_fail(err, ITG_UNSUPPORTED, "%s: this intaglio was built without libpng", name);
}
#endif

/* ---- JPEG ---- */
#if defined(ITG_WITH_JPEG)
static itg_status read_jpeg(tjhandle jpeg, const unsigned char *data, size_t bytes,
                            const char *name, itg_image *out, itg_error *err)
{
    int width, height, sampling, colours;
    if (tjDecompressHeader3(jpeg, data, (unsigned long)bytes, &width, &height, &sampling,
                            &colours) != 0)
        return itg_fail(err, ITG_BAD_FILE, "%s: damaged JPEG: %.120s", name, tjGetErrorStr2(jpeg));
    if (colours == TJCS_CMYK || colours == TJCS_YCCK)
        return itg_fail(err, ITG_UNSUPPORTED, "%s: a JPEG in CMYK; expected grey or colour", name);
    const bool grey = colours == TJCS_GRAY;
    itg_status status = new_image(width, height, grey ? 1 : 3, name, out, err);
    if (status != ITG_OK) return status;
    if (tjDecompress2(jpeg, data, (unsigned long)bytes, out->pixels, width, 0, height,
                      grey ? TJPF_GRAY : TJPF_RGB,
                      TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) == 0)
        return ITG_OK;
    return itg_fail(err, ITG_BAD_FILE, "%s: damaged JPEG: %.120s", name, tjGetErrorStr2(jpeg));
}

static itg_status decode_jpeg(const unsigned char *data, size_t bytes, const char *name,
                              itg_image *out, itg_error *err)
{
    tjhandle jpeg = tjInitDecompress();
    if (!jpeg) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory", name);
    itg_status status = read_jpeg(jpeg, data, bytes, name, out, err);
    tjDestroy(jpeg);
    return status;
}
#else
static itg_status decode_jpeg(const unsigned char *data, size_t bytes, const char *name,
                              itg_image *out, itg_error *err)
{
    (void)data, (void)bytes, (void)out;
    return itg_fail(err, ITG_UNSUPPORTED, "%s: this intaglio was built without libjpeg-turbo",
                    name);
}
#endif

itg_status itg_image_decode(const unsigned char *data, size_t bytes, const char *name,
                            itg_image *out, itg_error *err)
{
    static const unsigned char png[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    itg_image made = {0};
    itg_status status;
    if (bytes >= sizeof png && memcmp(data, png, sizeof png) == 0)
        status = decode_png(data, bytes, name, &made, err);
    else if (bytes >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF)
        status = decode_jpeg(data, bytes, name, &made, err);
    else
        return itg_fail(err, ITG_UNSUPPORTED, "%s: neither PNG nor JPEG by its first bytes", name);
    if (status == ITG_OK)
        *out = made;
    else
        free(made.pixels);
    return status;
}
