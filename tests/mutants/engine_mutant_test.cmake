# Runs a test with a defect switched on: the test must run, and that very test must notice. A defect that is a race may
# need luck: the test has five tries.
#   MUTANT: the defect; PROGRAM, FILTER: the test; SECONDS: a test that takes longer is ended
#   BY: how the test notices, see engine_mutants.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND "${PROGRAM}" "--gtest_filter=${FILTER}" --gtest_list_tests
  OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT listed MATCHES "\n  ")
  message(FATAL_ERROR "no test of ${PROGRAM} is called ${FILTER}")
endif()
string(REPLACE "." "\\." case "${FILTER}")
string(REPLACE "*" "[^ ,\n]*" case "${case}")

# Whether the program ended inside of the test: it began, and printed no result.
function(ended_inside output result)
  set(${result} FALSE PARENT_SCOPE)
  string(FIND "${output}" "[ RUN      ] " at REVERSE)
  if(at EQUAL -1)
    return()
  endif()
  string(SUBSTRING "${output}" ${at} -1 rest)
  if(rest MATCHES "^\\[ RUN      \\] ${case}\n" AND NOT rest MATCHES "\\[       OK \\]|\\[  FAILED  \\]|\\[  SKIPPED \\]")
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

set(ENV{DURAMEN_MUTANT} "${MUTANT}")
foreach(try RANGE 1 5)
  execute_process(COMMAND "${PROGRAM}" "--gtest_filter=${FILTER}" TIMEOUT "${SECONDS}"
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(status EQUAL 0)
    if(output MATCHES "\\[  SKIPPED \\]")
      message(STATUS "${FILTER} is skipped here, so ${MUTANT} cannot be tried")
      return()
    endif()
    continue()
  endif()
  ended_inside("${output}" inside)
  if(BY STREQUAL "failure" AND output MATCHES "\\[  FAILED  \\] ${case}[ ,\n]")
    set(noticed TRUE)
  elseif(BY STREQUAL "crash" AND inside AND NOT status MATCHES "timeout")
    set(noticed TRUE)
  elseif(BY STREQUAL "sanitizer" AND output MATCHES "(ERROR|WARNING): (Address|Leak|Thread)Sanitizer")
    set(noticed TRUE)
  endif()
  if(noticed)
    message(STATUS "${FILTER} notices ${MUTANT}, by ${BY}: ${status}")
    return()
  endif()
  message(FATAL_ERROR "${PROGRAM} ends with ${status} when ${MUTANT} is switched on, but ${FILTER} "
    "does not notice by ${BY}:\n${output}")
endforeach()
message(FATAL_ERROR "${FILTER} passes although ${MUTANT} is switched on:\n${output}")
