/* Runs the program as a user would, in a folder of its own that holds links to examples/. */
#ifndef ITG_TEST_CLI_DRIVER_H
#define ITG_TEST_CLI_DRIVER_H
#include "tests/base/cmocka_base.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include "base/json.h"

int enter_folder(const char *name); /* before the first test; 0: done */
int leave_folder(void);             /* removes everything */

typedef struct outcome {
    int status; /* exit status; 1000 + signal where one ended it */
    char *out, *err;
} outcome;

/* The words of line, split at blanks, behind the program's name. */
outcome run(const char *line);
outcome run_to(const char *line, const char *out_path); /* standard output goes there; out is "" */
void done(outcome *o);

/* In the background; its output is in the files "background.out" and "background.err". */
pid_t start(const char *line);
pid_t start_to(const char *line, const char *out, int err_file); /* stderr goes to an open file */
int wait_for(pid_t child);
/* For loops that wait for what `child` does: 20 ms. The test fails if the child has ended. */
void wait_while_it_runs(pid_t child);
char *text_of(const char *path); /* malloc'd; "" where there is no file */
bool exists(const char *path);
void put(const char *path, const void *data, size_t bytes);

/* status 0, nothing on stderr but what --quiet leaves, and one JSON object on stdout, which is
 * returned. Or status 3 and a sentence, where the JSON says that the goal is not met on the
 * hold-out. */
itg_json *run_json(const char *line);
/* Of a search whose goal is met: the status that fits what its text says of the hold-out. */
int held_status(const char *output);
itg_json *parse(const char *text);
/* A member that must be there, by its name; "a.b": member b of member a. */
const itg_json_value *member(const itg_json *json, const char *path);
double number(const itg_json *json, const char *path);
const char *string(const itg_json *json, const char *path);
bool truth(const itg_json *json, const char *path);
bool is_null(const itg_json *json, const char *path);
bool has(const itg_json *json, const char *key); /* of the root */

void assert_contains(const char *text, const char *part);
#endif
