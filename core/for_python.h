/* SPDX-License-Identifier: Apache-2.0
 *
 * Words in front of the declarations that libfpgart.so's Python sees, too. build_icd.py looks for
 * them in the headers, and declares to cffi what follows. */
#pragma once

/* A function that Python calls, or a type. The interpreter's lock is released during the call,
 * which may wait, call hosts or use much memory. */
#define FOR_PYTHON
/* A function that Python calls with the interpreter's lock, because it takes little time and waits
 * for no thread that may need the lock. Each release of the lock costs two switches of threads if
 * many threads call. */
#define AT_ONCE
/* A function in Python, which C calls. */
#define OF_PYTHON
