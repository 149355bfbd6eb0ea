# Reads the #include lines and checks the arrows of the architecture: a folder includes internal headers only of the
# folders below it, users' programs include none, one provider does not include another, only the folder of a store (and
# its tests and benchmarks) includes the driver, and the core includes no header that does I/O.

cmake_minimum_required(VERSION 3.25)

set(layers base format store core runtime client providers/common providers/sqlite providers/postgres testing)

# The layers that each layer may include besides itself.
set(below_base "")
set(below_format base)
set(below_store base)
set(below_core base format)
set(below_runtime base format store core)
set(below_client base format store)
set(below_providers/common base format store)
set(below_providers/sqlite base format store providers/common)
set(below_providers/postgres base format store providers/common)
set(below_testing base format store core runtime client providers/common)

set(sqlite3.h_users src/providers/sqlite tests/providers/sqlite bench)
set(libpq-fe.h_users src/providers/postgres)

set(io_headers cstdio fcntl.h filesystem fstream iostream poll.h print stdio.h sys/mman.h sys/socket.h sys/stat.h syncstream
  unistd.h)

set(problems "")
set(checked "")

# Checks every file below `folder`, which may include internal headers of the layers named after it.
function(check_folder folder)
  set(allowed ${ARGN})
  file(GLOB_RECURSE files RELATIVE "${SOURCE_DIR}"
    "${SOURCE_DIR}/${folder}/*.cpp" "${SOURCE_DIR}/${folder}/*.hpp")
  if(NOT files)
    message(FATAL_ERROR "${folder} has no sources: correct the list of folders in this test")
  endif()
  foreach(file IN LISTS files)
    file(STRINGS "${SOURCE_DIR}/${file}" lines REGEX "^[ \t]*#[ \t]*include")
    foreach(line IN LISTS lines)
      if(NOT line MATCHES "[\"<]([^\">]*)[\">]")
        continue()
      endif()
      set(header "${CMAKE_MATCH_1}")
      set(layer "")
      if(header MATCHES "^(providers/[a-z_]+|[a-z_]+)/")
        set(layer "${CMAKE_MATCH_1}")
      endif()
      set(wrong FALSE)
      if(layer IN_LIST layers AND NOT layer IN_LIST allowed)
        set(wrong TRUE)
      elseif(DEFINED ${header}_users)
        set(wrong TRUE)
        foreach(user IN LISTS ${header}_users)
          if(file MATCHES "^${user}/")
            set(wrong FALSE)
          endif()
        endforeach()
      elseif(folder STREQUAL "src/core" AND header IN_LIST io_headers)
        set(wrong TRUE)
      endif()
      if(wrong)
        string(APPEND problems "  ${file}: ${line}\n")
      endif()
    endforeach()
  endforeach()
  set(problems "${problems}" PARENT_SCOPE)
  set(checked ${checked} ${files} PARENT_SCOPE)
endfunction()

foreach(layer IN LISTS layers)
  check_folder(src/${layer} ${layer} ${below_${layer}})
endforeach()
foreach(folder IN ITEMS include cli examples)
  check_folder(${folder})
endforeach()
foreach(folder IN ITEMS bench tests fuzz)
  check_folder(${folder} ${layers})
endforeach()

# A new folder of src/ needs a line in this test.
file(GLOB_RECURSE sources RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/src/*.cpp" "${SOURCE_DIR}/src/*.hpp")
list(REMOVE_ITEM sources ${checked})
foreach(file IN LISTS sources)
  string(APPEND problems "  ${file} is in no layer\n")
endforeach()

if(problems)
  message(FATAL_ERROR "includes that go against the architecture:\n${problems}")
endif()
