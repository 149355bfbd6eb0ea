# Every example is a project of its own: it builds with the installed package and nothing else of the repository.
#
# Two are configured and built alone, as a user would. The others are folders of one project, which reads
# <duramen/duramen.hpp> once for all of them; each still finds the package by itself, as an imported target is known only in
# the folder that found it.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

file(REMOVE_RECURSE "${WORK_DIR}")
file(GLOB projects "${SOURCE_DIR}/examples/*/CMakeLists.txt")
list(LENGTH projects count)
if(count LESS 13)
  message(FATAL_ERROR "only ${count} examples")
endif()
set(together "")
foreach(project IN LISTS projects)
  get_filename_component(folder "${project}" DIRECTORY)
  get_filename_component(name "${folder}" NAME)
  file(COPY "${folder}" DESTINATION "${WORK_DIR}/source")   # away from the repository
  if(NOT name MATCHES "^(hello|typed)$")
    list(APPEND together "${name}")
    continue()
  endif()
  configure("${WORK_DIR}/source/${name}" "${WORK_DIR}/${name}" "${PREFIX}" -Dduramen_SKIP_COROUTINE_PROBE=ON)
  run("${CMAKE_COMMAND}" --build "${WORK_DIR}/${name}")
endforeach()

file(WRITE "${WORK_DIR}/source/header/header.cpp" "")
file(WRITE "${WORK_DIR}/source/header/CMakeLists.txt" "
find_package(duramen CONFIG REQUIRED)
add_library(header OBJECT header.cpp)
target_link_libraries(header PRIVATE duramen::duramen)
target_precompile_headers(header PRIVATE <duramen/duramen.hpp>)
target_compile_options(header PRIVATE \"SHELL:-Xclang -fno-pch-timestamp\")   # so that ccache can keep it
")
file(WRITE "${WORK_DIR}/source/CMakeLists.txt" "
cmake_minimum_required(VERSION 3.25)
project(examples LANGUAGES CXX)
add_subdirectory(header)
foreach(folder IN ITEMS ${together})
  if(TARGET duramen::duramen)
    message(FATAL_ERROR \"\${folder} would not have to find the package\")
  endif()
  add_subdirectory(\${folder})
  get_property(targets DIRECTORY \${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    target_precompile_headers(\${target} REUSE_FROM header)
  endforeach()
endforeach()
")
configure("${WORK_DIR}/source" "${WORK_DIR}/together" "${PREFIX}" -Dduramen_SKIP_COROUTINE_PROBE=ON)
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/together")

run("${WORK_DIR}/typed/typed")
file(READ "${SOURCE_DIR}/examples/typed/output.txt" expected)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "typed printed\n${output}")
endif()
