/* Refuses commands that would overwrite a file that they read, or write a file twice. The list of
 * files is complete before the first is written: arguments, options by their kind, SQLite's files
 * beside a database, and names that the command derives from these.
 *
 * Names are compared as files: links are followed, and a name that does not exist yet is a folder
 * and a name in it. It is not known whether that folder is case-sensitive, so two new files may not
 * differ in case alone. */
#include "cli/common.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct entry {
    itg_cli_file file;
    bool exists;
    struct stat about; /* of the file; where it does not exist, of its folder */
    const char *name;  /* in that folder */
    char *owned;       /* file.path, where nobody else owns it */
} entry;

typedef struct list {
    entry *entries;
    int count, capacity;
    bool failed;
} list;

/* ---- names ---- */

char *itg_cli_follow_links(const char *path)
{
    enum { LINKS = 40 };
    char target[PATH_MAX], *at = strdup(path);
    for (int i = 0; at && i < LINKS; i++) {
        ssize_t length = readlink(at, target, sizeof target - 1);
        if (length < 0) break;
        target[length] = '\0';
        const char *slash = *target == '/' ? NULL : strrchr(at, '/');
        size_t folder = slash ? (size_t)(slash - at) + 1 : 0;
        char *next = malloc(folder + (size_t)length + 1);
        if (next) sprintf(next, "%.*s%s", (int)folder, at, target);
        free(at);
        at = next;
    }
    return at;
}

/* Looks up the file. If it does not exist, looks up the folder of the name that links lead to; if
 * that does not exist either, keeps the name as it is. */
static bool look(entry *e)
{
    if (stat(e->file.path, &e->about) == 0) return e->exists = true;
    char *target = itg_cli_follow_links(e->file.path), *folder = target ? strdup(target) : NULL;
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash) slash[slash == folder] = '\0';
    bool found = folder && stat(slash ? folder : ".", &e->about) == 0;
    if (!found) memset(&e->about, 0, sizeof e->about);
    if (target && folder) e->name = strdup(slash && found ? strrchr(target, '/') + 1 : target);
    free(folder);
    free(target);
    return e->name != NULL;
}

/* Whether both are the same file. Devices and pipes may be named twice. */
static bool is_same(const entry *a, const entry *b)
{
    if (a->exists != b->exists || a->about.st_dev != b->about.st_dev ||
        a->about.st_ino != b->about.st_ino)
        return false;
    return a->exists ? S_ISREG(a->about.st_mode) : strcasecmp(a->name, b->name) == 0;
}

/* ---- the list ---- */

/* Adds a file. owned: malloc'd; NULL without memory. */
static void add(list *l, itg_cli_file file, char *owned)
{
    if (l->count == l->capacity) {
        int capacity = l->capacity ? 2 * l->capacity : 32;
        entry *grown = realloc(l->entries, sizeof *grown * (size_t)capacity);
        l->failed |= !grown;
        if (grown) {
            l->entries = grown;
            l->capacity = capacity;
        }
    }
    if (l->count == l->capacity || !file.path) {
        l->failed = true;
        free(owned);
        return;
    }
    entry *e = &l->entries[l->count++];
    *e = (entry){.file = file, .owned = owned};
    l->failed |= !look(e);
}

/* Adds the files beside a database. SQLite names them after the target of a link. */
static void add_beside_database(list *l, const char *path)
{
    static const char *const beside[][2] = {{"-journal", "the journal of --db"},
                                            {"-wal", "the write-ahead log of --db"},
                                            {"-shm", "the shared memory of --db"}};
    char *target = itg_cli_follow_links(path);
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        size_t bytes = target ? strlen(target) + strlen(beside[i][0]) + 1 : 0;
        char *name = bytes ? malloc(bytes) : NULL;
        if (name) snprintf(name, bytes, "%s%s", target, beside[i][0]);
        add(l, (itg_cli_file){name, beside[i][1], true}, name);
    }
    free(target);
}

static const char *const dashed[ITG_CLI_OPTION_COUNT] = {
#define ITG_CLI_OPTION(id, name, letter, kind, argument, preset, min, max, help) "--" name,
#include "cli/options.def"
#undef ITG_CLI_OPTION
};

