/* Images as samples: folders of PNG and JPEG files, decoded and resized to one shape. Private to
 * the readers of data. docs/data.md is the reference. */
#ifndef ITG_IMAGE_H
#define ITG_IMAGE_H
#include "sim/reader.h"

/* Bytes of a file, and pixels of an image, at most. */
#define ITG_IMAGE_FILE_BYTES ((size_t)1 << 28)
#define ITG_IMAGE_PIXELS ((int64_t)1 << 26)

/* 8 bits a channel, [height][width][channels]; 1: grey, 3: red, green, blue. */
typedef struct itg_image {
    int32_t width, height, channels;
    unsigned char *pixels; /* malloc'd */
} itg_image;

/* The colours as the file has them: grey or RGB; alpha is left out, of 16 bits the high byte stays.
 * ITG_BAD_FILE, with name and reason; ITG_UNSUPPORTED: another format, or a build without it;
 * ITG_LIMIT. */
itg_status itg_image_decode(const unsigned char *data, size_t bytes, const char *name,
                            itg_image *out, itg_error *err);
/* To width x height: a triangle filter as wide as a source pixel, or as an output pixel where that
 * is wider; columns first, then rows, each rounded to 8 bits; weights are multiples of 2^-22.
 * Pillow's BILINEAR to the new width, then to the new height, gives the same bits. Replaces the
 * pixels. */
itg_status itg_image_resize(itg_image *image, int32_t width, int32_t height, itg_error *err);
/* To grey (L = (19595 R + 38470 G + 7471 B + 32768) / 65536) or RGB; replaces the pixels. */
itg_status itg_image_recolour(itg_image *image, int32_t channels, itg_error *err);

/* images.c: a folder as an array u8 [images, ...]. entry: the shape of a sample, "3x224x224" or
 * "224x224x3", behind it "@256" for the shorter side before a crop of the middle; NULL: what the
 * first image has, which all must have; "classes": the class of each image, s64 [images]. */
bool itg_images_is(const char *path); /* it is a folder */
itg_status itg_images_open(const char *entry, itg_reader *reader, itg_array_header *out,
                           itg_error *err);
#endif
