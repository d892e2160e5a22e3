/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar and vector types, calling conventions, and the marks of versions behind prototypes. */
#ifndef __CL_PLATFORM_H
#define __CL_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

#ifndef CL_API_ENTRY
#define CL_API_ENTRY
#endif
#if defined(_WIN32)
#define FPGART_CONVENTION __stdcall
#else
#define FPGART_CONVENTION
#endif
#ifndef CL_API_CALL
#define CL_API_CALL FPGART_CONVENTION
#endif
#ifndef CL_CALLBACK
#define CL_CALLBACK FPGART_CONVENTION
#endif

#if defined(__GNUC__)
#define CL_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define CL_API_SUFFIX_DEPRECATED __attribute__((deprecated))
#define __CL_ANON_STRUCT__ __extension__
#else
#define CL_ALIGNED(bytes)
#define CL_API_SUFFIX_DEPRECATED
#define __CL_ANON_STRUCT__
#endif
#define CL_API_PREFIX_DEPRECATED
#define __CL_HAS_ANON_STRUCT__ 1
#define CL_HAS_NAMED_VECTOR_FIELDS 1
#define CL_HAS_HI_LO_VECTOR_FIELDS 1

/* A host may have words of its own around each prototype. */
#ifndef CL_API_SUFFIX_USER
#define CL_API_SUFFIX_USER
#endif
#ifndef CL_API_PREFIX_USER
#define CL_API_PREFIX_USER
#endif
#define CL_API_SUFFIX_COMMON CL_API_SUFFIX_USER
#define CL_API_PREFIX_COMMON CL_API_PREFIX_USER
#define CL_API_SUFFIX__EXPERIMENTAL CL_API_SUFFIX_COMMON

/* Behind each prototype stands the version that brought it, and perhaps the one that dropped it. */
#define CL_API_SUFFIX__VERSION_1_0 CL_API_SUFFIX_COMMON
#define CL_EXT_SUFFIX__VERSION_1_0 CL_API_SUFFIX_COMMON
#define CL_API_SUFFIX__VERSION_1_1 CL_API_SUFFIX_COMMON
#define CL_EXT_SUFFIX__VERSION_1_1 CL_API_SUFFIX_COMMON
#define CL_API_SUFFIX__VERSION_1_2 CL_API_SUFFIX_COMMON
#define CL_EXT_SUFFIX__VERSION_1_2 CL_API_SUFFIX_COMMON
#define CL_API_SUFFIX__VERSION_2_0 CL_API_SUFFIX_COMMON
#define CL_EXT_SUFFIX__VERSION_2_0 CL_API_SUFFIX_COMMON
#define CL_API_SUFFIX__VERSION_2_1 CL_API_SUFFIX_COMMON
#define CL_EXT_SUFFIX__VERSION_2_1 CL_API_SUFFIX_COMMON
#define CL_API_SUFFIX__VERSION_2_2 CL_API_SUFFIX_COMMON
#define CL_EXT_SUFFIX__VERSION_2_2 CL_API_SUFFIX_COMMON
#define CL_API_SUFFIX__VERSION_3_0 CL_API_SUFFIX_COMMON
#define CL_EXT_SUFFIX__VERSION_3_0 CL_API_SUFFIX_COMMON

