#include "fuzz.h"
#include <stdlib.h>
#include <unistd.h>

static char folder[256], path[300];

static void remove_all(void)
{
    remove(path);
    rmdir(folder);
}

void fuzz_require(bool condition, const char *what)
{
    if (condition) return;
    fprintf(stderr, "fuzz: %s does not hold\n", what);
    abort();
}

const char *fuzz_file(const uint8_t *data, size_t bytes)
{
    if (!folder[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/itg_fuzz_XXXXXX", base && base[0] ? base : "/tmp");
        fuzz_require(mkdtemp(folder) != NULL, "a folder for files");
        snprintf(path, sizeof path, "%s/input", folder);
        atexit(remove_all);
    }
    remove(path); /* some file systems flush a file that is cut off and written again, none a new
                     one */
    FILE *file = fopen(path, "wb");
    fuzz_require(file != NULL, "a file to write");
    fuzz_require(fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0, "room for the file");
    return path;
}

void fuzz_slurp(const char *name, itg_strbuf *out)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    fuzz_require(itg_file_read(name, (size_t)1 << 26, &data, &bytes, NULL) == ITG_OK,
                 "a file to read");
    itg_strbuf_bytes(out, data, bytes);
    free(data);
}
