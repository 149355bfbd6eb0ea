# Configures the project with a compiler that destroys temporaries twice. That must fail, name the fault and the fix.

file(REMOVE_RECURSE "${BINARY_DIR}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${SOURCE_DIR}" -B "${BINARY_DIR}" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" -DDURAMEN_BUILD_TESTS=OFF
  RESULT_VARIABLE exit_code
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)

if(exit_code EQUAL 0)
  message(FATAL_ERROR "configure accepted ${COMPILER}:\n${output}")
endif()
foreach(text IN ITEMS "miscompiles coroutines" "aggregate temporary as an argument in a co_await expression"
    "capturing lambda in a co_await expression" "conditional operator of class type" "install clang 19")
  if(NOT output MATCHES "${text}")
    message(FATAL_ERROR "the refusal does not say \"${text}\":\n${output}")
  endif()
endforeach()
