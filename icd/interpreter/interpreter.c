/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter in a host's process: its start (beside the host's, if there is one), the
 * message if it cannot start, fork, exit. */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "interpreter.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_STACK (128 << 10)
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define PYTHON_SERIES STRING(PY_MAJOR_VERSION) "." STRING(PY_MINOR_VERSION)

atomic_int fpgart_state = FPGART_NOT_STARTED;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int owns_interpreter;

int fpgart_owns_interpreter(void)
{
    return owns_interpreter;
}

/* Finds the standard library of libpython in the folders above libpython. PATH and PYTHONHOME
 * have no effect. */
static int find_home(char home[PATH_MAX])
{
    Dl_info info;
    char probe[PATH_MAX + 64];
    if (dladdr((void *)(uintptr_t)&Py_InitializeFromConfig, &info) == 0 || info.dli_fname == NULL ||
        realpath(info.dli_fname, home) == NULL)
        return 0;
    while (home[0] != '\0') {
        fpgart_cut_last_component(home);
        snprintf(probe, sizeof probe, "%s/lib/python" PYTHON_SERIES "/os.py", home);
        if (access(probe, R_OK) == 0)
            return 1;
    }
    return 0;
}

/* Imports `signal`, which sets a handler for SIGINT at its first import if there is none.
 * Some package always imports it; here that has no effect on the host. */
static void import_signals(void)
{
    struct sigaction before;
    int known = sigaction(SIGINT, NULL, &before) == 0;
    PyObject *module = PyImport_ImportModule("_signal");
    if (module == NULL)
        PyErr_Clear();
    Py_XDECREF(module);
    if (known)
        sigaction(SIGINT, &before, NULL);
}

int fpgart_start_thread(void *(*run)(void *), void *given)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, NULL, run, given);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed && pthread_detach(thread) == 0;
}

/* Moves a folder from descriptor 0. Python refuses to start if standard input is a folder; in
 * a program without standard input that is the folder in which the loader searches for
 * drivers. Returns the folder's new descriptor, -1 for none. */
static int hide_folder_in_place_of_input(void)
{
    struct stat found;
    if (fstat(STDIN_FILENO, &found) != 0 || !S_ISDIR(found.st_mode))
        return -1;
    int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (kept >= 0 && nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    if (nothing >= 0)
        close(nothing);
    return kept;
}

static void bring_folder_back(int kept)
{
    if (kept < 0)
        return;
    dup3(kept, STDIN_FILENO, O_CLOEXEC);
    close(kept);
}

static int start_own_interpreter(void)
{
    char home[PATH_MAX];
    char executable[PATH_MAX + 64];
    if (!find_home(home)) {
        fpgart_complain("the standard library of Python " PYTHON_SERIES
                        " is missing (Debian, Ubuntu: apt install libpython" PYTHON_SERIES
                        "-stdlib)");
        return 0;
    }
    snprintf(executable, sizeof executable, "%s/lib/python" PYTHON_SERIES, home);
    if (!fpgart_may_use_or_complain(executable))
        return 0;
    snprintf(executable, sizeof executable, "%s/bin/python" PYTHON_SERIES, home);
    /* Names of files are UTF-8 whatever the locale: most hosts never set one, which would make
     * them ASCII. */
    PyPreConfig before;
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    PyStatus status = Py_PreInitialize(&before);
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.install_signal_handlers = 0;
    config.site_import = 0;
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(&config, &config.home, home);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(&config, &config.program_name, executable);
    int folder = hide_folder_in_place_of_input();
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    bring_folder_back(folder);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) {
        fpgart_complain("Python " PYTHON_SERIES " did not start: %s",
                        status.err_msg != NULL ? status.err_msg : "no reason given");
        return 0;
    }
    owns_interpreter = 1;
    import_signals();
    PyEval_SaveThread();
    return 1;
}

static void add_search_directory(const char *directory)
{
    if (!fpgart_may_use_folder(directory))
        return;
    PyObject *path = PySys_GetObject("path");
    PyObject *entry = PyUnicode_DecodeFSDefault(directory);
    if (path == NULL || entry == NULL || PySequence_Contains(path, entry) != 0 ||
        PyList_Append(path, entry) != 0)
        PyErr_Clear();
    Py_XDECREF(entry);
}

static int ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), wanted = strlen(end);
    return length >= wanted && strcmp(name + length - wanted, end) == 0;
}

/* Adds the folders of the host's packages: cffi may be there, and engines that are installed
 * as wheels. */
static void add_packages_of_host(PyObject *path)
{
    Py_ssize_t count = path != NULL && PyList_Check(path) ? PyList_GET_SIZE(path) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *entry = PyList_GET_ITEM(path, i);
        const char *name = PyUnicode_Check(entry) ? PyUnicode_AsUTF8(entry) : NULL;
        if (name == NULL)
            PyErr_Clear();
        else if (ends_with(name, "/site-packages") || ends_with(name, "/dist-packages"))
            add_search_directory(name);
    }
}

