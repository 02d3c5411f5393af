/* Reads and writes whole files (POSIX). */
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY_NAMES = 100 };

const char *itg_errno_text(int number, char buffer[ITG_ERRNO_TEXT])
{
    if (strerror_r(number, buffer, ITG_ERRNO_TEXT) != 0)
        snprintf(buffer, ITG_ERRNO_TEXT, "error %d", number);
    return buffer;
}

/* Fails with "path: cannot <what>: <text of errno>". */
static itg_status fail_errno(itg_error *err, const char *path, const char *what, int number)
{
    char why[ITG_ERRNO_TEXT];
    return itg_fail(err, number == ENOMEM ? ITG_NO_MEMORY : ITG_IO, "%s: cannot %s: %s", path, what,
                    itg_errno_text(number, why));
}

/* ---- reading ---- */

/* O_NONBLOCK keeps the opening of a fifo from waiting. */
itg_status itg_file_open(const char *path, int *out, int64_t *size, itg_error *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return fail_errno(err, path, "open", errno);
    struct stat about;
    itg_status status = ITG_OK;
    if (fstat(file, &about) != 0)
        status = fail_errno(err, path, "look at it", errno);
    else if (S_ISDIR(about.st_mode))
        status = itg_fail(err, ITG_IO, "%s: is a directory, expected a file", path);
    else if (!S_ISREG(about.st_mode))
        status = itg_fail(err, ITG_IO, "%s: is no regular file", path);
    if (status != ITG_OK) {
        close(file);
        return status;
    }
    *out = file;
    *size = (int64_t)about.st_size;
    return ITG_OK;
}

itg_status itg_file_random(void *out, size_t bytes, itg_error *err)
{
    static const char path[] = "/dev/urandom";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, out, bytes) : -1;
    if (file >= 0) close(file);
    return got == (ssize_t)bytes ? ITG_OK : itg_fail(err, ITG_IO, "%s: cannot read it", path);
}

bool itg_file_is_absent(const char *path)
{
    struct stat about;
    return stat(path, &about) != 0 && errno == ENOENT;
}

static bool grow(unsigned char **data, size_t *capacity, size_t wanted)
{
    unsigned char *grown = realloc(*data, wanted);
    if (!grown) return false;
    *data = grown;
    *capacity = wanted;
    return true;
}

static itg_status fail_large(itg_error *err, const char *path, size_t max_bytes)
{
    return itg_fail(err, ITG_LIMIT, "%s: is larger than %zu bytes", path, max_bytes);
}

/* Reads to the end, whatever size was announced: files in /proc announce 0, others may grow.
 * capacity always leaves a byte for the terminating zero. */
