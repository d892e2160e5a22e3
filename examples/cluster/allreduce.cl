// Boards in a ring add up their vectors: each ends with the sums of all. A vector has a chunk of words for each board.

#pragma OPENCL EXTENSION cl_intel_channels : enable

typedef struct {
    float lane[8]; // 256 bits: what a cable takes in a cycle
} word;

channel word onwards __attribute__((io("kernel_output_ch0")));
channel word before __attribute__((io("kernel_input_ch1")));

__attribute__((max_global_work_dim(0)))
kernel void allreduce(global word *restrict x, uint chunk, uint board, uint boards)
{
    // A chunk goes around the ring and grows by each board's part.
    for (uint step = 0; step + 1 < boards; step++) {
        uint leaves = (board + boards - step) % boards;
        uint comes = (leaves + boards - 1) % boards;
        for (uint i = 0; i < chunk; i++) {
            write_channel_intel(onwards, x[leaves * chunk + i]);
            word sum = read_channel_intel(before);
            for (uint lane = 0; lane < 8; lane++)
                sum.lane[lane] += x[comes * chunk + i].lane[lane];
            x[comes * chunk + i] = sum;
        }
    }
    // Once more around, as it is now.
    for (uint step = 0; step + 1 < boards; step++) {
        uint leaves = (board + 1 + boards - step) % boards;
        uint comes = (leaves + boards - 1) % boards;
        for (uint i = 0; i < chunk; i++) {
            write_channel_intel(onwards, x[leaves * chunk + i]);
            x[comes * chunk + i] = read_channel_intel(before);
        }
    }
}
