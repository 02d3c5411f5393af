/* A plugin of QEMU 7 or later: counts the instructions that a program executes, and prints the
 * number on standard error at its end. With the argument mark=ADDRESS (hexadecimal), also whenever
 * the function at that address is called. Prototypes are those of QEMU's <qemu-plugin.h>, API
 * version 1, which Debian does not ship. scripts/bench_aarch64.sh and bench/cortex_m_cycles.py
 * build and use it. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*translated)(qemu_plugin_id_t,
                                                              struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int add, void *to,
                                              uint64_t value);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
                                          void (*executed)(unsigned, void *), int flags,
                                          void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*end)(qemu_plugin_id_t, void *),
                                    void *data);

EXPORT int qemu_plugin_version = 1;
int EXPORT qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments);

static uint64_t executed, mark;

static void print_mark(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    fprintf(stderr, "mark %llu\n", (unsigned long long)executed);
}

static void count_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    if (mark != 0 && qemu_plugin_tb_vaddr(block) == mark)
        qemu_plugin_register_vcpu_tb_exec_cb(block, print_mark, 0, NULL);
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &executed, qemu_plugin_tb_n_insns(block));
}

static void print_count(qemu_plugin_id_t id, void *data)
{
    (void)id;
    (void)data;
    fprintf(stderr, "instructions %llu\n", (unsigned long long)executed);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments)
{
    (void)info;
    for (int i = 0; i < count; i++)
        if (strncmp(arguments[i], "mark=", 5) == 0) mark = strtoull(arguments[i] + 5, NULL, 16);
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_atexit_cb(id, print_count, NULL);
    return 0;
}
