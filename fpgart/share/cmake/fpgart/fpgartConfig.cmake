# SPDX-License-Identifier: Apache-2.0
# find_package(fpgart) gives the target fpgart::fpgart: the headers, and the driver without a loader before it.
#   cmake -Dfpgart_DIR=$(fpgart libs --cmake-dir)
get_filename_component(_fpgart "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET fpgart::fpgart)
  add_library(fpgart::fpgart SHARED IMPORTED)
  set_target_properties(fpgart::fpgart PROPERTIES
    IMPORTED_LOCATION "${_fpgart}/libfpgart.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${_fpgart}/include"
    INTERFACE_LINK_LIBRARIES "${_fpgart}/libalteracl.a")
endif()
unset(_fpgart)
