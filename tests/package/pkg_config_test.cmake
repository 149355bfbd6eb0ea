# The same program, built by hand from what pkg-config says.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/lib/pkgconfig")
run(pkg-config --modversion duramen)
expect("${output}" "^${VERSION}\n$")
run(pkg-config --cflags --libs duramen-sqlite)
expect_not("${output}" "-lsqlite3|-lsimdjson")   # the shared library brings it
separate_arguments(flags UNIX_COMMAND "${output}")

run(${LAUNCHER} "${COMPILER}" -std=c++20 -O0 -I "${PREFIX}/include" -c
  "${CMAKE_CURRENT_LIST_DIR}/consumer/consumer.cpp" -o "${WORK_DIR}/consumer.o")
run("${COMPILER}" "${WORK_DIR}/consumer.o" ${flags} "-Wl,-rpath,${PREFIX}/lib" -o "${WORK_DIR}/shared")
run("${WORK_DIR}/shared")
expect("${output}" "CardDeclined")

# Our archives, and what they are built on. No path to a shared library is given: a program that needed one would not start.
run(pkg-config --cflags --libs duramen-sqlite-static)
separate_arguments(flags UNIX_COMMAND "${output}")
run("${COMPILER}" "${WORK_DIR}/consumer.o" ${flags} -o "${WORK_DIR}/static")
run("${WORK_DIR}/static")
expect("${output}" "CardDeclined")

# The mutant archives_are_linked_by_plain_names: the static names give "-l" like the others. The linker takes the shared
# library, and the program does not start.
file(GLOB files "${PREFIX}/lib/pkgconfig/*.pc")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  string(REGEX REPLACE "prefix=[^\n]*" "prefix=${PREFIX}" text "${text}")
  string(REGEX REPLACE "-l:lib([a-z-]+)[.]a" "-l\\1" text "${text}")
  get_filename_component(name "${file}" NAME)
  file(WRITE "${WORK_DIR}/mutant/${name}" "${text}")
endforeach()
set(ENV{PKG_CONFIG_PATH} "${WORK_DIR}/mutant")
run(pkg-config --cflags --libs --static duramen-sqlite-static)
separate_arguments(flags UNIX_COMMAND "${output}")
run("${COMPILER}" "${WORK_DIR}/consumer.o" ${flags} -o "${WORK_DIR}/mutant/program")
execute_process(COMMAND "${WORK_DIR}/mutant/program" RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "a program that was linked with -l starts without the shared libraries")
endif()
expect("${output}" "libduramen")
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/lib/pkgconfig")

# With --static the plain names say what else an archive needs, for where only those are installed.
run(pkg-config --static --libs-only-l duramen-sqlite)
foreach(library IN ITEMS -lduramen-sqlite -lduramen -lsqlite3 -lsimdjson)
  expect(" ${output}" " ${library} ")
endforeach()
