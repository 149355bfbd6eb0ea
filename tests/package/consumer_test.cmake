# A program that finds the installed package, with the libraries of one kind.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

file(REMOVE_RECURSE "${WORK_DIR}")
configure("${CMAKE_CURRENT_LIST_DIR}/consumer" "${WORK_DIR}" "${PREFIX}" -DKIND=${KIND})
run("${CMAKE_COMMAND}" --build "${WORK_DIR}")
run_consumer("${WORK_DIR}")

run(readelf -d "${WORK_DIR}/consumer")
if(KIND STREQUAL "shared")
  expect("${output}" "NEEDED[^\n]*libduramen\\.so\\.0\\.1")
  expect("${output}" "NEEDED[^\n]*libduramen-sqlite\\.so\\.0\\.1")
else()
  expect_not("${output}" "NEEDED[^\n]*libduramen")
endif()
# Who does not ask for SQLite does not get it.
run(readelf -d "${WORK_DIR}/simulated")
expect_not("${output}" "sqlite")
