# One ctest entry "mutant/<name>" for each defect in tests/mutants/engine_mutants.cmake: its test must fail with it.

function(engine_mutant mutant program filter)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "ONLY;BY" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "engine_mutant(${mutant}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_ONLY AND NOT DURAMEN_SANITIZE MATCHES "${arg_ONLY}")
    return()
  endif()
  # The plain build tries the others: once is enough.
  if(NOT arg_ONLY AND DURAMEN_SANITIZE)
    return()
  endif()
  if(NOT TARGET ${program})
    return()  # its folder, or what it needs, is not part of this build
  endif()
  if(arg_ONLY)
    set(arg_BY sanitizer)
  elseif(NOT arg_BY)
    set(arg_BY failure)
  endif()
  add_test(NAME "mutant/${mutant}"
    COMMAND "${CMAKE_COMMAND}" "-DMUTANT=${mutant}" "-DPROGRAM=$<TARGET_FILE:${program}>" "-DFILTER=${filter}"
      "-DBY=${arg_BY}" -DSECONDS=100 -P "${PROJECT_SOURCE_DIR}/tests/mutants/engine_mutant_test.cmake")
  set_tests_properties("mutant/${mutant}" PROPERTIES TIMEOUT 300 LABELS mutants)
endfunction()

if(DURAMEN_MUTANTS)
  include("${PROJECT_SOURCE_DIR}/tests/mutants/engine_mutants.cmake")
endif()
