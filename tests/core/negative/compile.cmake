# Runs the compiler on one file. With FAILS_WITH it must refuse the file and say that text, and name each line that ends
# in "// refused"; without it must accept the file.

get_filename_component(NAME "${SOURCE}" NAME)
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
file(READ "${SOURCE}" text)
string(REGEX REPLACE "[][;]" " " text "${text}")  # they mean something in lists
string(REPLACE "\n" ";" lines "${text}")
set(number 0)
foreach(line IN LISTS lines)
  math(EXPR number "${number} + 1")
  if(line MATCHES "// refused$" AND NOT output MATCHES "${NAME}:${number}:")
    message(FATAL_ERROR "the compiler takes line ${number} of ${SOURCE}: ${line}\n${output}")
  endif()
endforeach()
