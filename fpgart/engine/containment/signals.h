/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_SIGNALS_H
#define FPGART_SIGNALS_H
/* cffi */
/* Compilers install signal handlers; the host's have to stay. Remember them before the driver
 * works, and give back those that now lead into the library at `path`, or into LLVM's. */
void signals_remember(void);
void signals_give_back(const char *path);
/* cffi */
/* Around each kernel that the driver runs. */
void signals_kernel_begins(void);
void signals_kernel_ends(void);
#endif
