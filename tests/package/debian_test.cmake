# `cpack` makes Debian packages; unpacked, they are all a program needs.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")
run("${CMAKE_CPACK_COMMAND}" --config "${BUILD_DIR}/CPackConfig.cmake" -B "${WORK_DIR}/packages")

file(GLOB libraries "${WORK_DIR}/packages/libduramen0.1_*.deb")
file(GLOB development "${WORK_DIR}/packages/libduramen-dev_*.deb")
foreach(package IN ITEMS "${libraries}" "${development}")
  if(NOT EXISTS "${package}")
    message(FATAL_ERROR "a package is missing: libraries \"${libraries}\", development \"${development}\"")
  endif()
  run(dpkg-deb -x "${package}" "${WORK_DIR}/root")
endforeach()
run(dpkg-deb -f "${libraries}" Depends)
foreach(dependency IN ITEMS libc6 "libstdc\\+\\+6" libsqlite3-0 libsimdjson)
  expect("${output}" "${dependency}")
endforeach()
run(dpkg-deb -f "${development}" Depends Version)
expect("${output}" "libduramen0.1 \\(= ${VERSION}\\)")
expect("${output}" "Version: ${VERSION}\n")

configure("${CMAKE_CURRENT_LIST_DIR}/consumer" "${WORK_DIR}/consumer" "${WORK_DIR}/root/usr" -DKIND=shared
  -Dduramen_SKIP_COROUTINE_PROBE=ON)
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/consumer")
run_consumer("${WORK_DIR}/consumer")
