/* cmsis_vectors DIR: runs every case of CMSIS-NN's published vectors in DIR (NAME.json, NAME.npz)
 * through the integer kernels and compares every output element. Exit 0: nothing failed; 1:
 * something did; 77: no vectors there. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include "cmsis_run.h"

enum { MAX_CASES = 4096, NAME_BYTES = 256 };

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int list_cases(const char *folder, char (*names)[NAME_BYTES])
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && count < MAX_CASES; e = readdir(dir)) {
        size_t length = strlen(e->d_name);
        if (length < 6 || length >= NAME_BYTES || strcmp(e->d_name + length - 5, ".json") != 0)
            continue;
        memcpy(names[count], e->d_name, length - 5);
        names[count++][length - 5] = 0;
    }
    if (dir) closedir(dir);
    qsort(names, (size_t)count, NAME_BYTES, by_name);
    return count;
}

int main(int argc, char **argv)
{
    static const char *const verdicts[] = {"passed", "failed", "skipped"};
    const char *folder = argc > 1 ? argv[1] : "../shared/data/cmsis_nn_vectors";
    char(*names)[NAME_BYTES] = malloc((size_t)MAX_CASES * NAME_BYTES);
    cmsis_case *c = malloc(sizeof *c);
    int tally[3] = {0}, count = names && c ? list_cases(folder, names) : 0;
    for (int i = 0; i < count; i++) {
        char stem[4096], reason[REASON_BYTES] = "";
        itg_error err = {0};
        snprintf(stem, sizeof stem, "%s/%s", folder, names[i]);
        case_verdict verdict = CASE_FAILED;
        if (case_open(stem, c, &err) == ITG_OK) {
            verdict = case_run(c, reason);
            case_close(c);
        } else {
            snprintf(reason, sizeof reason, "%.200s", err.message);
        }
        tally[verdict]++;
        if (verdict != CASE_PASSED) printf("%s: %s: %s\n", names[i], verdicts[verdict], reason);
    }
    free(names);
    free(c);
    if (count == 0) {
        printf("skipped: no vectors in %s\n", folder);
        return 77;
    }
    printf("%d passed, %d failed, %d skipped\n", tally[CASE_PASSED], tally[CASE_FAILED],
           tally[CASE_SKIPPED]);
    return tally[CASE_FAILED] > 0;
}
