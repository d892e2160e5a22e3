#pragma OPENCL EXTENSION cl_intel_channels : enable
#include "ihc_apint.h"
#define N 4
#define ADD(a, b) ((a) + (b))
#if defined(N) && N > 2 && !defined(OTHER) || (N == 3 ? 1 : 0)
channel int link[N] __attribute__((depth(8))), other __attribute__((depth(0)));
#else
channel float link;
#endif
channel uint4 host __attribute__((depth(2))) __attribute__((intel_host_accessible)) __attribute__((io("file")));
global int table[16] = {1, 2, 3}, counter;
typedef struct { int x, y; } pair;
typedef ap_uint<3 * 4> twelve;
static inline int helper(int a) { return ADD(a, N); }
__attribute__((max_global_work_dim(0))) __attribute__((autorun)) __attribute__((num_compute_units(2, 2)))
kernel void feed(void) { for (int i = 0; i < N; i++) write_channel_intel(link[get_compute_id(0)], i); }
__attribute__((reqd_work_group_size(4, 1, 1))) __attribute__((num_simd_work_items(2)))
kernel void drain(global int *restrict __attribute__((buffer_location("DDR"))) x, read_only pipe int in
        __attribute__((blocking)) __attribute__((depth(4))), constant float *f, local int *tmp, const pair p, int n)
{
    // a comment
    bool valid; /* another
                   one */
    #pragma unroll 4
    for (int i = 0; i < n; ++i) {
        local int here[N];
        #pragma unroll
        for (int j = 0; j < 8; j += 2) { here[j & 3] = read_channel_nb_intel(other, &valid); }
        x[i] += table[i] * helper(here[0]) + 'a' - 0x1Ful; x[i + 1] <<= 2; atomic_add(&x[2], 1);
    }
    read_pipe(in, &n);
    printf("%d \"%s\"\n", n, "a\x0a");
}
