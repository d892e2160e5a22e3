/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface between Intel's FPGA runtime and a board's library (MMD): names, numbers and
 * prototypes. Hosts include it for what boards offer besides OpenCL. libfpgart_mmd.so exports these
 * functions, so that programs written to them drive simulated boards; libfpgart.so does not:
 * clGetBoardExtensionFunctionAddressIntelFPGA finds a board's own, and there simulated boards have
 * none. */
#ifndef AOCL_MMD_H
#define AOCL_MMD_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef AOCL_MMD_CALL
#define AOCL_MMD_CALL
#endif

#define AOCL_MMD_VERSION_STRING "2024.2"

/* A command under way; NULL asks for a call that returns when it is done */
typedef void *aocl_mmd_op_t;

/* What is known before a board is open */
typedef enum {
    AOCL_MMD_VERSION = 0,
    AOCL_MMD_NUM_BOARDS = 1,
    AOCL_MMD_BOARD_NAMES = 2,
    AOCL_MMD_VENDOR_NAME = 3,
    AOCL_MMD_VENDOR_ID = 4,
    AOCL_MMD_USES_YIELD = 5,
    AOCL_MMD_MEM_TYPES_SUPPORTED = 6
} aocl_mmd_offline_info_t;

/* Bits of AOCL_MMD_MEM_TYPES_SUPPORTED */
#define AOCL_MMD_PHYSICAL_MEMORY (1 << 0)
#define AOCL_MMD_SVM_COARSE_GRAIN_BUFFER (1 << 1)
#define AOCL_MMD_SVM_FINE_GRAIN_BUFFER (1 << 2)
#define AOCL_MMD_SVM_FINE_GRAIN_SYSTEM (1 << 3)

/* What an open board tells of itself */
typedef enum {
    AOCL_MMD_NUM_KERNEL_INTERFACES = 1,
    AOCL_MMD_KERNEL_INTERFACES = 2,
    AOCL_MMD_PLL_INTERFACES = 3,
    AOCL_MMD_MEMORY_INTERFACE = 4,
    AOCL_MMD_TEMPERATURE = 5,
    AOCL_MMD_PCIE_INFO = 6,
    AOCL_MMD_BOARD_NAME = 7,
    AOCL_MMD_BOARD_UNIQUE_ID = 8,
    AOCL_MMD_CONCURRENT_READS = 9,
    AOCL_MMD_CONCURRENT_WRITES = 10,
    AOCL_MMD_CONCURRENT_READS_OR_WRITES = 11,
    AOCL_MMD_MIN_HOST_MEMORY_ALIGNMENT = 12,
    AOCL_MMD_HOST_MEM_CAPABILITIES = 13,
    AOCL_MMD_SHARED_MEM_CAPABILITIES = 14,
    AOCL_MMD_DEVICE_MEM_CAPABILITIES = 15,
    AOCL_MMD_HOST_MEM_CONCURRENT_GRANULARITY = 16,
    AOCL_MMD_SHARED_MEM_CONCURRENT_GRANULARITY = 17,
    AOCL_MMD_DEVICE_MEM_CONCURRENT_GRANULARITY = 18
} aocl_mmd_info_t;

/* Bits of the capabilities of memories */
#define AOCL_MMD_MEM_CAPABILITY_SUPPORTED (1 << 0)
#define AOCL_MMD_MEM_CAPABILITY_ATOMIC (1 << 1)
#define AOCL_MMD_MEM_CAPABILITY_CONCURRENT (1 << 2)
#define AOCL_MMD_MEM_CAPABILITY_P2P (1 << 3)

/* Errors of allocations */
#define AOCL_MMD_ERROR_SUCCESS 0
#define AOCL_MMD_ERROR_INVALID_HANDLE -1
#define AOCL_MMD_ERROR_OUT_OF_MEMORY -2
#define AOCL_MMD_ERROR_UNSUPPORTED_ALIGNMENT -3
#define AOCL_MMD_ERROR_UNSUPPORTED_PROPERTY -4
#define AOCL_MMD_ERROR_INVALID_POINTER -5
#define AOCL_MMD_ERROR_INVALID_MIGRATION_SIZE -6

