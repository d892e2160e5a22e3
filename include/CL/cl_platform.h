/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar and vector types, calling conventions, and the marks of versions behind prototypes. */
#ifndef OPENCL_CL_PLATFORM_H_
#define OPENCL_CL_PLATFORM_H_

#include <stddef.h>
#include <stdint.h>

#define CL_API_ENTRY
#if defined(_WIN32)
#define CL_API_CALL __stdcall
#define CL_CALLBACK __stdcall
#else
#define CL_API_CALL
#define CL_CALLBACK
#endif

#if defined(__GNUC__)
#define CL_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define CL_ANONYMOUS __extension__
#define CL_DEPRECATED __attribute__((deprecated))
#else
#define CL_ALIGNED(bytes)
#define CL_ANONYMOUS
#define CL_DEPRECATED
#endif

/* Behind each prototype stands the version that brought it, and perhaps the one that dropped it. */
#define CL_API_SUFFIX__VERSION_1_0
#define CL_EXT_SUFFIX__VERSION_1_0
#define CL_API_SUFFIX__VERSION_1_1
#define CL_EXT_SUFFIX__VERSION_1_1
#define CL_API_SUFFIX__VERSION_1_2
#define CL_EXT_SUFFIX__VERSION_1_2
#define CL_API_SUFFIX__VERSION_2_0
#define CL_EXT_SUFFIX__VERSION_2_0
#define CL_API_SUFFIX__VERSION_2_1
#define CL_EXT_SUFFIX__VERSION_2_1
#define CL_API_SUFFIX__VERSION_2_2
#define CL_EXT_SUFFIX__VERSION_2_2
#define CL_API_SUFFIX__VERSION_3_0
#define CL_EXT_SUFFIX__VERSION_3_0

#ifdef CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_API_SUFFIX__VERSION_1_0_DEPRECATED
#else
#define CL_API_SUFFIX__VERSION_1_0_DEPRECATED CL_DEPRECATED
#endif
#define CL_API_PREFIX__VERSION_1_0_DEPRECATED
#define CL_EXT_SUFFIX__VERSION_1_0_DEPRECATED CL_API_SUFFIX__VERSION_1_0_DEPRECATED
#define CL_EXT_PREFIX__VERSION_1_0_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_API_SUFFIX__VERSION_1_1_DEPRECATED
#else
#define CL_API_SUFFIX__VERSION_1_1_DEPRECATED CL_DEPRECATED
#endif
#define CL_API_PREFIX__VERSION_1_1_DEPRECATED
#define CL_EXT_SUFFIX__VERSION_1_1_DEPRECATED CL_API_SUFFIX__VERSION_1_1_DEPRECATED
#define CL_EXT_PREFIX__VERSION_1_1_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_API_SUFFIX__VERSION_1_2_DEPRECATED
#else
#define CL_API_SUFFIX__VERSION_1_2_DEPRECATED CL_DEPRECATED
#endif
#define CL_API_PREFIX__VERSION_1_2_DEPRECATED
#define CL_EXT_SUFFIX__VERSION_1_2_DEPRECATED CL_API_SUFFIX__VERSION_1_2_DEPRECATED
#define CL_EXT_PREFIX__VERSION_1_2_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_API_SUFFIX__VERSION_2_0_DEPRECATED
#else
#define CL_API_SUFFIX__VERSION_2_0_DEPRECATED CL_DEPRECATED
#endif
#define CL_API_PREFIX__VERSION_2_0_DEPRECATED
#define CL_EXT_SUFFIX__VERSION_2_0_DEPRECATED CL_API_SUFFIX__VERSION_2_0_DEPRECATED
#define CL_EXT_PREFIX__VERSION_2_0_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_API_SUFFIX__VERSION_2_1_DEPRECATED
#else
#define CL_API_SUFFIX__VERSION_2_1_DEPRECATED CL_DEPRECATED
#endif
#define CL_API_PREFIX__VERSION_2_1_DEPRECATED
#define CL_EXT_SUFFIX__VERSION_2_1_DEPRECATED CL_API_SUFFIX__VERSION_2_1_DEPRECATED
#define CL_EXT_PREFIX__VERSION_2_1_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_2_2_APIS
#define CL_API_SUFFIX__VERSION_2_2_DEPRECATED
#else
#define CL_API_SUFFIX__VERSION_2_2_DEPRECATED CL_DEPRECATED
#endif
#define CL_API_PREFIX__VERSION_2_2_DEPRECATED
#define CL_EXT_SUFFIX__VERSION_2_2_DEPRECATED CL_API_SUFFIX__VERSION_2_2_DEPRECATED
#define CL_EXT_PREFIX__VERSION_2_2_DEPRECATED

