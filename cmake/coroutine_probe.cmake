# Refuses a compiler that miscompiles coroutines. The answer is cached per compiler and per version of the probe.
# Also installed: programs that use the package are probed too.

function(duramen_probe_coroutines)
  if(CMAKE_CROSSCOMPILING)
    message(STATUS "Coroutine probe: skipped, its program cannot run on this machine")
    return()
  endif()

  set(probe "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/coroutine_probe.cpp")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${probe}")
  file(SHA256 "${probe}" key)
  string(SHA256 key "${key} ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS}")
  if(DURAMEN_COROUTINE_PROBE_PASSED STREQUAL key)
    return()
  endif()

  set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} (${CMAKE_CXX_COMPILER})")
  message(STATUS "Coroutine probe: ${compiler}")
  unset(duramen_probe_run CACHE)
  unset(duramen_probe_compile CACHE)
  try_run(duramen_probe_run duramen_probe_compile
    SOURCES "${probe}"
    COMPILE_OUTPUT_VARIABLE compile_output
    RUN_OUTPUT_VARIABLE run_output
    CXX_STANDARD 20
    CXX_STANDARD_REQUIRED ON)
  set(run "${duramen_probe_run}")
  set(compiled "${duramen_probe_compile}")
  unset(duramen_probe_run CACHE)
  unset(duramen_probe_compile CACHE)

  # Blank-led lines are printed as they are; others would be wrapped.
  set(fix "  Fix: install clang 19 (./dev setup, or your package manager) and configure with a preset,
  for example: cmake --preset release
  Without presets: cmake -B build -DCMAKE_CXX_COMPILER=clang++-19
  Background: docs/decisions/0001-clang-19-and-the-probe.md")

  if(NOT compiled)
    message(FATAL_ERROR "${compiler} cannot compile a C++20 coroutine program.\n${fix}\n\n${compile_output}")
  elseif(NOT run STREQUAL "0")
    message(FATAL_ERROR
      "${compiler} miscompiles coroutines: temporaries in a co_await expression are destroyed twice or lost, "
      "which corrupts memory in correct programs. Duramen refuses to build with it.\n"
      "  Shapes that came out wrong (probe exit: ${run}):\n${run_output}${fix}\n")
  endif()
  set(DURAMEN_COROUTINE_PROBE_PASSED "${key}" CACHE INTERNAL "compiler and probe that passed")
endfunction()
