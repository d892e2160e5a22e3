/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The only function of libfpgart_board: serves the host at the other end of a socket until it
 * closes that (fpgart/boardprocess). `engine`: the file of the driver that will be opened, or
 * "". Returns 0, or 1 if Python cannot be started. */
int fpgart_serve_session(int descriptor, const char *engine);
