#include "cli/staging.h"
#include "cli/common.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static itg_status no_memory(itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY, "no memory for a file name");
}

/* Returns a and b joined, malloc'd. */
static char *join(const char *a, const char *b)
{
    size_t bytes = strlen(a) + strlen(b) + 1;
    char *text = malloc(bytes);
    if (text) snprintf(text, bytes, "%s%s", a, b);
    return text;
}

/* ---- the folder ---- */

itg_status itg_cli_staging_open(const char *path, itg_cli_staging *out, itg_error *err)
{
    enum { NAMES = 100 };
    const char *slash = strrchr(path, '/');
    *out = (itg_cli_staging){.place = strndup(path, slash ? (size_t)(slash - path) + 1 : 0)};
    for (int i = 0; i < NAMES && out->place; i++) {
        char name[64];
        snprintf(name, sizeof name, ".itg-%ld-%d.tmp/", (long)getpid(), i);
        out->folder = join(out->place, name);
        if (!out->folder) break;
        if (mkdir(out->folder, 0777) == 0) return ITG_OK;
        free(out->folder);
        out->folder = NULL;
        if (errno != EEXIST)
            return itg_fail(err, ITG_IO, "%.300s: cannot create: %s", path, strerror(errno));
    }
    return out->place && out->folder
               ? no_memory(err)
               : itg_fail(err, ITG_IO, "%.300s: cannot create a folder beside it", path);
}

char *itg_cli_staged(const itg_cli_staging *staging, const char *name)
{
    return join(staging->folder, name);
}

/* Replaces the temporary folder in a message. */
static void tell_places(const itg_cli_staging *staging, itg_error *err)
{
    const char *name = staging->folder + strlen(staging->place);
    size_t length = strlen(name);
    for (char *at = strstr(err->message, name); at; at = strstr(at, name))
        memmove(at, at + length, strlen(at + length) + 1);
}

void itg_cli_staging_close(itg_cli_staging *staging, itg_error *err)
{
    DIR *listing = staging->folder ? opendir(staging->folder) : NULL;
    for (struct dirent *e = listing ? readdir(listing) : NULL; e; e = readdir(listing))
        (void)unlinkat(dirfd(listing), e->d_name, 0);
    if (listing) closedir(listing);
    if (staging->folder) {
        (void)rmdir(staging->folder);
        if (err) tell_places(staging, err);
    }
    free(staging->folder);
    free(staging->place);
    *staging = (itg_cli_staging){0};
}

/* ---- moving ---- */

/* Moves a file. A link stays a link, and the file gets the mode of the one that it replaces.
 * Returns 0 or an errno. */
static int move(const char *from, const char *to)
{
    struct stat about;
    char *real = itg_cli_follow_links(to);
    int number = real ? 0 : ENOMEM;
    if (real && stat(real, &about) == 0) {
        if (S_ISDIR(about.st_mode)) number = EISDIR;
        if (S_ISREG(about.st_mode) && chmod(from, about.st_mode & 0777) != 0) number = errno;
    }
    if (number == 0 && rename(from, real) != 0) number = errno;
    free(real);
    return number;
}

/* Best effort: some file systems cannot sync a folder. */
static void sync_folder(const char *path)
{
    int file = open(*path ? path : ".", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    (void)fsync(file);
    close(file);
}

itg_status itg_cli_staging_finish(const itg_cli_staging *staging, const char *const *names,
                                  int count, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int i = 0; i < count && status == ITG_OK; i++) {
        char *from = itg_cli_staged(staging, names[i]), *to = join(staging->place, names[i]);
        int number = from && to ? move(from, to) : ENOMEM;
        if (number != 0)
            status = itg_fail(err, ITG_IO, "%s%s: cannot put in place: %s", staging->place,
                              names[i], strerror(number));
        free(from);
        free(to);
        for (int k = 0; k < i && status != ITG_OK; k++) {
            char *moved = join(staging->place, names[k]);
            if (moved) (void)unlink(moved);
            free(moved);
        }
    }
    sync_folder(staging->place);
    return status;
}

/* ---- a program ---- */

static itg_status write_staged(const itg_program *program, const itg_model *model,
                               const itg_strategy_file *file, const char *path,
                               const char *certificate, itg_error *err)
{
    itg_program *back = NULL;
    itg_status status = itg_program_save(program, model, file, path, err);
    if (status == ITG_OK) status = itg_program_open(path, &back, err);
    itg_program_destroy(back); /* it can be read */
    return status == ITG_OK ? itg_certify(path, certificate, err) : status;
}

itg_status itg_cli_write_program(const itg_program *program, const itg_model *model,
                                 const itg_strategy_file *file, const char *path, itg_error *err)
{
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return itg_fail(err, ITG_IO, "%.300s: is %s", path,
                        S_ISDIR(about.st_mode) ? "a directory" : "no regular file");
    itg_cli_staging staging = {0};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *certificate = itg_certificate_path(name), *staged[2] = {NULL, NULL};
    itg_status status = certificate ? itg_cli_staging_open(path, &staging, err) : no_memory(err);
    if (status == ITG_OK) {
        staged[0] = itg_cli_staged(&staging, name);
        staged[1] = itg_cli_staged(&staging, certificate);
        status = staged[0] && staged[1]
                     ? write_staged(program, model, file, staged[0], staged[1], err)
                     : no_memory(err);
    }
    if (status == ITG_OK)
        status = itg_cli_staging_finish(&staging, (const char *const[]){certificate, name}, 2, err);
    itg_cli_staging_close(&staging, err);
    free(staged[0]);
    free(staged[1]);
    itg_free(certificate);
    return status;
}