void fpgart_add_search_directories(void *host_path)
{
    char packages[PATH_MAX];
    fpgart_packages_directory(packages);
    add_search_directory(packages);
    if (fpgart_recorded("packages", packages) && access(packages, R_OK) == 0)
        add_search_directory(packages);
    add_packages_of_host(host_path);
}

static int has_file(const char *directory, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, R_OK) == 0;
}

static atomic_int told_of_python;

static const void *library_of(void *function, const char **name)
{
    Dl_info info;
    *name = "?";
    if (dladdr(function, &info) == 0)
        return NULL;
    if (info.dli_fname != NULL)
        *name = info.dli_fname;
    return info.dli_fbase;
}

/* Returns 0 if libpython would call functions of another Python: PyPy's library has some of
 * CPython's, for itself, and the dynamic linker finds those first. */
static int is_one_python(void)
{
    void *functions[] = {(void *)(uintptr_t)&PyArg_ValidateKeywordArguments,
                         (void *)(uintptr_t)&PyThread_tss_create,
                         (void *)(uintptr_t)&PyState_FindModule};
    const char *ours, *other;
    const void *library = library_of((void *)(uintptr_t)&Py_InitializeFromConfig, &ours);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (library_of(functions[i], &other) != library) {
            if (!atomic_exchange(&told_of_python, 1))
                fpgart_complain("this process has another Python in it (%s), whose functions the "
                                "driver's Python would call instead of its own; start the program "
                                "with LD_PRELOAD=%s",
                                other, ours);
            return 0;
        }
    }
    return 1;
}

int fpgart_looks_installed(void)
{
    char home[PATH_MAX], packages[PATH_MAX], recorded[PATH_MAX];
    fpgart_packages_directory(packages);
    return is_one_python() && find_home(home) && has_file(packages, "fpgart/api/__init__.py") &&
           (fpgart_has_cffi(packages, PYTHON_SERIES) ||
            (fpgart_recorded("packages", recorded) && fpgart_has_cffi(recorded, PYTHON_SERIES)));
}

static int refused;
static int settled; /* all work had ended at the end */

void fpgart_refuse(const char *reason)
{
    refused = 1;
    fpgart_complain("%s (`fpgart doctor` checks the installation)", reason);
}

/* Also if another thread was starting the interpreter: it does not exist in the child, and
 * its work must neither be used nor repeated, as pthread_once() would do. */
static void after_fork_in_child(void)
{
    if (fpgart_state != FPGART_FAILED)
        fpgart_state = FPGART_FORKED;
}

static void close_driver(void)
{
    if (fpgart_state != FPGART_RUNNING)
        return;
    settled = fpgart_shut_down();
    fpgart_state = FPGART_CLOSED;
}

/* Called by Python's atexit of the host. */
static PyObject *host_ends(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    struct fpgart_visit visit;
    if (fpgart_running() && fpgart_go_in(&visit)) {
        settled = fpgart_settle();
        fpgart_go_out(&visit);
    }
    Py_RETURN_NONE;
}

static int tell_when_host_ends(void)
{
    static PyMethodDef definition = {"fpgart_settle", host_ends, METH_NOARGS, NULL};
    PyObject *function = PyCFunction_New(&definition, NULL);
    PyObject *module = PyImport_ImportModule("atexit");
    PyObject *done = NULL;
    if (function != NULL && module != NULL)
        done = PyObject_CallMethod(module, "register", "O", function);
    if (done == NULL)
        PyErr_Clear();
    Py_XDECREF(function);
    Py_XDECREF(module);
    Py_XDECREF(done);
    return done != NULL;
}

static int move_in(void)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type, *value, *traceback; /* an exception of the host may be set */
    PyErr_Fetch(&type, &value, &traceback);
    int done = fpgart_become_guest() && tell_when_host_ends();
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(gil);
    if (!done)
        fpgart_complain("Python " PYTHON_SERIES " could not create an interpreter for the driver");
    return done;
}

/* Up to Python 3.11 cffi uses the version of the type of capsules as a lock, which is free
 * while it is 0, and waits for that in a loop. Looking up an attribute of a capsule sets a
 * version for good. The interpreter's lock is held, so that no thread does that meanwhile. */
static void free_lock_of_cffi(void)
{
#if PY_VERSION_HEX < 0x030C0000
    PyType_Modified(&PyCapsule_Type);
    PyCapsule_Type.tp_version_tag = 0;
#endif
}

