/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions between cl_half and the host's types, with each rounding mode of OpenCL C. */
#ifndef OPENCL_CL_HALF_H
#define OPENCL_CL_HALF_H

#include <CL/cl_platform.h>

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To the nearest (ties to even), towards zero, upwards, downwards */
typedef enum { CL_HALF_RTE, CL_HALF_RTZ, CL_HALF_RTP, CL_HALF_RTN } cl_half_rounding_mode;

#define FPGART_HALF_INFINITY 0x7C00
#define FPGART_HALF_LARGEST 0x7BFF

/* Whether a magnitude grows that lies `rest` above an `odd` or even one, `unit` below the next. */
static inline int fpgart_half_grows(cl_half_rounding_mode mode, int negative, int odd, uint64_t rest,
                                    uint64_t unit)
{
    switch (mode) {
    case CL_HALF_RTZ:
        return 0;
    case CL_HALF_RTP:
        return rest != 0 && !negative;
    case CL_HALF_RTN:
        return rest != 0 && negative;
    case CL_HALF_RTE:
    default:
        return rest > unit / 2 || (rest == unit / 2 && odd);
    }
}

/* What stands for a magnitude that is too large. */
static inline cl_half fpgart_half_overflow(cl_half_rounding_mode mode, int negative)
{
    const int stays = mode == CL_HALF_RTZ || (mode == CL_HALF_RTP && negative) || (mode == CL_HALF_RTN && !negative);
    return (cl_half)((negative ? 0x8000 : 0) | (stays ? FPGART_HALF_LARGEST : FPGART_HALF_INFINITY));
}

static inline cl_half cl_half_from_double(cl_double value, cl_half_rounding_mode mode)
{
    const uint64_t hidden = (uint64_t)1 << 52;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int negative = (int)(bits >> 63);
    const int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    const uint64_t fraction = bits & (hidden - 1);
    const unsigned int sign = negative ? 0x8000 : 0;

    if (exponent == 1024 && fraction != 0) /* not a number: quiet, with the upper bits of its payload */
        return (cl_half)(sign | FPGART_HALF_INFINITY | 0x200 | (unsigned int)(fraction >> 42));
    if (exponent == 1024)
        return (cl_half)(sign | FPGART_HALF_INFINITY);
    if (exponent >= CL_HALF_MAX_EXP)
        return fpgart_half_overflow(mode, negative);

    /* Halves have 10 bits of fraction, and from 2^-14 downwards their step stays the same. Doubles below their own
     * smallest normal number have no hidden bit, but all below 2^-26 only say that something is there. */
    const int below = exponent < -14 ? -14 - exponent : 0;
    const int shift = 42 + (below < 20 ? below : 20);
    const uint64_t significand = exponent == -1023 ? (fraction != 0) : (hidden | fraction);
    const uint64_t unit = (uint64_t)1 << shift;
    uint64_t magnitude = significand >> shift;
    magnitude += (uint64_t)fpgart_half_grows(mode, negative, (int)(magnitude & 1), significand & (unit - 1), unit);
    if (below == 0)
        magnitude += (uint64_t)(exponent + 14) << 10;
    return (cl_half)(sign | (unsigned int)magnitude);
}

static inline cl_half cl_half_from_float(cl_float value, cl_half_rounding_mode mode)
{
    return cl_half_from_double((cl_double)value, mode);
}

static inline cl_float cl_half_to_float(cl_half half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t exponent = (uint32_t)(half & FPGART_HALF_INFINITY) >> 10;
    const uint32_t fraction = half & 0x3FF;
    cl_float value = (cl_float)fraction * 5.9604644775390625e-8f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (exponent == 0x1F)
        bits = 0x7F800000 | (fraction != 0 ? 0x400000 : 0) | fraction << 13;
    else if (exponent != 0)
        bits = (exponent + 112) << 23 | fraction << 13;
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#undef FPGART_HALF_INFINITY
#undef FPGART_HALF_LARGEST

#ifdef __cplusplus
}
#endif

#endif
