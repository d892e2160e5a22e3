/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cffi */
/* Compilers install signal handlers; the host's have to stay. They are remembered before the
 * driver works; handlers that lead into the library at `path` afterwards, or into LLVM's, are
 * replaced. */
void signals_remember(void);
void signals_give_back(const char *path);
/* cffi */
/* Called around each kernel that the driver runs. */
void signals_kernel_begins(void);
void signals_kernel_ends(void);