static int start_embedding(void)
{
    struct fpgart_visit visit;
    if (!fpgart_go_in(&visit)) /* a guest enters with the interpreter's lock */
        return 0;
    if (!fpgart_is_guest()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        fpgart_add_search_directories(NULL);
        free_lock_of_cffi();
        PyGILState_Release(gil);
    } else {
        free_lock_of_cffi();
    }
    if (fpgart_start_embedding() != 0)
        fpgart_refuse("the driver's Python side did not start");
    fpgart_go_out(&visit);
    return !refused;
}

static void start(void)
{
    char packages[PATH_MAX];
    pthread_atfork(NULL, NULL, after_fork_in_child);
    fpgart_state = FPGART_STARTING;
    fpgart_packages_directory(packages);
    if (!fpgart_may_use_or_complain(fpgart_library_directory()) ||
        !fpgart_may_use_or_complain(packages) || !is_one_python() ||
        !(Py_IsInitialized() ? move_in() : start_own_interpreter()) || !start_embedding()) {
        fpgart_state = FPGART_FAILED;
        return;
    }
    fpgart_state = FPGART_RUNNING;
    fpgart_guest_runs();
    /* A host written in Python ends through Python's atexit, registered there. */
    fpgart_close_at_exit();
}

/* Starts the driver once. A thread that waits for another one to do that releases the host's
 * interpreter, which that thread needs. */
static void start_once(void)
{
    PyThreadState *host = NULL;
    if (Py_IsInitialized() && fpgart_holds_interpreter())
        host = PyEval_SaveThread();
    pthread_once(&once, start);
    if (host != NULL)
        PyEval_RestoreThread(host);
}

/* Registers the handler that closes the driver. exit() calls handlers in reverse order, and
 * this one has to run before those of the engine's libraries, so it is registered again after
 * each of them (engine/containment/exits.c). */
void fpgart_close_at_exit(void)
{
    if (owns_interpreter)
        atexit(close_driver);
}

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

int fpgart_running(void)
{
    return fpgart_state == FPGART_RUNNING &&
           (owns_interpreter || (Py_IsInitialized() && !Py_IsFinalizing()));
}

int fpgart_ending(void)
{
    return fpgart_state == FPGART_CLOSED || (fpgart_state == FPGART_RUNNING && !fpgart_running());
}

int fpgart_settled(void)
{
    return settled;
}

int fpgart_in_python_host(void)
{
    return !owns_interpreter && Py_IsInitialized();
}

/* The lowest address of this thread's stack, and the lowest with LEAST_STACK bytes below it. */
static __thread uintptr_t stack_begin, stack_enough;

static void find_stack(void)
{
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t size = 0;
    stack_enough = 1;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
        stack_begin = (uintptr_t)begin;
        stack_enough = stack_begin + LEAST_STACK;
    }
    pthread_attr_destroy(&attributes);
}

/* Returns 1 if the stack is large enough for Python and compilers. The bounds of other stacks
 * (signals, coroutines) are unknown. */
int fpgart_has_stack(void)
{
    static atomic_int told;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (stack_enough == 0)
        find_stack();
    if (here >= stack_enough || here < stack_begin)
        return 1;
    if (!atomic_exchange(&told, 1))
        fpgart_complain("a thread has %zu bytes of stack left, but calls need at least %d: give "
                        "it a larger stack (ulimit -s, pthread_attr_setstacksize)",
                        (size_t)(here - stack_begin), LEAST_STACK);
    return 0;
}

void fpgart_disable_cancel(int *before)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, before);
}

void fpgart_restore_cancel(int before)
{
    pthread_setcancelstate(before, NULL);
}

static int slip_in(struct fpgart_visit *visit)
{
    fpgart_disable_cancel(&visit->cancel_state);
    if (fpgart_has_stack() && fpgart_running() && fpgart_go_in(visit))
        return 1;
    fpgart_restore_cancel(visit->cancel_state);
    return 0;
}

static void start_if_needed(void)
{
    int cancel_state;
    if (fpgart_state != FPGART_NOT_STARTED && fpgart_state != FPGART_STARTING)
        return;
    fpgart_disable_cancel(&cancel_state);
    if (fpgart_has_stack())
        start_once();
    fpgart_restore_cancel(cancel_state);
}

static _Thread_local uint64_t visits;

uint64_t fpgart_visits(void)
{
    return visits;
}

int fpgart_enter(struct fpgart_visit *visit)
{
    start_if_needed();
    if (!slip_in(visit)) {
        visits++;
        return 0;
    }
    fpgart_entered();
    return 1;
}

void fpgart_leave(const struct fpgart_visit *visit)
{
    fpgart_go_out(visit);
    visits++;
    if (fpgart_is_guest())
        fpgart_wake_switchers();
    fpgart_restore_cancel(visit->cancel_state);
}
