# The example of README.md does what README.md says: killed while it waits and started again, it goes on.

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# Two seconds are enough to say hello, and too short for the timer: the process is killed.
execute_process(COMMAND "${HELLO}" WORKING_DIRECTORY "${WORK_DIR}" OUTPUT_VARIABLE first TIMEOUT 2)
execute_process(COMMAND "${HELLO}" WORKING_DIRECTORY "${WORK_DIR}" OUTPUT_VARIABLE second RESULT_VARIABLE status
  TIMEOUT 60)
if(NOT first STREQUAL "Hello, world!\n")
  message(FATAL_ERROR "the first process said:\n${first}")
endif()
if(NOT status STREQUAL "0" OR NOT second MATCHES
    "^Goodbye, world!\nhello from process ([0-9]+), goodbye from ([0-9]+)\n$" OR CMAKE_MATCH_1 EQUAL CMAKE_MATCH_2)
  message(FATAL_ERROR "the second process (status ${status}) said:\n${second}")
endif()
