/* SPDX-License-Identifier: Apache-2.0
 *
 * The address of each function of include/CL, the core's included, by its name (generated). */
#pragma once

void *fpgart_address_of(const char *name);
