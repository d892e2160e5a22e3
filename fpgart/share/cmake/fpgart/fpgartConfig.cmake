# SPDX-License-Identifier: Apache-2.0
# find_package(fpgart) gives
#   the target fpgart::fpgart: the headers, and the driver without a loader before it
#   the program FPGART_COMMAND
#   fpgart_add_test(NAME name [BOARD boards] [OPTIONS option...] COMMAND program [argument...]): a test of CTest
#     that runs a program, or a target, on simulated boards; any OpenCL loader finds them, and nothing else
# cmake -Dfpgart_DIR=$(fpgart libs --cmake-dir)
get_filename_component(_fpgart "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET fpgart::fpgart)
  add_library(fpgart::fpgart SHARED IMPORTED)
  set_target_properties(fpgart::fpgart PROPERTIES
    IMPORTED_LOCATION "${_fpgart}/libfpgart.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${_fpgart}/include"
    INTERFACE_LINK_LIBRARIES "${_fpgart}/libalteracl.a")
endif()
find_program(FPGART_COMMAND fpgart HINTS "${_fpgart}/../../../../bin")

function(fpgart_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 _test "" "NAME;BOARD" "OPTIONS;COMMAND")
  if(NOT _test_NAME OR NOT _test_COMMAND)
    message(FATAL_ERROR "fpgart_add_test needs NAME and COMMAND")
  endif()
  if(NOT FPGART_COMMAND)
    message(FATAL_ERROR "the program fpgart is not in PATH; name it: -DFPGART_COMMAND=.../bin/fpgart")
  endif()
  if(_test_BOARD)
    list(PREPEND _test_OPTIONS --board "${_test_BOARD}")
  endif()
  list(POP_FRONT _test_COMMAND _program)
  if(TARGET "${_program}")
    set(_program "$<TARGET_FILE:${_program}>")
  endif()
  add_test(NAME "${_test_NAME}" COMMAND "${FPGART_COMMAND}" run ${_test_OPTIONS} -- "${_program}" ${_test_COMMAND})
endfunction()

unset(_fpgart)
