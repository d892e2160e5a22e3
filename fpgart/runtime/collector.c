/* SPDX-License-Identifier: Apache-2.0
 *
 * fpgart._collector: Python's collector, off while some thread needs that (fpgart/locks.py). An
 * extension module of its own, because both functions have to be one step for the interpreter:
 * between counting and switching nobody may collect, nor another thread come in. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static long holders;
static int was_on;
static _Thread_local long mine;

static PyObject *hold_off(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    mine++;
    if (holders++ == 0)
        was_on = PyGC_Disable();
    else
        PyGC_Disable(); /* the host may have switched it on meanwhile */
    Py_RETURN_NONE;
}

static PyObject *let_go(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    if (mine == 0)
        Py_RETURN_FALSE;
    mine--;
    if (--holders == 0 && was_on)
        PyGC_Enable();
    Py_RETURN_TRUE;
}

static PyMethodDef functions[] = {
    {"hold_off", hold_off, METH_NOARGS, "Switch the collector off until let_go()."},
    {"let_go", let_go, METH_NOARGS,
     "The opposite, in the same thread; False, and nothing, in one that does not hold it off."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_collector", NULL, -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__collector(void)
{
    return PyModule_Create(&definition);
}
