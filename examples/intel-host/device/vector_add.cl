// Two kernels that a channel connects: one adds, the other writes what it is given.
#pragma OPENCL EXTENSION cl_intel_channels : enable

channel float sums __attribute__((depth(64)));

__attribute__((max_global_work_dim(0)))
__kernel void add(__global const float *restrict x, __global const float *restrict y, int n)
{
    for (int i = 0; i < n; i++)
        write_channel_intel(sums, x[i] + y[i]);
}

__attribute__((max_global_work_dim(0)))
__kernel void store(__global float *restrict z, int n)
{
    for (int i = 0; i < n; i++)
        z[i] = read_channel_intel(sums);
}
