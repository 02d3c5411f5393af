#include "base/nearest.h"
#include <string.h>

enum { LONGEST_WORD = 32 };

/* Levenshtein distance; words are cut at LONGEST_WORD letters. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST_WORD + 1];
    int n = (int)strnlen(a, LONGEST_WORD), m = (int)strnlen(b, LONGEST_WORD);
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int replace = diagonal + (a[i - 1] != b[j - 1]), least = row[j] + 1;
            diagonal = row[j];
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            row[j] = replace < least ? replace : least;
        }
    }
    return row[m];
}

const char *itg_nearest_name(const char *word, int count,
                             const char *(*name_at)(void *context, int index), void *context)
{
    const char *best = NULL;
    int length = (int)strnlen(word, LONGEST_WORD), least = 1 + (length + 2) / 3;
    for (int i = 0; i < count; i++) {
        const char *name = name_at(context, i);
        if (!name) continue;
        int d = strncmp(name, word, strlen(word)) == 0 && length >= 2 ? 1 : distance(word, name);
        if (d < least) {
            least = d;
            best = name;
        }
    }
    return best;
}