static itg_status read_all(int file, const char *path, size_t announced, size_t max_bytes,
                           unsigned char **data, size_t *bytes, itg_error *err)
{
    size_t capacity = 0, used = 0;
    /* One byte for the zero, and one to see the end without growing. */
    if (!grow(data, &capacity, announced + 2)) goto no_memory;
    for (;;) {
        if (used + 1 == capacity) {
            if (capacity > SIZE_MAX / 2) goto no_memory;
            if (!grow(data, &capacity, capacity * 2)) goto no_memory;
        }
        ssize_t got = read(file, *data + used, capacity - 1 - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(err, path, "read", errno);
        if (got == 0) break;
        used += (size_t)got;
        if (used > max_bytes) return fail_large(err, path, max_bytes);
    }
    (*data)[used] = 0;
    *bytes = used;
    return ITG_OK;
no_memory:
    return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to read it", path);
}

itg_status itg_file_read(const char *path, size_t max_bytes, unsigned char **out, size_t *out_bytes,
                         itg_error *err)
{
    int file = -1;
    int64_t size = 0;
    itg_status status = itg_file_open(path, &file, &size, err);
    if (status != ITG_OK) return status;
    unsigned char *data = NULL;
    size_t bytes = 0;
    if (size < 0 || (uint64_t)size > max_bytes || (uint64_t)size > SIZE_MAX - 2)
        status = fail_large(err, path, max_bytes);
    else
        status = read_all(file, path, (size_t)size, max_bytes, &data, &bytes, err);
    close(file);
    if (status != ITG_OK) {
        free(data);
        return status;
    }
    *out = data;
    *out_bytes = bytes;
    return ITG_OK;
}

/* ---- writing ---- */

/* Returns 0 or errno. */
static int write_all(int file, const unsigned char *data, size_t bytes)
{
    while (bytes > 0) {
        size_t piece = bytes < ((size_t)1 << 30) ? bytes : (size_t)1 << 30;
        ssize_t wrote = write(file, data, piece);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return errno;
        data += wrote;
        bytes -= (size_t)wrote;
    }
    return 0;
}

/* Writes to a device, pipe or symbolic link (/dev/stdout is one), which a rename would remove. */
static itg_status write_through(const char *path, const void *data, size_t bytes, itg_error *err)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (file < 0) return fail_errno(err, path, "open for writing", errno);
    int number = write_all(file, data, bytes);
    if (number == 0 && fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        number = errno;
    if (close(file) != 0 && number == 0) number = errno;
    return number ? fail_errno(err, path, "write", number) : ITG_OK;
}

/* Returns the length of the path of the folder with its last '/'; 0: the current folder. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Creates a file in the path's folder. Its name is independent of the path's, which may have the
 * maximum length. Returns the descriptor, or -1 with errno. */
static int create_temporary(const char *path, char *name, size_t size)
{
    for (int i = 0; i < TEMPORARY_NAMES; i++) {
        snprintf(name, size, "%.*s.itg-%ld-%d.tmp", (int)folder_length(path), path, (long)getpid(),
                 i);
        int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

/* Failures are ignored: the file is in place, and some file systems cannot sync a folder. */
static void sync_folder(const char *path)
{
    size_t length = folder_length(path);
    char *folder = length ? strndup(path, length) : strdup(".");
    if (!folder) return;
    int file = open(folder, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)fsync(file);
        close(file);
    }
    free(folder);
}

/* Fills the temporary file and renames it. Returns 0, or errno with *what failed. */
static int fill_and_rename(int file, const char *temporary, const char *path, const mode_t *mode,
                           const void *data, size_t bytes, const char **what)
{
    *what = "write";
    int number = write_all(file, data, bytes);
    if (number == 0 && mode && fchmod(file, *mode) != 0) number = errno;
    if (number == 0 && fsync(file) != 0 && errno != EINVAL) number = errno;
    if (close(file) != 0 && number == 0) number = errno;
    if (number != 0) return number;
    *what = "put in place";
    return rename(temporary, path) == 0 ? 0 : errno;
}

/* Replaces or makes a file. mode: of the replaced file; NULL: there is none. */
static itg_status replace(const char *path, const mode_t *mode, const void *data, size_t bytes,
                          itg_error *err)
{
    size_t size = folder_length(path) + 64;
    char *temporary = malloc(size);
    if (!temporary) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to write it", path);
    const char *what = "create";
    int file = create_temporary(path, temporary, size);
    int number = file < 0 ? errno : 0;
    if (file >= 0) {
        number = fill_and_rename(file, temporary, path, mode, data, bytes, &what);
        if (number != 0) unlink(temporary);
    }
    free(temporary);
    if (number != 0) return fail_errno(err, path, what, number);
    sync_folder(path);
    return ITG_OK;
}

itg_status itg_file_write(const char *path, const void *data, size_t bytes, itg_error *err)
{
    if (strlen(path) > 4096) return itg_fail(err, ITG_IO, "%.64s...: path too long", path);
    struct stat about;
    if (lstat(path, &about) != 0) {
        if (errno != ENOENT) return fail_errno(err, path, "look at it", errno);
        return replace(path, NULL, data, bytes, err);
    }
    if (S_ISDIR(about.st_mode)) return itg_fail(err, ITG_IO, "%s: is a directory", path);
    if (!S_ISREG(about.st_mode)) return write_through(path, data, bytes, err);
    mode_t mode = about.st_mode & 0777;
    return replace(path, &mode, data, bytes, err);
}

char *itg_path_beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0, length = strlen(name) + 1;
    char *out = malloc(folder + length);
    if (!out) return NULL;
    memcpy(out, path, folder);
    memcpy(out + folder, name, length);
    return out;
}

char *itg_path_in(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (path) snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}
