# Every metric that the runtime reports has its line of help and its row in the reference, and nothing else has.

cmake_minimum_required(VERSION 3.25)

# Sets `out` to the sorted names that the files mention.
function(names_in out pattern)
  set(found "")
  foreach(file IN LISTS ARGN)
    file(READ "${file}" text)
    string(REGEX MATCHALL "${pattern}" matches "${text}")
    list(APPEND found ${matches})
  endforeach()
  list(TRANSFORM found REPLACE "^[^a-z]+" "")
  list(TRANSFORM found REPLACE "^duramen_" "")
  list(TRANSFORM found REPLACE "[^a-z_].*$" "")
  list(REMOVE_DUPLICATES found)
  list(SORT found)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

file(GLOB runtime_files "${SOURCE_DIR}/src/runtime/*.cpp" "${SOURCE_DIR}/src/runtime/*.hpp")
names_in(reported "\"duramen_[a-z_]+\"" ${runtime_files})
names_in(explained "{\"[a-z_]+\"" "${SOURCE_DIR}/src/base/metric_help.cpp")
names_in(documented "\n\\| `duramen_[a-z_]+` \\|" "${SOURCE_DIR}/docs/reference/metrics.md")

list(LENGTH reported count)
if(count LESS 10)
  message(FATAL_ERROR "only ${count} metrics were found in src/runtime: has the way they are written changed?")
endif()
if(NOT reported STREQUAL explained)
  message(FATAL_ERROR "reported: ${reported}\nin src/base/metric_help.cpp: ${explained}")
endif()
# The table of alarms also names metrics in its first column, but inside expressions.
if(NOT reported STREQUAL documented)
  message(FATAL_ERROR "reported: ${reported}\nin docs/reference/metrics.md: ${documented}")
endif()
