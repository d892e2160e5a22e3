/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The variable with the address of the host's `atomic_int`, which says what has happened. */
#define STAGE "STATIC_ENGINE_STAGE"
/* The variable with the path of static_library.c. */
#define LIBRARY "STATIC_ENGINE_LIBRARY"
enum { NOT_USED, USED, EXITING };
/* Exit statuses. */
enum { IN_ORDER = 7, DESTROYED = 3 };
