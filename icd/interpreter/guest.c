/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver as a guest in a host that is written in Python. It has an interpreter of its own
 * there (a sub-interpreter that shares the lock of the host's), which a thread of the host
 * enters with each call and leaves at its end. So no signal handler of the host and no
 * destructor that the host's collector runs can come between two steps of the driver: CPython
 * runs those in the host's interpreter only.
 *
 * A thread has a state in each of the two interpreters. Python stores in a pthread key the one
 * that PyGILState_Ensure() uses. Here that key always names the state of the interpreter that
 * the thread is in, in the driver and in callbacks of the host. */
#define Py_BUILD_CORE 1 /* for two members of _PyRuntime, each checked before its use */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <internal/pycore_runtime.h>

#include "interpreter.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if PY_VERSION_HEX < 0x030D0000
#define PyThreadState_GetUnchecked _PyThreadState_UncheckedGet
#endif

const PyConfig *_Py_GetConfig(void); /* not in the headers of every version */

static int is_guest;
static PyInterpreterState *interpreter; /* the driver's */
static pthread_key_t current_state_key; /* Python's; find_key() finds it */
static pthread_key_t driver_state_key;  /* the driver's: its destructor runs when threads end */

static __thread PyThreadState *driver_state; /* of this thread, in the driver's interpreter */
static __thread PyThreadState *host_state;   /* that this thread had when it entered the driver */

int fpgart_is_guest(void)
{
    return is_guest;
}

static void name_state(PyThreadState *state)
{
    pthread_setspecific(current_state_key, state);
}

int fpgart_holds_interpreter(void)
{
    PyThreadState *state = PyGILState_GetThisThreadState();
    return state != NULL && state == PyThreadState_GetUnchecked();
}

int fpgart_may_wait_for_interpreter(void)
{
    return !fpgart_is_guest() || fpgart_holds_interpreter();
}

/* Changes the interpreter while the thread holds the lock. Since 3.12 PyThreadState_Swap()
 * releases the lock while the thread still counts as its holder, which the preloaded library
 * would observe. */
static void change_to(PyThreadState *state)
{
#if PY_VERSION_HEX < 0x030C0000
    PyThreadState_Swap(state);
#else
    PyEval_SaveThread();
    PyEval_RestoreThread(state);
#endif
}

/* States of threads that have ended. Freeing one needs the interpreter's lock, for which an
 * ending thread must not wait. So the next thread that has the lock frees it. */
struct ended_thread {
    PyThreadState *state;
    struct ended_thread *next;
};
static _Atomic(struct ended_thread *) ended_threads;

static void thread_ends(void *state)
{
    struct ended_thread *ended = malloc(sizeof *ended);
    driver_state = NULL; /* a later destructor of the thread may call once more */
    if (ended == NULL)
        return; /* one state stays */
    ended->state = state;
    ended->next = atomic_load(&ended_threads);
    while (!atomic_compare_exchange_weak(&ended_threads, &ended->next, ended))
        ;
}

static void free_ended(void)
{
    struct ended_thread *ended = atomic_exchange(&ended_threads, NULL);
    while (ended != NULL) {
        struct ended_thread *next = ended->next;
        PyThreadState_Clear(ended->state);
        PyThreadState_Delete(ended->state);
        free(ended);
        ended = next;
    }
    name_state(driver_state); /* since 3.12 deleting a state forgets that of the caller */
}

static int have_state(void)
{
    if (driver_state == NULL) {
        driver_state = PyThreadState_New(interpreter);
        pthread_setspecific(driver_state_key, driver_state);
    }
    return driver_state != NULL;
}

int fpgart_go_in(struct fpgart_visit *visit)
{
    visit->host = host_state;
    visit->held = 0;
    if (!is_guest)
        return 1;
    PyThreadState *state = PyGILState_GetThisThreadState();
    visit->held = fpgart_holds_interpreter();
    if (!have_state())
        return 0;
    host_state = state;
    name_state(driver_state);
    if (visit->held)
        change_to(driver_state);
    else
        PyEval_RestoreThread(driver_state);
    if (atomic_load(&ended_threads) != NULL)
        free_ended();
    return 1;
}

void fpgart_go_out(const struct fpgart_visit *visit)
{
    if (!is_guest)
        return;
    if (visit->held)
        change_to(host_state);
    else
        PyEval_SaveThread();
    name_state(host_state);
    host_state = visit->host;
}

/* C also calls out on threads that have not entered the driver: they are outside already. */
void fpgart_call_out(struct fpgart_excursion *excursion)
{
    PyThreadState *state = is_guest ? PyGILState_GetThisThreadState() : NULL;
    excursion->begins = state != NULL && PyThreadState_GetInterpreter(state) == interpreter;
    if (!excursion->begins)
        return;
    excursion->driver = driver_state;
    excursion->host = host_state;
    /* On a thread of the driver, Python made the state; calls in the callback use it, too. */
    driver_state = state;
    name_state(host_state);
}

void fpgart_call_back(const struct fpgart_excursion *excursion)
{
    if (!excursion->begins)
        return;
    name_state(driver_state);
    driver_state = excursion->driver;
    host_state = excursion->host;
}

/* Creation of the interpreter */

/* Finds the pthread key whose value PyGILState_GetThisThreadState() returns, by comparing
 * values, because its place differs between versions of Python. */
static int find_key(void)
{
    PyThreadState *state = PyGILState_GetThisThreadState();
    char probe;
    for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; key++) {
        if (pthread_getspecific(key) != state || pthread_setspecific(key, &probe) != 0)
            continue;
        int found = (void *)PyGILState_GetThisThreadState() == (void *)&probe;
        pthread_setspecific(key, state);
        if (found) {
            current_state_key = key;
            return 1;
        }
    }
    return 0;
}

