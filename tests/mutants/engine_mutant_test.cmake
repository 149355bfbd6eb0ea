# Runs a test with a defect switched on: it must run, and it must fail. A defect that is a race may need luck: the test
# has five tries.
#   MUTANT: the defect; PROGRAM, FILTER: the test; SECONDS: a test that takes longer has failed, too
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND "${PROGRAM}" "--gtest_filter=${FILTER}" --gtest_list_tests
  OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT listed MATCHES "\n  ")
  message(FATAL_ERROR "no test of ${PROGRAM} is called ${FILTER}")
endif()
set(ENV{DURAMEN_MUTANT} "${MUTANT}")
foreach(try RANGE 1 5)
  execute_process(COMMAND "${PROGRAM}" "--gtest_filter=${FILTER}" TIMEOUT "${SECONDS}"
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(STATUS "${FILTER} fails with ${MUTANT}, as it should: ${status}")
    return()
  elseif(output MATCHES "\\[  SKIPPED \\]")
    message(STATUS "${FILTER} is skipped here, so ${MUTANT} cannot be tried")
    return()
  endif()
endforeach()
message(FATAL_ERROR "${FILTER} passes although ${MUTANT} is switched on:\n${output}")
