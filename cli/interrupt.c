#include "cli/interrupt.h"
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Set by the signal handler: whether it was called, and when (in seconds). */
static volatile sig_atomic_t interrupted, interrupted_at;

static int seconds_now(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)(now.tv_sec & 0x3fffffff);
}

static void interrupt(int number)
{
    static const char text[] =
        "\nintaglio: stopping; what was found is kept. Once more to stop at once\n";
    (void)number;
    interrupted_at = seconds_now();
    interrupted = 1;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return; /* nobody to tell */
}

/* The first signal restores the default action, so the second one ends the process. */
void itg_cli_catch_interrupts(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupt;
    action.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool itg_cli_is_interrupted(void)
{
    return interrupted != 0;
}

int itg_cli_interrupted_for(void)
{
    return interrupted ? seconds_now() - interrupted_at : 0;
}
