// SPDX-License-Identifier: Apache-2.0
// A host in Java, by java.lang.foreign (Java 22 or newer): java Host.java LIBRARY. Exit status: that of host.c.

import java.lang.foreign.*;
import java.lang.invoke.MethodHandle;

public class Host {
    static final Linker LINKER = Linker.nativeLinker();
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    static final AddressLayout POINTER = ValueLayout.ADDRESS;
    static final int COUNT = 4096;
    static SymbolLookup library;

    static Object call(String name, MemoryLayout result, Object... arguments) throws Throwable {
        MemoryLayout[] layouts = new MemoryLayout[arguments.length];
        for (int i = 0; i < arguments.length; i++)
            layouts[i] = arguments[i] instanceof Integer ? INT : arguments[i] instanceof Long ? LONG : POINTER;
        MethodHandle function = LINKER.downcallHandle(
            library.find(name).orElseThrow(), FunctionDescriptor.of(result, layouts));
        return function.invokeWithArguments(arguments);
    }

    static void must(int status, String name) {
        if (status == 0)
            return;
        System.err.println(name + ": " + status);
        System.exit(3);
    }

    static void run(String name, Object... arguments) throws Throwable {
        must((int) call(name, INT, arguments), name);
    }

    static MemorySegment make(String name, MemorySegment status, Object... arguments) throws Throwable {
        MemorySegment made = (MemorySegment) call(name, POINTER, arguments);
        must(status.get(INT, 0), name);
        return made;
    }

    static MemorySegment pointer(Arena arena, MemorySegment to) {
        MemorySegment made = arena.allocate(POINTER);
        made.set(POINTER, 0, to);
        return made;
    }

    public static void main(String[] words) throws Throwable {
        Arena arena = Arena.global();
        library = SymbolLookup.libraryLookup(words[0], arena);
        MemorySegment none = MemorySegment.NULL, status = arena.allocate(INT);
        MemorySegment platform = arena.allocate(POINTER), device = arena.allocate(POINTER);
        run("clGetPlatformIDs", 1, platform, none);
        run("clGetDeviceIDs", platform.get(POINTER, 0), 0xFFFFFFFFL, 1, device, none);
        MemorySegment chosen = device.get(POINTER, 0);
        MemorySegment context = make("clCreateContext", status, none, 1, device, none, none, status);
        MemorySegment queue = make("clCreateCommandQueueWithProperties", status, context, chosen, none, status);
        MemorySegment text = arena.allocateFrom(
            "kernel void add(global int *a) { a[get_global_id(0)] += " + ProcessHandle.current().pid() + "; }");
        MemorySegment program =
            make("clCreateProgramWithSource", status, context, 1, pointer(arena, text), none, status);
        run("clBuildProgram", program, 1, device, none, none, none);
        MemorySegment kernel = make("clCreateKernel", status, program, arena.allocateFrom("add"), status);
        MemorySegment numbers = arena.allocate(4L * COUNT, 8);
        for (int i = 0; i < COUNT; i++)
            numbers.setAtIndex(INT, i, 3 * i);
        MemorySegment buffer = make("clCreateBuffer", status, context, 1L, 4L * COUNT, none, status);
        run("clSetKernelArg", kernel, 0, 8L, pointer(arena, buffer));
        MemorySegment size = arena.allocate(LONG);
        size.set(LONG, 0, COUNT);
        run("clEnqueueWriteBuffer", queue, buffer, 0, 0L, 4L * COUNT, numbers, 0, none, none);
        run("clEnqueueNDRangeKernel", queue, kernel, 1, none, size, none, 0, none, none);
        run("clEnqueueReadBuffer", queue, buffer, 1, 0L, 4L * COUNT, numbers, 0, none, none);
        for (int i = 0; i < COUNT; i++)
            if (numbers.getAtIndex(INT, i) != 3 * i + (int) ProcessHandle.current().pid())
                System.exit(1);
        for (int round = 0; round < 5; round++)
            System.gc();
        run("clFinish", queue);
    }
}
