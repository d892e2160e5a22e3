/* SPDX-License-Identifier: Apache-2.0
 *
 * The addresses of entry points, by their names (generated). */
#ifndef FPGART_EXTENSIONS_H
#define FPGART_EXTENSIONS_H

void *fpgart_address_of(const char *name);

#endif