/* Adds the files in a text such as FILE:ARRAY or INPUT=FILE[:ARRAY],... Takes ownership of text. */
static void add_data(list *l, char *text, const char *what)
{
    const bool is_list = text && strchr(text, '=');
    for (char *item = text, *next; item; item = next) {
        next = is_list ? strchr(item, ',') : NULL;
        if (next) *next++ = '\0';
        char *equals = strchr(item, '='), *file = strdup(equals ? equals + 1 : item);
        char *colon = file ? strrchr(file, ':') : NULL;
        if (colon && access(file, F_OK) != 0) *colon = '\0';
        add(l, (itg_cli_file){file, what, false}, file);
    }
    l->failed |= !text;
    free(text);
}

static void add_options(list *l, const itg_cli_args *args)
{
    for (int i = 0; i < ITG_CLI_OPTION_COUNT; i++) {
        itg_cli_kind kind = itg_cli_option_spec((itg_cli_option)i)->kind;
        bool written = kind == ITG_CLI_WRITTEN || kind == ITG_CLI_DATABASE;
        if ((!written && kind != ITG_CLI_READ) ||
            !itg_cli_takes(args->command, (itg_cli_option)i) || !args->values[i].text)
            continue;
        if (written || access(args->values[i].text, F_OK) == 0)
            add(l, (itg_cli_file){args->values[i].text, dashed[i], written}, NULL);
        else
            add_data(l, strdup(args->values[i].text), dashed[i]);
        if (kind == ITG_CLI_DATABASE) add_beside_database(l, args->values[i].text);
    }
}

/* ---- the check ---- */

/* Returns the other file that the file at `index` would overwrite; NULL if there is none. */
static const entry *overwritten(const list *l, int index)
{
    for (int i = 0; i < l->count; i++)
        if ((!l->entries[i].file.written || i < index) && i != index &&
            is_same(&l->entries[i], &l->entries[index]))
            return &l->entries[i];
    return NULL;
}

static itg_status check(const list *l, itg_error *err)
{
    for (int i = 0; i < l->count; i++) {
        const itg_cli_file *file = &l->entries[i].file;
        const entry *other = file->written ? overwritten(l, i) : NULL;
        if (other)
            return itg_fail(err, ITG_BAD_ARGUMENT, "%.60s %.200s would overwrite %.200s",
                            file->what, file->path, other->file.what);
    }
    return ITG_OK;
}

itg_status itg_cli_keep_apart(const itg_cli_args *args, const itg_cli_file *more, int count,
                              itg_error *err)
{
    list l = {0};
    for (int i = 0; i < args->argument_count; i++)
        add(&l, (itg_cli_file){args->arguments[i], args->command->arguments[i], false}, NULL);
    add_options(&l, args);
    for (int i = 0; i < count; i++)
        add(&l, more[i], NULL);
    itg_status status =
        l.failed ? itg_fail(err, ITG_NO_MEMORY, "no memory to compare file names") : check(&l, err);
    for (int i = 0; i < l.count; i++) {
        free(l.entries[i].owned);
        free((void *)(uintptr_t)l.entries[i].name);
    }
    free(l.entries);
    return status;
}

itg_status itg_cli_keep_data_files(const itg_cli_args *args, const itg_model *model, itg_error *err)
{
    int32_t count = 0;
    while (itg_model_data_file(model, count))
        count++;
    itg_cli_file *files = calloc((size_t)count + 1, sizeof *files);
    if (!files) return itg_fail(err, ITG_NO_MEMORY, "no memory to compare file names");
    for (int32_t i = 0; i < count; i++)
        files[i] = (itg_cli_file){itg_model_data_file(model, i), "data of the model", false};
    itg_status status = count > 0 ? itg_cli_keep_apart(args, files, count, err) : ITG_OK;
    free(files);
    return status;
}

int itg_cli_check_files(const itg_cli_args *args, const itg_cli_file *more, int count)
{
    itg_error err = {0};
    itg_status status = itg_cli_keep_apart(args, more, count, &err);
    if (status == ITG_BAD_ARGUMENT) return itg_cli_fail_usage(args->command, "%s", err.message);
    return status == ITG_OK ? ITG_CLI_OK : itg_cli_fail_error(&err);
}
