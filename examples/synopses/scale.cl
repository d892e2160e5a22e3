// SPDX-License-Identifier: Apache-2.0
// For container.c: each work-item doubles the eight words of a row.
kernel void scale(global uint8 *rows)
{
    size_t row = get_global_id(1) * get_global_size(0) + get_global_id(0);
    rows[row] *= 2;
}
