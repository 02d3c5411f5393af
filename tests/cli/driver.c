#include "driver.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the folder ---- */

static void empty_folder(const char *path)
{
    DIR *listing = opendir(path);
    for (struct dirent *e = listing ? readdir(listing) : NULL; e; e = readdir(listing)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (unlinkat(dirfd(listing), e->d_name, 0) == 0) continue;
        char name[4096];
        snprintf(name, sizeof name, "%.3000s/%.255s", path, e->d_name);
        empty_folder(name);
        rmdir(name);
    }
    if (listing) closedir(listing);
}

static char folder[4096];

int enter_folder(const char *name)
{
    char root[2048], from[4096], to[4096];
    snprintf(folder, sizeof folder, "%s/itg-test-cli-%s-XXXXXX", TEST_FOLDER, name);
    if (!getcwd(root, sizeof root) || !mkdtemp(folder)) return -1;
    DIR *listing = opendir("examples");
    for (struct dirent *e = listing ? readdir(listing) : NULL; e; e = readdir(listing)) {
        if (e->d_name[0] == '.') continue;
        snprintf(from, sizeof from, "%s/examples/%.255s", root, e->d_name);
        snprintf(to, sizeof to, "%.2000s/%.255s", folder, e->d_name);
        if (symlink(from, to) != 0) return -1;
    }
    if (!listing) return -1;
    closedir(listing);
    return chdir(folder);
}

int leave_folder(void)
{
    empty_folder(folder);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

char *text_of(const char *path)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    if (itg_file_read(path, 1 << 26, &data, &bytes, NULL) != ITG_OK) return strdup("");
    return (char *)data;
}

bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

void put(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* ---- processes ---- */

enum { MOST_WORDS = 64 };

static void redirect(const char *path, int to)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, to) < 0) _exit(126);
    close(file);
}

/* err: a file's name, or NULL for the file that is open as err_file. */
static pid_t launch(const char *line, const char *out, const char *err, int err_file)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    char words[4096], *argv[MOST_WORDS + 2] = {(char *)(uintptr_t) "intaglio"};
    int count = 1;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word && count <= MOST_WORDS; word = strtok(NULL, " "))
        argv[count++] = word;
    redirect(out, STDOUT_FILENO);
    if (err)
        redirect(err, STDERR_FILENO);
    else if (dup2(err_file, STDERR_FILENO) < 0)
        _exit(126);
    execv(INTAGLIO, argv);
    _exit(127);
}

int wait_for(pid_t child)
{
    int how = 0;
    while (waitpid(child, &how, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 1000 + WTERMSIG(how);
}

void wait_while_it_runs(pid_t child)
{
    int how = 0;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (waitpid(child, &how, WNOHANG) == 0) return;
    char *err = text_of("background.err");
    fail_msg("the program in the background has ended: %s", err);
    free(err);
}

pid_t start(const char *line)
{
    return launch(line, "background.out", "background.err", -1);
}

pid_t start_to(const char *line, const char *out, int err_file)
{
    return launch(line, out, NULL, err_file);
}

outcome run_to(const char *line, const char *out_path)
{
    outcome o = {0};
    o.status = wait_for(launch(line, out_path, "run.err", -1));
    o.out = strdup("");
    o.err = text_of("run.err");
    return o;
}

outcome run(const char *line)
{
    outcome o = run_to(line, "run.out");
    free(o.out);
    o.out = text_of("run.out");
    return o;
}

void done(outcome *o)
{
    free(o->out);
    free(o->err);
}

void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in: %s", part, text);
}

/* ---- JSON ---- */

itg_json *parse(const char *text)
{
    itg_json *json = NULL;
    itg_error err = {0};
    if (itg_json_parse(text, strlen(text), "stdout", &json, &err) != ITG_OK)
        fail_msg("%s in: %s", err.message, text);
    assert_int_equal(itg_json_typeof(itg_json_root(json)), ITG_JSON_OBJECT);
    return json;
}

itg_json *run_json(const char *line)
{
    outcome o = run(line);
    if (o.status != 0 && o.status != 3) fail_msg("%s: status %d: %s", line, o.status, o.err);
    itg_json *json = parse(o.out);
    bool is_search = has(json, "limited_by") || has(json, "commands"); /* or demo */
    bool fails =
        is_search && has(json, "goal_met_on_holdout") && !truth(json, "goal_met_on_holdout");
    assert_int_equal(o.status, fails ? 3 : 0);
    if (o.status == 3)
        assert_contains(o.err, "the goal is met on the search samples alone: on the hold-out it ");
    else
        assert_string_equal(o.err, "");
    done(&o);
    return json;
}

int held_status(const char *output)
{
    if (strstr(output, "goal: ") &&
        strstr(output, "; met on the search samples, NOT on the hold-out"))
        return 3;
    assert_contains(output, "; met on the search samples and on the hold-out\n");
    return 0;
}

const itg_json_value *member(const itg_json *json, const char *path)
{
    const itg_json_value *v = itg_json_root(json);
    char key[64];
    while (*path) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        v = itg_json_find(v, key);
        if (!v) fail_msg("there is no member '%s'", key);
        path += length + (path[length] == '.');
    }
    return v;
}

double number(const itg_json *json, const char *path)
{
    double value = 0;
    itg_error err = {0};
    if (itg_json_get_number(json, member(json, path), &value, &err) != ITG_OK)
        fail_msg("%s: %s", path, err.message);
    return value;
}

const char *string(const itg_json *json, const char *path)
{
    const char *value = NULL;
    itg_error err = {0};
    if (itg_json_get_string(json, member(json, path), &value, &err) != ITG_OK)
        fail_msg("%s: %s", path, err.message);
    return value;
}

bool truth(const itg_json *json, const char *path)
{
    bool value = false;
    itg_error err = {0};
    if (itg_json_get_bool(json, member(json, path), &value, &err) != ITG_OK)
        fail_msg("%s: %s", path, err.message);
    return value;
}

bool is_null(const itg_json *json, const char *path)
{
    return itg_json_typeof(member(json, path)) == ITG_JSON_NULL;
}

bool has(const itg_json *json, const char *key)
{
    return itg_json_find(itg_json_root(json), key) != NULL;
}
