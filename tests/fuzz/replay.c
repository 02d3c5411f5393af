/* The main of fuzz targets without libFuzzer:
 *   fuzz_x FILE...               each file once
 *   fuzz_x --mutations N [SEED]  the valid inputs, each of them cut off at many places, and N
 * seeded mutations of them fuzz_x --seeds FOLDER        writes the valid inputs there: a first
 * corpus for libFuzzer */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_SEEDS = 64, CUTS = 64 };

static int read_seeds(itg_strbuf *seeds)
{
    int count = 0;
    while (count < MOST_SEEDS && fuzz_seed(count, &seeds[count])) {
        REQUIRE(itg_strbuf_ok(&seeds[count]) && seeds[count].length > 0);
        count++;
    }
    REQUIRE(count > 0);
    return count;
}

/* A copy of its own size, so that a sanitizer sees a read past its end. */
static void try_bytes(const char *text, size_t bytes)
{
    uint8_t *copy = malloc(bytes ? bytes : 1);
    REQUIRE(copy != NULL);
    if (bytes) memcpy(copy, text, bytes);
    LLVMFuzzerTestOneInput(copy, bytes);
    free(copy);
}

static void run_mutations(const itg_strbuf *seeds, int count, int64_t mutations, uint64_t seed)
{
    itg_rng rng;
    itg_rng_init(&rng, seed);
    for (int i = 0; i < count; i++) {
        try_bytes(seeds[i].text, seeds[i].length);
        for (size_t k = 0; k < CUTS; k++)
            try_bytes(seeds[i].text, seeds[i].length * k / CUTS);
    }
    for (int64_t i = 0; i < mutations; i++) {
        const itg_strbuf *from = &seeds[itg_rng_below(&rng, (uint64_t)count)],
                         *other = &seeds[itg_rng_below(&rng, (uint64_t)count)];
        itg_strbuf data = {0};
        itg_strbuf_bytes(&data, from->text, from->length);
        fuzz_mutate(&rng, &data, other);
        if (getenv("ITG_FUZZ_KEEP")) { /* the input that crashes is then the last one written */
            FILE *file = fopen(getenv("ITG_FUZZ_KEEP"), "wb");
            if (file) {
                fwrite(data.text, 1, data.length, file);
                fclose(file);
            }
        }
        try_bytes(data.text, data.length);
        itg_strbuf_deinit(&data);
    }
}

static void write_seeds(const itg_strbuf *seeds, int count, const char *folder)
{
    for (int i = 0; i < count; i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s/seed_%02d", folder, i);
        REQUIRE(itg_file_write(path, seeds[i].text, seeds[i].length, NULL) == ITG_OK);
    }
}

int main(int argc, char **argv)
{
    static itg_strbuf seeds[MOST_SEEDS];
    int count = 0;
    if (argc >= 3 && argv[1][0] == '-') count = read_seeds(seeds);
    if (argc >= 3 && strcmp(argv[1], "--mutations") == 0) {
        run_mutations(seeds, count, strtoll(argv[2], NULL, 10),
                      argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    } else if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        write_seeds(seeds, count, argv[2]);
    } else {
        for (int i = 1; i < argc; i++) {
            itg_strbuf data = {0};
            fuzz_slurp(argv[i], &data);
            try_bytes(data.text, data.length);
            itg_strbuf_deinit(&data);
        }
    }
    for (int i = 0; i < count; i++)
        itg_strbuf_deinit(&seeds[i]);
    return 0;
}
