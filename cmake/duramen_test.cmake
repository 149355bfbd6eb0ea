# duramen_test(<name>
#   SOURCES <file>...
#   [LINK <target>...]       # the library under test and its friends; googletest and googlemock are always there
#   [TIMEOUT <seconds>]      # per case; default DURAMEN_TEST_TIMEOUT
#   [SERIAL]                 # no case of it runs beside another test
#   [OWN_MAIN])              # the sources have a main()
#
# Defines the executable <name> and one ctest entry "<name>/Suite.Case" for each case in it. Tests may include internal
# headers by folder, "base/json.hpp". Every case carries the calling folder's name as its label, for `ctest -L`.

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
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;OWN_MAIN" "TIMEOUT" "SOURCES;LINK")
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
  if(arg_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  gtest_discover_tests(${name}
    TEST_PREFIX "${name}/"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES ${properties})
endfunction()