#ifdef CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_API_SUFFIX__VERSION_1_0_DEPRECATED CL_API_SUFFIX_COMMON
#define CL_API_PREFIX__VERSION_1_0_DEPRECATED CL_API_PREFIX_COMMON
#else
#define CL_API_SUFFIX__VERSION_1_0_DEPRECATED CL_API_SUFFIX_COMMON CL_API_SUFFIX_DEPRECATED
#define CL_API_PREFIX__VERSION_1_0_DEPRECATED CL_API_PREFIX_COMMON CL_API_PREFIX_DEPRECATED
#endif
#define CL_EXT_SUFFIX__VERSION_1_0_DEPRECATED CL_API_SUFFIX__VERSION_1_0_DEPRECATED
#define CL_EXT_PREFIX__VERSION_1_0_DEPRECATED CL_API_PREFIX__VERSION_1_0_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_API_SUFFIX__VERSION_1_1_DEPRECATED CL_API_SUFFIX_COMMON
#define CL_API_PREFIX__VERSION_1_1_DEPRECATED CL_API_PREFIX_COMMON
#else
#define CL_API_SUFFIX__VERSION_1_1_DEPRECATED CL_API_SUFFIX_COMMON CL_API_SUFFIX_DEPRECATED
#define CL_API_PREFIX__VERSION_1_1_DEPRECATED CL_API_PREFIX_COMMON CL_API_PREFIX_DEPRECATED
#endif
#define CL_EXT_SUFFIX__VERSION_1_1_DEPRECATED CL_API_SUFFIX__VERSION_1_1_DEPRECATED
#define CL_EXT_PREFIX__VERSION_1_1_DEPRECATED CL_API_PREFIX__VERSION_1_1_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_API_SUFFIX__VERSION_1_2_DEPRECATED CL_API_SUFFIX_COMMON
#define CL_API_PREFIX__VERSION_1_2_DEPRECATED CL_API_PREFIX_COMMON
#else
#define CL_API_SUFFIX__VERSION_1_2_DEPRECATED CL_API_SUFFIX_COMMON CL_API_SUFFIX_DEPRECATED
#define CL_API_PREFIX__VERSION_1_2_DEPRECATED CL_API_PREFIX_COMMON CL_API_PREFIX_DEPRECATED
#endif
#define CL_EXT_SUFFIX__VERSION_1_2_DEPRECATED CL_API_SUFFIX__VERSION_1_2_DEPRECATED
#define CL_EXT_PREFIX__VERSION_1_2_DEPRECATED CL_API_PREFIX__VERSION_1_2_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_API_SUFFIX__VERSION_2_0_DEPRECATED CL_API_SUFFIX_COMMON
#define CL_API_PREFIX__VERSION_2_0_DEPRECATED CL_API_PREFIX_COMMON
#else
#define CL_API_SUFFIX__VERSION_2_0_DEPRECATED CL_API_SUFFIX_COMMON CL_API_SUFFIX_DEPRECATED
#define CL_API_PREFIX__VERSION_2_0_DEPRECATED CL_API_PREFIX_COMMON CL_API_PREFIX_DEPRECATED
#endif
#define CL_EXT_SUFFIX__VERSION_2_0_DEPRECATED CL_API_SUFFIX__VERSION_2_0_DEPRECATED
#define CL_EXT_PREFIX__VERSION_2_0_DEPRECATED CL_API_PREFIX__VERSION_2_0_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_API_SUFFIX__VERSION_2_1_DEPRECATED CL_API_SUFFIX_COMMON
#define CL_API_PREFIX__VERSION_2_1_DEPRECATED CL_API_PREFIX_COMMON
#else
#define CL_API_SUFFIX__VERSION_2_1_DEPRECATED CL_API_SUFFIX_COMMON CL_API_SUFFIX_DEPRECATED
#define CL_API_PREFIX__VERSION_2_1_DEPRECATED CL_API_PREFIX_COMMON CL_API_PREFIX_DEPRECATED
#endif
#define CL_EXT_SUFFIX__VERSION_2_1_DEPRECATED CL_API_SUFFIX__VERSION_2_1_DEPRECATED
#define CL_EXT_PREFIX__VERSION_2_1_DEPRECATED CL_API_PREFIX__VERSION_2_1_DEPRECATED

#ifdef CL_USE_DEPRECATED_OPENCL_2_2_APIS
#define CL_API_SUFFIX__VERSION_2_2_DEPRECATED CL_API_SUFFIX_COMMON
#define CL_API_PREFIX__VERSION_2_2_DEPRECATED CL_API_PREFIX_COMMON
#else
#define CL_API_SUFFIX__VERSION_2_2_DEPRECATED CL_API_SUFFIX_COMMON CL_API_SUFFIX_DEPRECATED
#define CL_API_PREFIX__VERSION_2_2_DEPRECATED CL_API_PREFIX_COMMON CL_API_PREFIX_DEPRECATED
#endif
#define CL_EXT_SUFFIX__VERSION_2_2_DEPRECATED CL_API_SUFFIX__VERSION_2_2_DEPRECATED
#define CL_EXT_PREFIX__VERSION_2_2_DEPRECATED CL_API_PREFIX__VERSION_2_2_DEPRECATED

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

