/* A plugin of QEMU 7 or later: counts the instructions that a program executes, and prints the
 * number on standard error at its end. Prototypes are those of QEMU's <qemu-plugin.h>, API version
 * 1, which Debian does not ship. scripts/bench_aarch64.sh builds and uses it. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*translated)(qemu_plugin_id_t,
                                                              struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int add, void *to,
                                              uint64_t value);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*end)(qemu_plugin_id_t, void *),
                                    void *data);

EXPORT int qemu_plugin_version = 1;
int EXPORT qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments);

static uint64_t executed;

static void count_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
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
    (void)count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_atexit_cb(id, print_count, NULL);
    return 0;
}
