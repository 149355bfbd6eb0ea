# The example of README.md keeps its promise: killed while it waits and started again, it goes on.

cmake_minimum_required(VERSION 3.25)

# The process is killed after four seconds: enough to print the greeting, too short for the timer of five. A very busy
# machine may kill it too early or too late; then the test tries again.
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
  message(FATAL_ERROR "the first process printed:\n${first}")
endif()
if(NOT status STREQUAL "0" OR NOT second MATCHES
    "^Goodbye, world!\nhello from process ([0-9]+), goodbye from ([0-9]+)\n$" OR CMAKE_MATCH_1 EQUAL CMAKE_MATCH_2)
  message(FATAL_ERROR "the second process (status ${status}) printed:\n${second}")
endif()
