# What the package tests have in common.

# Runs a command; its output is in `output`. Fails, with the output, if the command does.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 500)
  if(NOT status STREQUAL "0")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: exit status ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "nothing here matches \"${pattern}\":\n${text}")
  endif()
endfunction()

function(expect_not text pattern)
  if(text MATCHES "${pattern}")
    message(FATAL_ERROR "this should not match \"${pattern}\":\n${text}")
  endif()
endfunction()

# Configures a project of its own that finds the package in `prefix`; more arguments go to CMake.
function(configure source binary prefix)
  run("${CMAKE_COMMAND}" -S "${source}" -B "${binary}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_PREFIX_PATH=${prefix}" ${ARGN})
endfunction()

# Runs the consumer's two programs and reads what they say.
function(run_consumer binary)
  run("${binary}/consumer")
  expect("${output}" "^duramen ${VERSION}\nno store there\n420 cents, then CardDeclined\n$")
  run("${binary}/simulated")
  expect("${output}" "42 after 24 hours")
endfunction()
