/* SPDX-License-Identifier: Apache-2.0
 *
 * The address of each function of include/CL, the core's included, by its name (generated). */
#ifndef FPGART_EXTENSIONS_H
#define FPGART_EXTENSIONS_H

void *fpgart_address_of(const char *name);

#endif
