// SPDX-License-Identifier: Apache-2.0
// A host in JavaScript, by koffi: node host.js LIBRARY. Exit status: that of host.c.
"use strict";

const koffi = require("koffi");
const library = koffi.load(process.argv[2]);
const COUNT = 4096;

function must(status, name) {
    if (status === 0)
        return;
    console.error(`${name}: ${status}`);
    process.exit(3);
}

function run(name, types, ...given) {
    must(library.func(name, "int", types)(...given), name);
}

function make(name, types, ...given) {
    const status = [0];
    const made = library.func(name, "void *", [...types, koffi.out(koffi.pointer("int"))])(...given, status);
    must(status[0], name);
    return made;
}

const handles = koffi.out(koffi.pointer("void *"));
const inward = koffi.pointer("void *");
const platform = [null], device = [null];
run("clGetPlatformIDs", ["uint", handles, "void *"], 1, platform, null);
run("clGetDeviceIDs", ["void *", "uint64", "uint", handles, "void *"], platform[0], 0xFFFFFFFF, 1, device, null);
const context = make("clCreateContext", ["void *", "uint", inward, "void *", "void *"], null, 1, device, null, null);
const queue = make("clCreateCommandQueueWithProperties", ["void *", "void *", "void *"], context, device[0], null);
const text = `kernel void add(global int *a) { a[get_global_id(0)] += ${process.pid}; }`;
const program = make("clCreateProgramWithSource", ["void *", "uint", koffi.pointer("str"), "void *"],
                     context, 1, [text], null);
run("clBuildProgram", ["void *", "uint", inward, "str", "void *", "void *"], program, 1, device, "", null, null);
const kernel = make("clCreateKernel", ["void *", "str"], program, "add");
const numbers = new Int32Array(COUNT).map((_, i) => 3 * i);
const buffer = make("clCreateBuffer", ["void *", "uint64", "size_t", "void *"], context, 1, 4 * COUNT, null);
run("clSetKernelArg", ["void *", "uint", "size_t", inward], kernel, 0, 8, [buffer]);
const transfer = ["void *", "void *", "uint", "size_t", "size_t", "void *", "uint", "void *", "void *"];
run("clEnqueueWriteBuffer", transfer, queue, buffer, 1, 0, 4 * COUNT, numbers, 0, null, null);
run("clEnqueueNDRangeKernel",
    ["void *", "void *", "uint", "void *", koffi.pointer("size_t"), "void *", "uint", "void *", "void *"],
    queue, kernel, 1, null, [COUNT], null, 0, null, null);
run("clEnqueueReadBuffer", transfer, queue, buffer, 1, 0, 4 * COUNT, numbers, 0, null, null);
if (numbers.some((value, i) => value !== 3 * i + process.pid))
    process.exit(1);
