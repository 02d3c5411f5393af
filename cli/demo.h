/* State that cmd_demo.c fills and demo_report.c prints. */
#ifndef ITG_CLI_DEMO_H
#define ITG_CLI_DEMO_H
#include "cli/cmd_search.h"

enum {
    ITG_CLI_DEMO_MODEL,
    ITG_CLI_DEMO_DATA,
    ITG_CLI_DEMO_LABELS,
    ITG_CLI_DEMO_HOLDOUT,
    ITG_CLI_DEMO_HOLDOUT_LABELS,
    ITG_CLI_DEMO_STRATEGY,
    ITG_CLI_DEMO_PROGRAM,
    ITG_CLI_DEMO_LOG,
    ITG_CLI_DEMO_FILES,
    ITG_CLI_DEMO_WORDS = 32,
    ITG_CLI_DEMO_STEPS = 3 /* search, realize, run */
};

/* One command line, behind "intaglio". */
typedef struct itg_cli_demo_words {
    const char *words[ITG_CLI_DEMO_WORDS];
    int count;
} itg_cli_demo_words;

typedef struct itg_cli_demo_work {
    const itg_cli_args *args;
    char folder[512], paths[ITG_CLI_DEMO_FILES][576];
    char seed[24], threads[24];
    itg_cli_demo_words commands[ITG_CLI_DEMO_STEPS];
    itg_cli_args search_args;
    itg_cli_search_work search;
    bool searched; /* search is to be closed */
    itg_score ran; /* the program on the hold-out */
} itg_cli_demo_work;

void itg_cli_demo_begin(const itg_cli_demo_work *demo);
/* Prints one of the command lines, quoted for a shell. */
void itg_cli_demo_show(const itg_cli_demo_work *demo, int step);
int itg_cli_demo_text(const itg_cli_demo_work *demo);
int itg_cli_demo_json(const itg_cli_demo_work *demo);
#endif