/* Properties of allocations: pairs of name and value, then 0 */
typedef enum {
    AOCL_MMD_MEM_PROPERTIES_GLOBAL_MEMORY = 1,
    AOCL_MMD_MEM_PROPERTIES_MEMORY_BANK = 2,
    AOCL_MMD_MEM_PROPERTIES_BUFFER_LOCATION = 3
} aocl_mmd_mem_properties_t;

/* Mode of aocl_mmd_program */
typedef int aocl_mmd_program_mode_t;
#define AOCL_MMD_PROGRAM_PRESERVE_GLOBAL_MEM (1 << 0)

/* What is told of an exception, such as an error that ECC found: its bit, and what the board adds
 */
typedef struct {
    unsigned long long exception_type;
    void *user_private_info;
    size_t user_cb;
} aocl_mmd_interrupt_info;

typedef void (*aocl_mmd_interrupt_handler_fn)(int handle, void *user_data);
typedef void (*aocl_mmd_device_interrupt_handler_fn)(int handle, aocl_mmd_interrupt_info *about,
                                                     void *user_data);
typedef void (*aocl_mmd_status_handler_fn)(int handle, void *user_data, aocl_mmd_op_t op,
                                           int status);

AOCL_MMD_CALL int aocl_mmd_get_offline_info(aocl_mmd_offline_info_t requested_info_id,
                                            size_t param_value_size, void *param_value,
                                            size_t *param_size_ret);
AOCL_MMD_CALL int aocl_mmd_get_info(int handle, aocl_mmd_info_t requested_info_id,
                                    size_t param_value_size, void *param_value,
                                    size_t *param_size_ret);
AOCL_MMD_CALL int aocl_mmd_open(const char *name);
AOCL_MMD_CALL int aocl_mmd_close(int handle);
AOCL_MMD_CALL int aocl_mmd_set_interrupt_handler(int handle, aocl_mmd_interrupt_handler_fn fn,
                                                 void *user_data);
AOCL_MMD_CALL int aocl_mmd_set_device_interrupt_handler(int handle,
                                                        aocl_mmd_device_interrupt_handler_fn fn,
                                                        void *user_data);
AOCL_MMD_CALL int aocl_mmd_set_status_handler(int handle, aocl_mmd_status_handler_fn fn,
                                              void *user_data);
AOCL_MMD_CALL int aocl_mmd_yield(int handle);
AOCL_MMD_CALL int aocl_mmd_read(int handle, aocl_mmd_op_t op, size_t len, void *dst,
                                int mmd_interface, size_t offset);
AOCL_MMD_CALL int aocl_mmd_write(int handle, aocl_mmd_op_t op, size_t len, const void *src,
                                 int mmd_interface, size_t offset);
AOCL_MMD_CALL int aocl_mmd_copy(int handle, aocl_mmd_op_t op, size_t len, int mmd_interface,
                                size_t src_offset, size_t dst_offset);
AOCL_MMD_CALL int aocl_mmd_program(int handle, void *user_data, size_t size,
                                   aocl_mmd_program_mode_t program_mode);
AOCL_MMD_CALL void *aocl_mmd_host_alloc(int *handles, size_t num_devices, size_t size,
                                        size_t alignment, aocl_mmd_mem_properties_t *properties,
                                        int *error);
AOCL_MMD_CALL void *aocl_mmd_shared_alloc(int handle, size_t size, size_t alignment,
                                          aocl_mmd_mem_properties_t *properties, int *error);
AOCL_MMD_CALL int aocl_mmd_free(void *mem);
AOCL_MMD_CALL int aocl_mmd_hostchannel_create(int handle, char *channel_name, size_t queue_depth,
                                              int direction);
AOCL_MMD_CALL int aocl_mmd_hostchannel_destroy(int handle, int channel);
AOCL_MMD_CALL void *aocl_mmd_hostchannel_get_buffer(int handle, int channel, size_t *buffer_size,
                                                    int *status);
AOCL_MMD_CALL size_t aocl_mmd_hostchannel_ack_buffer(int handle, int channel, size_t send_size,
                                                     int *status);

#ifdef __cplusplus
}
#endif

#endif
