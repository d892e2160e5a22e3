/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes of hosts that use shared virtual memory, memory of their own, or migrate buffers. */
#include "host.h"

cl_int migrations_to_host(int count)
{
    for (int i = 0; i < count; i++) {
        must(clEnqueueMigrateMemObjects(queue, 1, buffers, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL,
                                        NULL),
             "clEnqueueMigrateMemObjects");
        launch();
    }
    finish();
    return count;
}

cl_int host_memory_each(int count)
{
    cl_int data[ITEMS];
    for (int i = 0; i < count; i++) {
        cl_mem buffer = new_buffer(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, SMALL, data);
        set(kernels[0], buffer, buffers[1], 1);
        launch();
        must(clReleaseMemObject(buffer), "clReleaseMemObject");
        finish();
    }
    return 0;
}

static cl_int *new_shared(void)
{
    void *made = clSVMAlloc(context, CL_MEM_READ_WRITE, LARGE, 0);
    must(made ? CL_SUCCESS : CL_OUT_OF_RESOURCES, "clSVMAlloc");
    return made;
}

cl_int svm_copies(int count)
{
    cl_int *shared = new_shared();
    for (int i = 0; i < count; i++) {
        must(clEnqueueSVMMemcpy(queue, CL_FALSE, shared, shared + ITEMS, SMALL, 0, NULL, NULL),
             "clEnqueueSVMMemcpy");
        launch();
    }
    finish();
    clSVMFree(context, shared);
    return count;
}

cl_int svm_maps(int count)
{
    cl_int *shared = new_shared();
    must(clSetKernelArgSVMPointer(kernels[0], 0, shared), "clSetKernelArgSVMPointer");
    for (int i = 0; i < count; i++) {
        must(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, shared, SMALL, 0, NULL, NULL),
             "clEnqueueSVMMap");
        shared[0] = i;
        must(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL), "clEnqueueSVMUnmap");
        launch();
    }
    finish();
    clSVMFree(context, shared);
    return 0;
}

cl_int svm_pointers(int count)
{
    cl_int *memory[] = {new_shared(), new_shared()};
    for (int i = 0; i < count; i++) {
        must(clSetKernelArgSVMPointer(kernels[0], 0, memory[i % 2]), "clSetKernelArgSVMPointer");
        must(clSetKernelArgSVMPointer(kernels[0], 1, memory[1 - i % 2]),
             "clSetKernelArgSVMPointer");
        launch();
    }
    finish();
    for (int i = 0; i < 2; i++)
        clSVMFree(context, memory[i]);
    return 0;
}

cl_int svm_migrations(int count)
{
    cl_int *shared = new_shared();
    const void *pointer = shared;
    for (int i = 0; i < count; i++) {
        must(clEnqueueSVMMigrateMem(queue, 1, &pointer, NULL, 0, 0, NULL, NULL),
             "clEnqueueSVMMigrateMem");
        launch();
    }
    finish();
    clSVMFree(context, shared);
    return count;
}

cl_int svm_each(int count)
{
    for (int i = 0; i < count; i++) {
        cl_int *shared = new_shared();
        must(clSetKernelArgSVMPointer(kernels[0], 0, shared), "clSetKernelArgSVMPointer");
        launch();
        finish();
        clSVMFree(context, shared);
    }
    return 0;
}

cl_int svm_freed_by_the_queue(int count)
{
    for (int i = 0; i < count; i++) {
        void *shared = new_shared();
        must(clSetKernelArgSVMPointer(kernels[0], 0, shared), "clSetKernelArgSVMPointer");
        launch();
        must(clEnqueueSVMFree(queue, 1, &shared, NULL, NULL, 0, NULL, NULL), "clEnqueueSVMFree");
    }
    finish();
    return 0;
}
