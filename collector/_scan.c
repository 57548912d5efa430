/* collector._scan: the scan of _scan.h for Python, by its stable interface (one file serves 3.11 and later). */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "_scan.h"

#define LARGE (32 * 1024) /* from here on it is worth letting other threads run meanwhile */

PyDoc_STRVAR(scan_doc, "scan(table: bytes, body: bytes) -> (items, messages) if surely good, else None");

static PyObject *scan_bytes(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    char *table, *body;
    Py_ssize_t table_size, size;
    struct counts counts;
    int sure;
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "scan takes a table and a body");
        return NULL;
    }
    if (PyBytes_AsStringAndSize(args[0], &table, &table_size) < 0 || PyBytes_AsStringAndSize(args[1], &body, &size) < 0)
        return NULL;
    if (size < LARGE) {
        sure = scan((const uint8_t *)table, (size_t)table_size / ROW, (const uint8_t *)body, (size_t)size, &counts);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        sure = scan((const uint8_t *)table, (size_t)table_size / ROW, (const uint8_t *)body, (size_t)size, &counts);
        Py_END_ALLOW_THREADS;
    }
    if (!sure)
        Py_RETURN_NONE;
    return Py_BuildValue("(nn)", (Py_ssize_t)counts.items, (Py_ssize_t)counts.messages);
}

static PyMethodDef methods[] = {{"scan", (PyCFunction)(void (*)(void))scan_bytes, METH_FASTCALL, scan_doc},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_scan", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&definition); }
