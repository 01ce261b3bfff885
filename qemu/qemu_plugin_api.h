/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What our plugins use of QEMU's plugin interface, version 1 (QEMU 4.2 to 8.2).
 *
 * Distributions ship QEMU without its header, so the few declarations needed are here. The
 * functions are in the QEMU program itself, which loads the plugin.
 */
#ifndef TRIMTAB_QEMU_PLUGIN_API_H
#define TRIMTAB_QEMU_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_API_VERSION 1
#define PLUGIN_EXPORT __attribute__((visibility("default")))

/* Names this plugin to QEMU. */
typedef uint64_t qemu_plugin_id_t;

/* What QEMU says of itself when it loads a plugin. */
typedef struct qemu_info_t {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	union {
		struct {
			int smp_vcpus;
			int max_vcpus;
		} system;
	};
} qemu_info_t;

/* Valid only while the call that hands it over lasts. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;

/* What can be done inline when a block runs. */
enum qemu_plugin_op {
	QEMU_PLUGIN_INLINE_ADD_U64,
};

typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_udata_cb_t)(qemu_plugin_id_t id, void *userdata);

/* The plugin provides these two. */
extern int qemu_plugin_version;
int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

/* Asks to be called each time a block is translated, which is just before it first runs. */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t cb);

/* Adds imm to *ptr each time the block starts to run. Not atomic. */
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, enum qemu_plugin_op op,
					      void *ptr, uint64_t imm);

/* What a callback may do with registers. */
enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,
	QEMU_PLUGIN_CB_R_REGS,
	QEMU_PLUGIN_CB_RW_REGS,
};

typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int vcpu_index, void *userdata);

/* Asks to be called each time the block starts to run. */
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
					  enum qemu_plugin_cb_flags flags, void *userdata);

/* Asks to be called each time the instruction is about to run. */
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    qemu_plugin_vcpu_udata_cb_t cb,
					    enum qemu_plugin_cb_flags flags, void *userdata);

/* What an access to memory is. */
typedef uint32_t qemu_plugin_meminfo_t;

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

/* Which accesses. */
enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_R = 1,
	QEMU_PLUGIN_MEM_W,
	QEMU_PLUGIN_MEM_RW,
};

typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned int vcpu_index, qemu_plugin_meminfo_t info,
					  uint64_t vaddr, void *userdata);

/* Asks to be called each time the instruction has accessed memory. */
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *userdata);

typedef void (*qemu_plugin_vcpu_simple_cb_t)(qemu_plugin_id_t id, unsigned int vcpu_index);

/* Asks to be called each time a CPU has nothing to do. */
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb);

/* Asks to be called once when QEMU ends. */
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb, void *userdata);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

/* Its bytes. */
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);

/* Where QEMU itself has the instruction in memory. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);

#endif
