# Installs what a program needs; the rest of the build (tests, benchmarks, examples) is not asked for.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

file(REMOVE_RECURSE "${PREFIX}")
foreach(component IN ITEMS libraries development)
  run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${PREFIX}" --component ${component})
endforeach()

foreach(file IN ITEMS
    include/duramen/duramen.hpp include/duramen/testing/simulation.hpp
    lib/libduramen.a lib/libduramen.so lib/libduramen-sqlite.a lib/libduramen-sqlite.so lib/libduramen-testing.a
    lib/cmake/duramen/duramen-config.cmake lib/pkgconfig/duramen.pc lib/pkgconfig/duramen-sqlite.pc)
  if(NOT EXISTS "${PREFIX}/${file}")
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
file(GLOB_RECURSE files RELATIVE "${PREFIX}" "${PREFIX}/*")
expect_not("${files}" "gtest|gmock|libduramen_base|libduramen_format|libduramen_store|libduramen_core|libduramen_runtime|libduramen_client|libduramen_provider_common|_test")

# No path of the machine that built it.
file(GLOB_RECURSE texts "${PREFIX}/lib/cmake/*" "${PREFIX}/lib/pkgconfig/*")
foreach(file IN LISTS texts)
  file(READ "${file}" text)
  string(FIND "${text}" "${BUILD_DIR}/" in_build)
  string(FIND "${text}" "${SOURCE_DIR}/" in_source)
  if(NOT in_build EQUAL -1 OR NOT in_source EQUAL -1)
    message(FATAL_ERROR "${file} names a folder of the build:\n${text}")
  endif()
endforeach()
