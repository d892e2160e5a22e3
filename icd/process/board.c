/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter of the board process. It starts as the driver's does, and only this file calls
 * it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "board.h"
#include "interpreter.h"

const char fpgart_loss[] = "no board process";
void *const fpgart_doors[] = {(void *)fpgart_serve_session};

void fpgart_entered(void)
{
}

int fpgart_start_embedding(void)
{
    return 0;
}

int fpgart_busy(void)
{
    return 1;
}

int fpgart_settle(void)
{
    return 1;
}

int fpgart_shut_down(void)
{
    return 1;
}

int fpgart_serve_session(int descriptor, const char *engine)
{
    struct fpgart_visit visit;
    if (!fpgart_enter(&visit))
        return 1;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *module = PyImport_ImportModule("fpgart.boardprocess.loading");
    PyObject *done = module != NULL ? PyObject_CallMethod(module, "serve", "iis", descriptor,
                                                          fpgart_is_secure(), engine)
                                    : NULL;
    if (done == NULL)
        PyErr_Print();
    int failed = done == NULL;
    Py_XDECREF(done);
    Py_XDECREF(module);
    PyGILState_Release(gil);
    fpgart_leave(&visit);
    return failed;
}
