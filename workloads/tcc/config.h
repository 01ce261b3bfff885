/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What tcc's configure would write. */
#define TCC_VERSION "0.9.27"
#define CONFIG_TCCDIR "."