/* Removes the driver's interpreter from Python's list, so that Python neither ends it before
 * the host's destructors have run (3.13), nor clears it in a child of fork(), nor reports it
 * at the end (3.12): threads of the driver may be in it until the process ends. */
static int hide(void)
{
    PyInterpreterState *others = PyInterpreterState_Next(interpreter);
    if (PyInterpreterState_Head() != interpreter || _PyRuntime.interpreters.head != interpreter)
        return 0;
    _PyRuntime.interpreters.head = others;
    return PyInterpreterState_Head() == others;
}

/* Sets the search path to the host's without its script's folder, which later versions would
 * pass on. */
static void set_search_path(const PyWideStringList *folders)
{
    PyObject *path = PyList_New(0);
    for (Py_ssize_t i = 0; path != NULL && i < folders->length; i++) {
        PyObject *folder = PyUnicode_FromWideChar(folders->items[i], -1);
        if (folder == NULL || PyList_Append(path, folder) != 0)
            Py_CLEAR(path);
        Py_XDECREF(folder);
    }
    if (path == NULL || PySys_SetObject("path", path) != 0)
        PyErr_Clear();
    Py_XDECREF(path);
}

static PyThreadState *new_interpreter(void)
{
    /* The module `site` runs for the host only. */
    PyConfig *config = (PyConfig *)(uintptr_t)_Py_GetConfig();
    int site_import = config->site_import;
    config->site_import = 0;
    /* With two interpreters Python stops checking who holds its lock: PyGILState_Check() in
     * libraries of the host would always return 1. */
    int checked = _PyRuntime.gilstate.check_enabled;
    PyThreadState *made = Py_NewInterpreter();
    if (checked == 1 && _PyRuntime.gilstate.check_enabled == 0)
        _PyRuntime.gilstate.check_enabled = 1;
    config->site_import = site_import;
    if (made != NULL)
        set_search_path(&config->module_search_paths);
    return made;
}

#if PY_VERSION_HEX >= 0x030E0000
#define SHUTTING_DOWN 3 /* _Py_THREAD_SHUTTING_DOWN */

/* The host's interpreter is being cleared. From now on threads of the driver wait for ever
 * when they take the lock, as the host's own do. Since 3.14 Python releases its lock once
 * more at its very end, and they would continue with freed memory. */
static void stop_threads(PyObject *capsule)
{
    (void)capsule;
    for (PyThreadState *state = PyInterpreterState_ThreadHead(interpreter); state != NULL;
         state = PyThreadState_Next(state))
        __atomic_store_n(&state->state, SHUTTING_DOWN, __ATOMIC_SEQ_CST);
}

/* The thread is in the host's interpreter. */
static int stop_threads_at_its_end(PyThreadState *host)
{
    PyObject *kept = PyInterpreterState_GetDict(PyThreadState_GetInterpreter(host)); /* borrowed */
    PyObject *capsule = PyCapsule_New(&is_guest, NULL, stop_threads);
    int done = kept != NULL && capsule != NULL &&
               PyDict_SetItemString(kept, "fpgart's threads", capsule) == 0;
    Py_XDECREF(capsule);
    PyErr_Clear();
    return done;
}
#else
static int stop_threads_at_its_end(PyThreadState *host)
{
    return host != NULL;
}
#endif

static PyObject *module_of_host(const char *name)
{
    PyObject *module = PyImport_ImportModule(name);
    if (module == NULL && PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) {
        PyErr_Clear();
        fpgart_add_search_directories(NULL); /* behind the host's folders */
        module = PyImport_ImportModule(name);
    }
    return module;
}

