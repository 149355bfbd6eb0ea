# Runs the compiler on one file. With FAILS_WITH it must refuse the file and say that text; without it must
# accept the file.

execute_process(COMMAND "${COMPILER}" ${FLAGS} "${SOURCE}"
  RESULT_VARIABLE exit_code
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)

if(FAILS_WITH STREQUAL "")
  if(NOT exit_code EQUAL 0)
    message(FATAL_ERROR "${SOURCE} should compile:\n${output}")
  endif()
  return()
endif()
if(exit_code EQUAL 0)
  message(FATAL_ERROR "${SOURCE} should not compile")
endif()
string(FIND "${output}" "${FAILS_WITH}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "the compiler does not say \"${FAILS_WITH}\":\n${output}")
endif()
