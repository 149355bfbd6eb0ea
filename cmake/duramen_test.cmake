# duramen_test(<name>
#   SOURCES <file>...
#   [LINK <target>...]       # the library under test and its friends; googletest and googlemock are always there
#   [TIMEOUT <seconds>]      # per case; default DURAMEN_TEST_TIMEOUT
#   [COST <seconds>]         # of a case on average, if over 1: ctest starts long ones first, and ./dev test estimates
#   [ONE_AT_A_TIME]          # ctest runs one case of it at a time, next to cases of other programs
#   [ENVIRONMENT <name=value>...]
#   [PARTS <number>]         # under a sanitizer: this number of ctest entries instead of one per case
#   [OWN_MAIN])              # the sources have a main()
#
# Defines the executable <name> and one ctest entry "<name>/Suite.Case" for each case in it. Tests may include internal
# headers by folder, "base/json.hpp". Every case carries the calling folder's name as its label, for `ctest -L`.
#
# A program of many short cases has PARTS: under a sanitizer, starting a process costs more than such a case. An entry
# "<name>/part_<i>_of_<n>" runs every n-th case. One case: <program> --gtest_filter=Suite.Case

set(duramen_test_timeout_default 120)
if(DURAMEN_SANITIZE)
  set(duramen_test_timeout_default 300)
endif()
set(DURAMEN_TEST_TIMEOUT ${duramen_test_timeout_default} CACHE STRING "Seconds a test case may take")

# Sanitizers look at the library, which is optimised a little; optimising the instrumented tests as well would only cost
# time, three times as much of it.
function(duramen_compile_test_quickly target)
  if(DURAMEN_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# gtest: googletest and the standard library. engine_test: these and the headers of ours that most tests include.
foreach(pch IN ITEMS gtest engine_test)
  duramen_precompiled_header(${pch} GTest::gtest GTest::gmock Threads::Threads)
  duramen_compile_test_quickly(duramen_${pch}_pch)
endforeach()

function(duramen_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_AT_A_TIME;OWN_MAIN" "TIMEOUT;COST;PARTS" "SOURCES;LINK;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "duramen_test(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  duramen_compile_settings(${name})
  duramen_compile_test_quickly(${name})
  target_include_directories(${name} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  if(arg_LINK MATCHES "duramen::(core|duramen|sqlite|testing)")
    duramen_precompile(${name} engine_test)
  else()
    duramen_precompile(${name} gtest)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest GTest::gmock Threads::Threads)
  if(NOT arg_OWN_MAIN)
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
  endif()

  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${DURAMEN_TEST_TIMEOUT})
  endif()
  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  set(properties TIMEOUT ${arg_TIMEOUT} LABELS "${folder}")
  if(arg_ONE_AT_A_TIME)
    list(APPEND properties RESOURCE_LOCK ${name})
  endif()
  if(arg_COST)
    list(APPEND properties COST ${arg_COST})
  endif()
  if(arg_PARTS AND DURAMEN_SANITIZE)
    list(APPEND properties COST 20)
    math(EXPR last "${arg_PARTS} - 1")
    foreach(index RANGE ${last})
      math(EXPR number "${index} + 1")
      set(entry "${name}/part_${number}_of_${arg_PARTS}")
      add_test(NAME ${entry} COMMAND ${name})
      set_tests_properties(${entry} PROPERTIES ${properties} TIMEOUT 900
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_PARTS};GTEST_SHARD_INDEX=${index};GTEST_BRIEF=1;${arg_ENVIRONMENT}")
    endforeach()
    return()
  endif()
  if(arg_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  gtest_discover_tests(${name}
    TEST_PREFIX "${name}/"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES ${properties})
endfunction()

# duramen_test_library(<name> SOURCES <file>... [LINK <target>...]): code that several test programs share, compiled once.
function(duramen_test_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(${name} STATIC ${arg_SOURCES})
  duramen_compile_settings(${name})
  duramen_compile_test_quickly(${name})
  target_include_directories(${name} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE GTest::gtest GTest::gmock Threads::Threads)
  duramen_precompile(${name} engine_test)
endfunction()
