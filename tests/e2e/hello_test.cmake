# The example of README.md does what README.md says: killed while it waits and started again, it goes on.

cmake_minimum_required(VERSION 3.25)

# Four seconds are enough to say hello, and too short for the timer of five: the process is killed. On a machine that is
# very busy it may be killed before it has said hello, before that is in the store, or too late; then it is tried again.
foreach(try RANGE 1 5)
  file(REMOVE_RECURSE "${WORK_DIR}")
  file(MAKE_DIRECTORY "${WORK_DIR}")
  execute_process(COMMAND "${HELLO}" WORKING_DIRECTORY "${WORK_DIR}" OUTPUT_VARIABLE first TIMEOUT 4)
  execute_process(COMMAND "${HELLO}" WORKING_DIRECTORY "${WORK_DIR}" OUTPUT_VARIABLE second RESULT_VARIABLE status
    TIMEOUT 60)
  if(first STREQUAL "Hello, world!\n" AND NOT second MATCHES "^Hello")
    break()
  endif()
endforeach()
if(NOT first STREQUAL "Hello, world!\n")
  message(FATAL_ERROR "the first process said:\n${first}")
endif()
if(NOT status STREQUAL "0" OR NOT second MATCHES
    "^Goodbye, world!\nhello from process ([0-9]+), goodbye from ([0-9]+)\n$" OR CMAKE_MATCH_1 EQUAL CMAKE_MATCH_2)
  message(FATAL_ERROR "the second process (status ${status}) said:\n${second}")
endif()
