// SPDX-License-Identifier: Apache-2.0
// Arguments of attributes as constants that kernels do not capture.
//
// The device compiler has a lambda capture a constant that an attribute within it names; clang++, which ignores these
// attributes, does not. This header is included in front of sources where the two lambdas then have different sizes.
#pragma once

template <auto Value>
inline constexpr auto fpgart_constant = Value;

#define FPGART_CONSTANT_1(a) fpgart_constant<(a)>
#define FPGART_CONSTANT_2(a, b) fpgart_constant<(a)>, fpgart_constant<(b)>
#define FPGART_CONSTANT_3(a, b, c) fpgart_constant<(a)>, fpgart_constant<(b)>, fpgart_constant<(c)>
#define FPGART_OF_COUNT(a, b, c, chosen, ...) chosen
#define FPGART_CONSTANTS(...) \
  FPGART_OF_COUNT(__VA_ARGS__, FPGART_CONSTANT_3, FPGART_CONSTANT_2, FPGART_CONSTANT_1, )(__VA_ARGS__)

// Of kernels.
#define max_global_work_dim(a) max_global_work_dim(fpgart_constant<(a)>)
#define max_work_group_size(...) max_work_group_size(FPGART_CONSTANTS(__VA_ARGS__))
#define num_simd_work_items(a) num_simd_work_items(fpgart_constant<(a)>)
#define reqd_sub_group_size(a) reqd_sub_group_size(fpgart_constant<(a)>)
#define reqd_work_group_size(...) reqd_work_group_size(FPGART_CONSTANTS(__VA_ARGS__))
#define scheduler_target_fmax_mhz(a) scheduler_target_fmax_mhz(fpgart_constant<(a)>)

// Of loops.
#define initiation_interval(a) initiation_interval(fpgart_constant<(a)>)
#define loop_coalesce(a) loop_coalesce(fpgart_constant<(a)>)
#define max_concurrency(a) max_concurrency(fpgart_constant<(a)>)
#define max_interleaving(a) max_interleaving(fpgart_constant<(a)>)
#define max_reinvocation_delay(a) max_reinvocation_delay(fpgart_constant<(a)>)
#define speculated_iterations(a) speculated_iterations(fpgart_constant<(a)>)

// Of variables.
#define bankwidth(a) bankwidth(fpgart_constant<(a)>)
#define max_replicates(a) max_replicates(fpgart_constant<(a)>)
#define numbanks(a) numbanks(fpgart_constant<(a)>)
#define private_copies(a) private_copies(fpgart_constant<(a)>)