/* Mathematical constants, as OpenCL C names them */
#define CL_M_E 2.71828182845904523536
#define CL_M_LOG2E 1.44269504088896340736
#define CL_M_LOG10E 0.43429448190325182765
#define CL_M_LN2 0.69314718055994530942
#define CL_M_LN10 2.30258509299404568402
#define CL_M_PI 3.14159265358979323846
#define CL_M_PI_2 1.57079632679489661923
#define CL_M_PI_4 0.78539816339744830962
#define CL_M_1_PI 0.31830988618379067154
#define CL_M_2_PI 0.63661977236758134308
#define CL_M_2_SQRTPI 1.12837916709551257390
#define CL_M_SQRT2 1.41421356237309504880
#define CL_M_SQRT1_2 0.70710678118654752440
#define CL_M_E_F 2.718281828f
#define CL_M_LOG2E_F 1.442695041f
#define CL_M_LOG10E_F 0.434294482f
#define CL_M_LN2_F 0.693147181f
#define CL_M_LN10_F 2.302585093f
#define CL_M_PI_F 3.141592654f
#define CL_M_PI_2_F 1.570796327f
#define CL_M_PI_4_F 0.785398163f
#define CL_M_1_PI_F 0.318309886f
#define CL_M_2_PI_F 0.636619772f
#define CL_M_2_SQRTPI_F 1.128379167f
#define CL_M_SQRT2_F 1.414213562f
#define CL_M_SQRT1_2_F 0.707106781f
#define CL_MAXFLOAT CL_FLT_MAX
#define CL_INFINITY CL_HUGE_VALF
#if defined(__GNUC__)
#define CL_HUGE_VALF __builtin_huge_valf()
#define CL_HUGE_VAL __builtin_huge_val()
#define CL_NAN __builtin_nanf("")
#else
#define CL_HUGE_VALF ((cl_float)1e50)
#define CL_HUGE_VAL ((cl_double)1e500)
#define CL_NAN (CL_INFINITY - CL_INFINITY)
#endif

/* Vectors: elements by number (s), by name, and as halves. Those of 3 elements are those of 4. */
#define FPGART_VECTORS(type, bytes)                                                               \
    typedef union {                                                                               \
        type CL_ALIGNED(2 * bytes) s[2];                                                          \
        __CL_ANON_STRUCT__ struct { type x, y; };                                                 \
        __CL_ANON_STRUCT__ struct { type s0, s1; };                                               \
        __CL_ANON_STRUCT__ struct { type lo, hi; };                                               \
    } type##2;                                                                                    \
    typedef union {                                                                               \
        type CL_ALIGNED(4 * bytes) s[4];                                                          \
        __CL_ANON_STRUCT__ struct { type x, y, z, w; };                                           \
        __CL_ANON_STRUCT__ struct { type s0, s1, s2, s3; };                                       \
        __CL_ANON_STRUCT__ struct { type##2 lo, hi; };                                            \
    } type##4;                                                                                    \
    typedef type##4 type##3;                                                                      \
    typedef union {                                                                               \
        type CL_ALIGNED(8 * bytes) s[8];                                                          \
        __CL_ANON_STRUCT__ struct { type x, y, z, w; };                                           \
        __CL_ANON_STRUCT__ struct { type s0, s1, s2, s3, s4, s5, s6, s7; };                       \
        __CL_ANON_STRUCT__ struct { type##4 lo, hi; };                                            \
    } type##8;                                                                                    \
    typedef union {                                                                               \
        type CL_ALIGNED(16 * bytes) s[16];                                                        \
        __CL_ANON_STRUCT__ struct {                                                               \
            type x, y, z, w, __spacer4, __spacer5, __spacer6, __spacer7, __spacer8, __spacer9;    \
            type sa, sb, sc, sd, se, sf;                                                          \
        };                                                                                        \
        __CL_ANON_STRUCT__ struct {                                                               \
            type s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sA, sB, sC, sD, sE, sF;                  \
        };                                                                                        \
        __CL_ANON_STRUCT__ struct { type##8 lo, hi; };                                            \
    } type##16

FPGART_VECTORS(cl_char, 1);
FPGART_VECTORS(cl_uchar, 1);
FPGART_VECTORS(cl_short, 2);
FPGART_VECTORS(cl_ushort, 2);
FPGART_VECTORS(cl_int, 4);
FPGART_VECTORS(cl_uint, 4);
FPGART_VECTORS(cl_long, 8);
FPGART_VECTORS(cl_ulong, 8);
FPGART_VECTORS(cl_half, 2);
FPGART_VECTORS(cl_float, 4);
FPGART_VECTORS(cl_double, 8);
#undef FPGART_VECTORS

#ifdef __cplusplus
}
#endif

#endif
