/* Emitted sources in FOLDER, which the test defines before, compiled by TEST_CC and run. */
#ifndef ITG_TEST_EMITTED_H
#define ITG_TEST_EMITTED_H
#include "tests/slow.h"
#include "realize/emit/emit.h"
#include <stdlib.h>
#include <sys/stat.h>

#define FLAGS                                                                                      \
    "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -fsanitize=undefined "                 \
    "-fno-sanitize-recover=all"

static bool has_compiler(void)
{
    static const char probe[] = "echo 'int main(void){return 0;}' | " TEST_CC
                                " -fsanitize=undefined -xc - -o " FOLDER "/probe 2>/dev/null";
    (void)mkdir(FOLDER, 0777);
    return system(probe) == 0;
}

/* Compiles every file of one name together and runs the test. Where the tests themselves run under
 * sanitizers, which see nothing of that program, one in three. */
static void compile_and_run(const char *name, const char *flags, uint64_t seed)
{
    static int calls = 0;
    char command[1024];
    if (ITG_IS_SLOW && calls++ % 3 != 0) return;
    snprintf(command, sizeof command,
             TEST_CC " %s " FOLDER "/%s.c " FOLDER "/%s_selftest.c -o " FOLDER "/%s && " FOLDER
                     "/%s > " FOLDER "/%s.txt",
             flags, name, name, name, name, name);
    if (system(command) != 0)
        fail_msg("%s (seed %llu): %s", name, (unsigned long long)seed, command);
}

static bool emits(const itg_program *p, const char *name, int32_t samples, itg_error *err)
{
    itg_emit_vectors vectors = {samples, NULL};
    itg_status status = itg_program_emit_c(p, name, &vectors, FOLDER, NULL, err);
    if (status == ITG_OK) return true;
    assert_int_equal(status, ITG_UNSUPPORTED);
    return false;
}

#endif