#define CL_API_SUFFIX_COMMON
#define CL_API_PREFIX_COMMON
#define CL_API_SUFFIX__EXPERIMENTAL

#ifdef __cplusplus
extern "C" {
#endif

/* Scalars */
typedef int8_t cl_char;
typedef uint8_t cl_uchar;
typedef int16_t cl_short CL_ALIGNED(2);
typedef uint16_t cl_ushort CL_ALIGNED(2);
typedef int32_t cl_int CL_ALIGNED(4);
typedef uint32_t cl_uint CL_ALIGNED(4);
typedef int64_t cl_long CL_ALIGNED(8);
typedef uint64_t cl_ulong CL_ALIGNED(8);
typedef uint16_t cl_half CL_ALIGNED(2);
typedef float cl_float CL_ALIGNED(4);
typedef double cl_double CL_ALIGNED(8);

typedef unsigned int cl_GLuint;
typedef int cl_GLint;
typedef unsigned int cl_GLenum;

/* Limits */
#define CL_CHAR_BIT 8
#define CL_SCHAR_MAX 127
#define CL_SCHAR_MIN (-127-1)
#define CL_CHAR_MAX CL_SCHAR_MAX
#define CL_CHAR_MIN CL_SCHAR_MIN
#define CL_UCHAR_MAX 255
#define CL_SHRT_MAX 32767
#define CL_SHRT_MIN (-32767-1)
#define CL_USHRT_MAX 65535
#define CL_INT_MAX 2147483647
#define CL_INT_MIN (-2147483647-1)
#define CL_UINT_MAX 0xffffffffU
#define CL_LONG_MAX ((cl_long) 0x7FFFFFFFFFFFFFFFLL)
#define CL_LONG_MIN ((cl_long) -0x7FFFFFFFFFFFFFFFLL - 1LL)
#define CL_ULONG_MAX ((cl_ulong) 0xFFFFFFFFFFFFFFFFULL)
#define CL_HALF_DIG 3
#define CL_HALF_MANT_DIG 11
#define CL_HALF_MAX_10_EXP +4
#define CL_HALF_MAX_EXP +16
#define CL_HALF_MIN_10_EXP -4
#define CL_HALF_MIN_EXP -13
#define CL_HALF_RADIX 2
#define CL_HALF_MAX 65504.0f
#define CL_HALF_MIN 6.103515625e-05f
#define CL_HALF_EPSILON 9.765625e-04f
#define CL_FLT_DIG 6
#define CL_FLT_MANT_DIG 24
#define CL_FLT_MAX_10_EXP +38
#define CL_FLT_MAX_EXP +128
#define CL_FLT_MIN_10_EXP -37
#define CL_FLT_MIN_EXP -125
#define CL_FLT_RADIX 2
#define CL_FLT_MAX 340282346638528859811704183484516925440.0f
#define CL_FLT_MIN 1.175494350822287507969e-38f
#define CL_FLT_EPSILON 1.1920928955078125e-7f
#define CL_DBL_DIG 15
#define CL_DBL_MANT_DIG 53
#define CL_DBL_MAX_10_EXP +308
#define CL_DBL_MAX_EXP +1024
#define CL_DBL_MIN_10_EXP -307
#define CL_DBL_MIN_EXP -1021
#define CL_DBL_RADIX 2
#define CL_DBL_MAX 1.7976931348623158e+308
#define CL_DBL_MIN 2.225073858507201383090e-308
#define CL_DBL_EPSILON 2.220446049250313080847e-16

/* Vectors: elements by number (s), by name, and as halves */
typedef union {
    cl_char CL_ALIGNED(2) s[2];
    CL_ANONYMOUS struct {
        cl_char x, y;
    };
    CL_ANONYMOUS struct {
        cl_char s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_char lo, hi;
    };
} cl_char2;
typedef union {
    cl_char CL_ALIGNED(4) s[4];
    CL_ANONYMOUS struct {
        cl_char x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_char s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_char2 lo, hi;
    };
} cl_char4;
typedef cl_char4 cl_char3;
typedef union {
    cl_char CL_ALIGNED(8) s[8];
    CL_ANONYMOUS struct {
        cl_char s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_char4 lo, hi;
    };
} cl_char8;
typedef union {
    cl_char CL_ALIGNED(16) s[16];
    CL_ANONYMOUS struct {
        cl_char s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_char8 lo, hi;
    };
} cl_char16;
typedef union {
    cl_uchar CL_ALIGNED(2) s[2];
    CL_ANONYMOUS struct {
        cl_uchar x, y;
    };
    CL_ANONYMOUS struct {
        cl_uchar s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_uchar lo, hi;
    };
} cl_uchar2;
typedef union {
    cl_uchar CL_ALIGNED(4) s[4];
    CL_ANONYMOUS struct {
        cl_uchar x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_uchar s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_uchar2 lo, hi;
    };
} cl_uchar4;
typedef cl_uchar4 cl_uchar3;
typedef union {
    cl_uchar CL_ALIGNED(8) s[8];
    CL_ANONYMOUS struct {
        cl_uchar s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_uchar4 lo, hi;
    };
} cl_uchar8;
typedef union {
    cl_uchar CL_ALIGNED(16) s[16];
    CL_ANONYMOUS struct {
        cl_uchar s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_uchar8 lo, hi;
    };
} cl_uchar16;
typedef union {
    cl_short CL_ALIGNED(4) s[2];
    CL_ANONYMOUS struct {
        cl_short x, y;
    };
    CL_ANONYMOUS struct {
        cl_short s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_short lo, hi;
    };
} cl_short2;
typedef union {
    cl_short CL_ALIGNED(8) s[4];
    CL_ANONYMOUS struct {
        cl_short x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_short s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_short2 lo, hi;
    };
} cl_short4;
typedef cl_short4 cl_short3;
typedef union {
    cl_short CL_ALIGNED(16) s[8];
    CL_ANONYMOUS struct {
        cl_short s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_short4 lo, hi;
    };
} cl_short8;
typedef union {
    cl_short CL_ALIGNED(32) s[16];
    CL_ANONYMOUS struct {
        cl_short s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_short8 lo, hi;
    };
} cl_short16;
typedef union {
    cl_ushort CL_ALIGNED(4) s[2];
    CL_ANONYMOUS struct {
        cl_ushort x, y;
    };
    CL_ANONYMOUS struct {
        cl_ushort s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_ushort lo, hi;
    };
} cl_ushort2;
typedef union {
    cl_ushort CL_ALIGNED(8) s[4];
    CL_ANONYMOUS struct {
        cl_ushort x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_ushort s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_ushort2 lo, hi;
    };
} cl_ushort4;
typedef cl_ushort4 cl_ushort3;
typedef union {
    cl_ushort CL_ALIGNED(16) s[8];
    CL_ANONYMOUS struct {
        cl_ushort s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_ushort4 lo, hi;
    };
} cl_ushort8;
typedef union {
    cl_ushort CL_ALIGNED(32) s[16];
    CL_ANONYMOUS struct {
        cl_ushort s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_ushort8 lo, hi;
    };
} cl_ushort16;
typedef union {
    cl_int CL_ALIGNED(8) s[2];
    CL_ANONYMOUS struct {
        cl_int x, y;
    };
    CL_ANONYMOUS struct {
        cl_int s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_int lo, hi;
    };
} cl_int2;
typedef union {
    cl_int CL_ALIGNED(16) s[4];
    CL_ANONYMOUS struct {
        cl_int x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_int s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_int2 lo, hi;
    };
} cl_int4;
typedef cl_int4 cl_int3;
typedef union {
    cl_int CL_ALIGNED(32) s[8];
    CL_ANONYMOUS struct {
        cl_int s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_int4 lo, hi;
    };
} cl_int8;
typedef union {
    cl_int CL_ALIGNED(64) s[16];
    CL_ANONYMOUS struct {
        cl_int s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_int8 lo, hi;
    };
} cl_int16;
typedef union {
    cl_uint CL_ALIGNED(8) s[2];
    CL_ANONYMOUS struct {
        cl_uint x, y;
    };
    CL_ANONYMOUS struct {
        cl_uint s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_uint lo, hi;
    };
} cl_uint2;
typedef union {
    cl_uint CL_ALIGNED(16) s[4];
    CL_ANONYMOUS struct {
        cl_uint x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_uint s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_uint2 lo, hi;
    };
} cl_uint4;
typedef cl_uint4 cl_uint3;
typedef union {
    cl_uint CL_ALIGNED(32) s[8];
    CL_ANONYMOUS struct {
        cl_uint s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_uint4 lo, hi;
    };
} cl_uint8;
typedef union {
    cl_uint CL_ALIGNED(64) s[16];
    CL_ANONYMOUS struct {
        cl_uint s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_uint8 lo, hi;
    };
} cl_uint16;
typedef union {
    cl_long CL_ALIGNED(16) s[2];
    CL_ANONYMOUS struct {
        cl_long x, y;
    };
    CL_ANONYMOUS struct {
        cl_long s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_long lo, hi;
    };
} cl_long2;
typedef union {
    cl_long CL_ALIGNED(32) s[4];
    CL_ANONYMOUS struct {
        cl_long x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_long s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_long2 lo, hi;
    };
} cl_long4;
typedef cl_long4 cl_long3;
typedef union {
    cl_long CL_ALIGNED(64) s[8];
    CL_ANONYMOUS struct {
        cl_long s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_long4 lo, hi;
    };
} cl_long8;
typedef union {
    cl_long CL_ALIGNED(128) s[16];
    CL_ANONYMOUS struct {
        cl_long s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_long8 lo, hi;
    };
} cl_long16;
typedef union {
    cl_ulong CL_ALIGNED(16) s[2];
    CL_ANONYMOUS struct {
        cl_ulong x, y;
    };
    CL_ANONYMOUS struct {
        cl_ulong s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_ulong lo, hi;
    };
} cl_ulong2;
typedef union {
    cl_ulong CL_ALIGNED(32) s[4];
    CL_ANONYMOUS struct {
        cl_ulong x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_ulong s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_ulong2 lo, hi;
    };
} cl_ulong4;
typedef cl_ulong4 cl_ulong3;
typedef union {
    cl_ulong CL_ALIGNED(64) s[8];
    CL_ANONYMOUS struct {
        cl_ulong s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_ulong4 lo, hi;
    };
} cl_ulong8;
typedef union {
    cl_ulong CL_ALIGNED(128) s[16];
    CL_ANONYMOUS struct {
        cl_ulong s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_ulong8 lo, hi;
    };
} cl_ulong16;
typedef union {
    cl_half CL_ALIGNED(4) s[2];
    CL_ANONYMOUS struct {
        cl_half x, y;
    };
    CL_ANONYMOUS struct {
        cl_half s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_half lo, hi;
    };
} cl_half2;
typedef union {
    cl_half CL_ALIGNED(8) s[4];
    CL_ANONYMOUS struct {
        cl_half x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_half s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_half2 lo, hi;
    };
} cl_half4;
typedef cl_half4 cl_half3;
typedef union {
    cl_half CL_ALIGNED(16) s[8];
    CL_ANONYMOUS struct {
        cl_half s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_half4 lo, hi;
    };
} cl_half8;
typedef union {
    cl_half CL_ALIGNED(32) s[16];
    CL_ANONYMOUS struct {
        cl_half s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_half8 lo, hi;
    };
} cl_half16;
typedef union {
    cl_float CL_ALIGNED(8) s[2];
    CL_ANONYMOUS struct {
        cl_float x, y;
    };
    CL_ANONYMOUS struct {
        cl_float s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_float lo, hi;
    };
} cl_float2;
typedef union {
    cl_float CL_ALIGNED(16) s[4];
    CL_ANONYMOUS struct {
        cl_float x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_float s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_float2 lo, hi;
    };
} cl_float4;
typedef cl_float4 cl_float3;
typedef union {
    cl_float CL_ALIGNED(32) s[8];
    CL_ANONYMOUS struct {
        cl_float s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_float4 lo, hi;
    };
} cl_float8;
typedef union {
    cl_float CL_ALIGNED(64) s[16];
    CL_ANONYMOUS struct {
        cl_float s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_float8 lo, hi;
    };
} cl_float16;
typedef union {
    cl_double CL_ALIGNED(16) s[2];
    CL_ANONYMOUS struct {
        cl_double x, y;
    };
    CL_ANONYMOUS struct {
        cl_double s0, s1;
    };
    CL_ANONYMOUS struct {
        cl_double lo, hi;
    };
} cl_double2;
typedef union {
    cl_double CL_ALIGNED(32) s[4];
    CL_ANONYMOUS struct {
        cl_double x, y, z, w;
    };
    CL_ANONYMOUS struct {
        cl_double s0, s1, s2, s3;
    };
    CL_ANONYMOUS struct {
        cl_double2 lo, hi;
    };
} cl_double4;
typedef cl_double4 cl_double3;
typedef union {
    cl_double CL_ALIGNED(64) s[8];
    CL_ANONYMOUS struct {
        cl_double s0, s1, s2, s3, s4, s5, s6, s7;
    };
    CL_ANONYMOUS struct {
        cl_double4 lo, hi;
    };
} cl_double8;
typedef union {
    cl_double CL_ALIGNED(128) s[16];
    CL_ANONYMOUS struct {
        cl_double s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;
    };
    CL_ANONYMOUS struct {
        cl_double8 lo, hi;
    };
} cl_double16;

#ifdef __cplusplus
}
#endif

#endif
