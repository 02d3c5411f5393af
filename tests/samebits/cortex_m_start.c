/* What stands before main on a Cortex-M under QEMU: two vectors, and newlib's console by semihosting.
 * A fault finds no handler and stops the machine: the emulator ends, and the check fails. */
#include <stdlib.h>

extern unsigned char stack_top[];
extern void initialise_monitor_handles(void);
extern int main(void);
void start(void);
void _fini(void);

/* newlib's exit calls it; the usual one stands in what -nostartfiles leaves out. */
void _fini(void) {}

void start(void)
{
    initialise_monitor_handles();
    exit(main());
}

struct vectors {
    const void *stack;
    void (*reset)(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {stack_top, start};
