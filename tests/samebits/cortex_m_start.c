/* What stands before main on a Cortex-M under QEMU: the vectors, and newlib's console by
 * semihosting. Floating point and vectors are switched on. A fault ends the emulator with status
 * 3. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

extern unsigned char stack_top[];
extern void initialise_monitor_handles(void);
extern int main(void);
void start(void);
void fault(void);
void _fini(void);

/* newlib's exit calls it; the usual one stands in what -nostartfiles leaves out. */
void _fini(void) {}

void start(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    *(volatile uint32_t *)0xE000ED88 |= 0xFU << 20; /* CPACR: coprocessors 10 and 11 */
    __asm volatile("dsb\n isb");
#endif
    initialise_monitor_handles();
    exit(main());
}

void fault(void)
{
    _exit(3);
}

struct vectors {
    const void *stack;
    void (*reset)(void);
    void (*faults[5])(void); /* NMI, hard, memory, bus, usage */
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    stack_top, start, {fault, fault, fault, fault, fault}};
