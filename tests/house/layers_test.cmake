# Reads the #include lines and checks the arrows of the architecture: a folder includes internal headers only of the
# folders below it, users' programs include none, and each driver header is seen by one folder.

cmake_minimum_required(VERSION 3.25)

set(internal base core runtime client providers testing)

set(allowed_base base)
set(allowed_core core base)
set(allowed_runtime runtime core base)
set(allowed_client client base)
set(allowed_providers providers base)
set(allowed_testing ${internal})

set(problems "")

# Checks every file below `folder`, which may include internal headers of the folders named after it.
function(check_folder folder)
  set(allowed ${ARGN})
  file(GLOB_RECURSE files RELATIVE "${SOURCE_DIR}"
    "${SOURCE_DIR}/${folder}/*.cpp" "${SOURCE_DIR}/${folder}/*.hpp")
  foreach(file IN LISTS files)
    file(STRINGS "${SOURCE_DIR}/${file}" lines REGEX "^[ \t]*#[ \t]*include")
    foreach(line IN LISTS lines)
      if(line MATCHES "[\"<](([a-z_]+)/[^\">]*)[\">]" AND CMAKE_MATCH_2 IN_LIST internal
          AND NOT CMAKE_MATCH_2 IN_LIST allowed)
        string(APPEND problems "  ${file}: ${line}\n")
      elseif(line MATCHES "sqlite3\\.h" AND NOT file MATCHES "^src/providers/sqlite/")
        string(APPEND problems "  ${file}: ${line}\n")
      elseif(line MATCHES "libpq-fe\\.h" AND NOT file MATCHES "^src/providers/postgres/")
        string(APPEND problems "  ${file}: ${line}\n")
      endif()
    endforeach()
  endforeach()
  set(problems "${problems}" PARENT_SCOPE)
endfunction()

foreach(folder IN LISTS internal)
  check_folder(src/${folder} ${allowed_${folder}})
endforeach()
foreach(folder IN ITEMS include cli dashboard examples)
  check_folder(${folder})
endforeach()

if(problems)
  message(FATAL_ERROR "includes that go against the architecture:\n${problems}")
endif()
