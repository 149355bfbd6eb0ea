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

# With --static the plain names say what else an archive needs, for where only those are installed.
run(pkg-config --static --libs-only-l duramen-sqlite)
foreach(library IN ITEMS -lduramen-sqlite -lduramen -lsqlite3 -lsimdjson)
  expect(" ${output}" " ${library} ")
endforeach()
