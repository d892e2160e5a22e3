/* SPDX-License-Identifier: Apache-2.0
 *
 * The dispatch table of cl_khr_icd, in its fixed order. */
#ifndef OPENCL_CL_ICD_H
#define OPENCL_CL_ICD_H

#include <CL/cl_function_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every object of a driver points to first; loaders call through it. */
struct _cl_icd_dispatch {
    clGetPlatformIDs_fn clGetPlatformIDs;
    clGetPlatformInfo_fn clGetPlatformInfo;
    clGetDeviceIDs_fn clGetDeviceIDs;
    clGetDeviceInfo_fn clGetDeviceInfo;
    clCreateContext_fn clCreateContext;
    clCreateContextFromType_fn clCreateContextFromType;
    clRetainContext_fn clRetainContext;
    clReleaseContext_fn clReleaseContext;
    clGetContextInfo_fn clGetContextInfo;
    clCreateCommandQueue_fn clCreateCommandQueue;
    clRetainCommandQueue_fn clRetainCommandQueue;
    clReleaseCommandQueue_fn clReleaseCommandQueue;
    clGetCommandQueueInfo_fn clGetCommandQueueInfo;
    clSetCommandQueueProperty_fn clSetCommandQueueProperty;
    clCreateBuffer_fn clCreateBuffer;
    clCreateImage2D_fn clCreateImage2D;
    clCreateImage3D_fn clCreateImage3D;
    clRetainMemObject_fn clRetainMemObject;
    clReleaseMemObject_fn clReleaseMemObject;
    clGetSupportedImageFormats_fn clGetSupportedImageFormats;
    clGetMemObjectInfo_fn clGetMemObjectInfo;
    clGetImageInfo_fn clGetImageInfo;
    clCreateSampler_fn clCreateSampler;
    clRetainSampler_fn clRetainSampler;
    clReleaseSampler_fn clReleaseSampler;
    clGetSamplerInfo_fn clGetSamplerInfo;
    clCreateProgramWithSource_fn clCreateProgramWithSource;
    clCreateProgramWithBinary_fn clCreateProgramWithBinary;
    clRetainProgram_fn clRetainProgram;
    clReleaseProgram_fn clReleaseProgram;
    clBuildProgram_fn clBuildProgram;
    clUnloadCompiler_fn clUnloadCompiler;
    clGetProgramInfo_fn clGetProgramInfo;
    clGetProgramBuildInfo_fn clGetProgramBuildInfo;
    clCreateKernel_fn clCreateKernel;
    clCreateKernelsInProgram_fn clCreateKernelsInProgram;
    clRetainKernel_fn clRetainKernel;
    clReleaseKernel_fn clReleaseKernel;
    clSetKernelArg_fn clSetKernelArg;
    clGetKernelInfo_fn clGetKernelInfo;
    clGetKernelWorkGroupInfo_fn clGetKernelWorkGroupInfo;
    clWaitForEvents_fn clWaitForEvents;
    clGetEventInfo_fn clGetEventInfo;
    clRetainEvent_fn clRetainEvent;
    clReleaseEvent_fn clReleaseEvent;
    clGetEventProfilingInfo_fn clGetEventProfilingInfo;
    clFlush_fn clFlush;
    clFinish_fn clFinish;
    clEnqueueReadBuffer_fn clEnqueueReadBuffer;
    clEnqueueWriteBuffer_fn clEnqueueWriteBuffer;
    clEnqueueCopyBuffer_fn clEnqueueCopyBuffer;
    clEnqueueReadImage_fn clEnqueueReadImage;
    clEnqueueWriteImage_fn clEnqueueWriteImage;
    clEnqueueCopyImage_fn clEnqueueCopyImage;
    clEnqueueCopyImageToBuffer_fn clEnqueueCopyImageToBuffer;
    clEnqueueCopyBufferToImage_fn clEnqueueCopyBufferToImage;
    clEnqueueMapBuffer_fn clEnqueueMapBuffer;
    clEnqueueMapImage_fn clEnqueueMapImage;
    clEnqueueUnmapMemObject_fn clEnqueueUnmapMemObject;
    clEnqueueNDRangeKernel_fn clEnqueueNDRangeKernel;
    clEnqueueTask_fn clEnqueueTask;
    clEnqueueNativeKernel_fn clEnqueueNativeKernel;
    clEnqueueMarker_fn clEnqueueMarker;
    clEnqueueWaitForEvents_fn clEnqueueWaitForEvents;
    clEnqueueBarrier_fn clEnqueueBarrier;
    clGetExtensionFunctionAddress_fn clGetExtensionFunctionAddress;
    clCreateFromGLBuffer_fn clCreateFromGLBuffer;
    clCreateFromGLTexture2D_fn clCreateFromGLTexture2D;
    clCreateFromGLTexture3D_fn clCreateFromGLTexture3D;
    clCreateFromGLRenderbuffer_fn clCreateFromGLRenderbuffer;
    clGetGLObjectInfo_fn clGetGLObjectInfo;
    clGetGLTextureInfo_fn clGetGLTextureInfo;
    clEnqueueAcquireGLObjects_fn clEnqueueAcquireGLObjects;
    clEnqueueReleaseGLObjects_fn clEnqueueReleaseGLObjects;
    clGetGLContextInfoKHR_fn clGetGLContextInfoKHR;
    void *clGetDeviceIDsFromD3D10KHR;
    void *clCreateFromD3D10BufferKHR;
    void *clCreateFromD3D10Texture2DKHR;
    void *clCreateFromD3D10Texture3DKHR;
    void *clEnqueueAcquireD3D10ObjectsKHR;
    void *clEnqueueReleaseD3D10ObjectsKHR;
    clSetEventCallback_fn clSetEventCallback;
    clCreateSubBuffer_fn clCreateSubBuffer;
    clSetMemObjectDestructorCallback_fn clSetMemObjectDestructorCallback;
    clCreateUserEvent_fn clCreateUserEvent;
    clSetUserEventStatus_fn clSetUserEventStatus;
    clEnqueueReadBufferRect_fn clEnqueueReadBufferRect;
    clEnqueueWriteBufferRect_fn clEnqueueWriteBufferRect;
    clEnqueueCopyBufferRect_fn clEnqueueCopyBufferRect;
    clCreateSubDevicesEXT_fn clCreateSubDevicesEXT;
    clRetainDeviceEXT_fn clRetainDeviceEXT;
    clReleaseDeviceEXT_fn clReleaseDeviceEXT;
    clCreateEventFromGLsyncKHR_fn clCreateEventFromGLsyncKHR;
    clCreateSubDevices_fn clCreateSubDevices;
    clRetainDevice_fn clRetainDevice;
    clReleaseDevice_fn clReleaseDevice;
    clCreateImage_fn clCreateImage;
    clCreateProgramWithBuiltInKernels_fn clCreateProgramWithBuiltInKernels;
    clCompileProgram_fn clCompileProgram;
    clLinkProgram_fn clLinkProgram;
    clUnloadPlatformCompiler_fn clUnloadPlatformCompiler;
    clGetKernelArgInfo_fn clGetKernelArgInfo;
    clEnqueueFillBuffer_fn clEnqueueFillBuffer;
    clEnqueueFillImage_fn clEnqueueFillImage;
    clEnqueueMigrateMemObjects_fn clEnqueueMigrateMemObjects;
    clEnqueueMarkerWithWaitList_fn clEnqueueMarkerWithWaitList;
    clEnqueueBarrierWithWaitList_fn clEnqueueBarrierWithWaitList;
    clGetExtensionFunctionAddressForPlatform_fn clGetExtensionFunctionAddressForPlatform;
    clCreateFromGLTexture_fn clCreateFromGLTexture;
    void *clGetDeviceIDsFromD3D11KHR;
    void *clCreateFromD3D11BufferKHR;
    void *clCreateFromD3D11Texture2DKHR;
    void *clCreateFromD3D11Texture3DKHR;
    void *clCreateFromDX9MediaSurfaceKHR;
    void *clEnqueueAcquireD3D11ObjectsKHR;
    void *clEnqueueReleaseD3D11ObjectsKHR;
    void *clGetDeviceIDsFromDX9MediaAdapterKHR;
    void *clEnqueueAcquireDX9MediaSurfacesKHR;
    void *clEnqueueReleaseDX9MediaSurfacesKHR;
    clCreateFromEGLImageKHR_fn clCreateFromEGLImageKHR;
    clEnqueueAcquireEGLObjectsKHR_fn clEnqueueAcquireEGLObjectsKHR;
    clEnqueueReleaseEGLObjectsKHR_fn clEnqueueReleaseEGLObjectsKHR;
    clCreateEventFromEGLSyncKHR_fn clCreateEventFromEGLSyncKHR;
    clCreateCommandQueueWithProperties_fn clCreateCommandQueueWithProperties;
    clCreatePipe_fn clCreatePipe;
    clGetPipeInfo_fn clGetPipeInfo;
    clSVMAlloc_fn clSVMAlloc;
    clSVMFree_fn clSVMFree;
    clEnqueueSVMFree_fn clEnqueueSVMFree;
    clEnqueueSVMMemcpy_fn clEnqueueSVMMemcpy;
    clEnqueueSVMMemFill_fn clEnqueueSVMMemFill;
    clEnqueueSVMMap_fn clEnqueueSVMMap;
    clEnqueueSVMUnmap_fn clEnqueueSVMUnmap;
    clCreateSamplerWithProperties_fn clCreateSamplerWithProperties;
    clSetKernelArgSVMPointer_fn clSetKernelArgSVMPointer;
    clSetKernelExecInfo_fn clSetKernelExecInfo;
    clGetKernelSubGroupInfoKHR_fn clGetKernelSubGroupInfoKHR;
    clCloneKernel_fn clCloneKernel;
    clCreateProgramWithIL_fn clCreateProgramWithIL;
    clEnqueueSVMMigrateMem_fn clEnqueueSVMMigrateMem;
    clGetDeviceAndHostTimer_fn clGetDeviceAndHostTimer;
    clGetHostTimer_fn clGetHostTimer;
    clGetKernelSubGroupInfo_fn clGetKernelSubGroupInfo;
    clSetDefaultDeviceCommandQueue_fn clSetDefaultDeviceCommandQueue;
    clSetProgramReleaseCallback_fn clSetProgramReleaseCallback;
    clSetProgramSpecializationConstant_fn clSetProgramSpecializationConstant;
    clCreateBufferWithProperties_fn clCreateBufferWithProperties;
    clCreateImageWithProperties_fn clCreateImageWithProperties;
    clSetContextDestructorCallback_fn clSetContextDestructorCallback;
};

typedef struct _cl_icd_dispatch cl_icd_dispatch;

#ifdef __cplusplus
}
#endif

#endif
