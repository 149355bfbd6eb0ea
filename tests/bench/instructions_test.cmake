# The instructions of one hello, chain step, timer, event and child: at most 10 % above those on record. Needs
#   PROGRAM, VALGRIND, RECORD, BUILD (the name of the record: how the program was built)
# After a change that is worth its price, or that saves some: put the new figures into the record.
cmake_minimum_required(VERSION 3.25)

if(NOT VALGRIND)
  message("SKIPPED: valgrind is not installed; ./dev setup installs it")
  return()
endif()

set(few 15)
set(many 45)

# instructions_of(<variable> <work> <count>)
function(instructions_of variable work count)
  execute_process(
    COMMAND "${VALGRIND}" --tool=callgrind --callgrind-out-file=/dev/null "${PROGRAM}" ${work} ${count}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0 OR NOT output MATCHES "Collected : ([0-9]+)")
    message(FATAL_ERROR "counting instructions of ${work} ${count} failed (${result}):\n${output}")
  endif()
  set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

file(READ "${RECORD}" record)
foreach(work IN ITEMS hello chain timers events children)
  instructions_of(before ${work} ${few})
  instructions_of(after ${work} ${many})
  math(EXPR each "(${after} - ${before}) / (${many} - ${few})")
  string(JSON recorded ERROR_VARIABLE missing GET "${record}" ${BUILD} ${work})
  if(missing)
    message(FATAL_ERROR "${RECORD} has no figure for ${BUILD} ${work}; now it is ${each}")
  endif()
  math(EXPR percent "${each} * 100 / ${recorded}")
  message(STATUS "${work}: ${each} instructions, ${percent} % of the ${recorded} on record")
  if(percent GREATER 110)
    message(FATAL_ERROR "${work} costs ${each} instructions, ${percent} % of what is on record. "
                        "If that is worth it, say so in ${RECORD}")
  endif()
endforeach()