/* Imports the modules of cffi in the host's interpreter. Since 3.13 Python initialises such
 * modules in the main interpreter first, whichever interpreter imports them, and there they
 * import this one. */
static void let_modules_of_cffi_begin(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *module = module_of_host("_cffi_backend");
    if (module == NULL)
        PyErr_Clear(); /* the driver's import will fail, and report the reason */
    Py_XDECREF(module);
#endif
}

int fpgart_become_guest(void)
{
    PyThreadState *host = PyGILState_GetThisThreadState();
    PyObject *path = PySys_GetObject("path"); /* borrowed; the host's */
    if (!find_key() || pthread_key_create(&driver_state_key, thread_ends) != 0)
        return 0;
    let_modules_of_cffi_begin();
    PyThreadState *made = new_interpreter();
    if (made == NULL) {
        change_to(host);
        name_state(host);
        return 0;
    }
    name_state(made);
    interpreter = PyThreadState_GetInterpreter(made);
    driver_state = made;
    pthread_setspecific(driver_state_key, made);
    int hidden = hide();
    fpgart_add_search_directories(path);
    change_to(host);
    name_state(host);
    is_guest = hidden && stop_threads_at_its_end(host);
    return is_guest;
}

void fpgart_guest_runs(void)
{
    if (is_guest)
        fpgart_start_switchers(interpreter, PyInterpreterState_Main());
}

/* Requests to the host's interpreter */

int fpgart_host_imported(const char *module)
{
    struct fpgart_excursion excursion;
    fpgart_call_out(&excursion);
    PyGILState_STATE gil = PyGILState_Ensure();
    int found = PyDict_GetItemString(PyImport_GetModuleDict(), module) != NULL;
    PyGILState_Release(gil);
    fpgart_call_back(&excursion);
    return found;
}

static char *copy_of(PyObject *bytes, size_t *length)
{
    char *copy = malloc((size_t)PyBytes_GET_SIZE(bytes) + 1);
    if (copy != NULL) {
        *length = (size_t)PyBytes_GET_SIZE(bytes);
        memcpy(copy, PyBytes_AS_STRING(bytes), *length);
    }
    return copy;
}

char *fpgart_ask_host(const char *module, const char *function, const char *request, size_t length,
                      size_t *answer_length)
{
    struct fpgart_excursion excursion;
    char *answer = NULL;
    fpgart_call_out(&excursion);
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *asked = module_of_host(module), *said = NULL;
    if (asked != NULL)
        said = PyObject_CallMethod(asked, function, "y#", request, (Py_ssize_t)length);
    if (said != NULL && PyBytes_Check(said))
        answer = copy_of(said, answer_length);
    if (PyErr_Occurred())
        PyErr_Print();
    Py_XDECREF(asked);
    Py_XDECREF(said);
    PyGILState_Release(gil);
    fpgart_call_back(&excursion);
    return answer;
}

void fpgart_answer_read(char *answer)
{
    free(answer);
}

/* The frames of the host's code */

static size_t frame_in_words(PyFrameObject *frame, char *text, size_t room)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *globals = PyObject_GetAttrString((PyObject *)frame, "f_globals");
    PyObject *module =
        globals != NULL && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;
    const char *package = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : "";
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    const char *function = PyUnicode_AsUTF8(code->co_name);
    int length = snprintf(text, room, "%s\n%s\n%d\n%s\n", package != NULL ? package : "",
                          file != NULL ? file : "?", PyFrame_GetLineNumber(frame),
                          function != NULL ? function : "?");
    PyErr_Clear();
    Py_XDECREF(globals);
    Py_DECREF(code);
    return length > 0 ? (size_t)length : 0;
}

static size_t frames_in_words(PyThreadState *state, char *text, size_t room, size_t most)
{
    size_t used = 0;
    PyFrameObject *frame = PyThreadState_GetFrame(state);
    for (size_t i = 0; frame != NULL && i < most; i++) {
        size_t length = frame_in_words(frame, text + used, room - used);
        if (length >= room - used)
            break;
        used += length;
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return used;
}

/* Runs in the driver's interpreter, so that the host's collector does not run meanwhile. */
size_t fpgart_host_python_frames(char *text, size_t room, size_t most)
{
    PyThreadState *host = host_state;
    if (!is_guest || host == NULL)
        return 0;
    PyEval_RestoreThread(driver_state);
    size_t length = frames_in_words(host, text, room, most);
    PyEval_SaveThread();
    return length;
}
