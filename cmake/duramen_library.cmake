# duramen_library(<name>
#   SOURCES <file>...            # paths relative to the calling folder; none: a header-only target
#   [PUBLIC_LINK <target>...]    # what our public headers, or the users of this folder, need
#   [PRIVATE_LINK <target>...])  # what only the sources need
#
# Defines duramen_<name> and its alias duramen::<name>. Sources include public headers as <duramen/x.hpp> and internal
# ones by folder, "base/json.hpp"; users of the target see the public headers only.

if(DURAMEN_PCH AND NOT DURAMEN_UNITY)
  duramen_precompiled_header(library)
  set_target_properties(duramen_library_pch PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()

function(duramen_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC_LINK;PRIVATE_LINK")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "duramen_library(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()

  set(target duramen_${name})
  set(public_headers "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
  if(arg_SOURCES)
    # Static whatever BUILD_SHARED_LIBS says: packaging/ makes the libraries that users get.
    add_library(${target} STATIC ${arg_SOURCES})
    duramen_compile_settings(${target})
    if(DURAMEN_UNITY)
      duramen_unity(${target})
    elseif(DURAMEN_PCH)
      duramen_precompile(${target} library)
    endif()
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)  # may end up in a shared library
    target_include_directories(${target} PUBLIC ${public_headers} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC_LINK} PRIVATE ${arg_PRIVATE_LINK})
  else()
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_include_directories(${target} INTERFACE ${public_headers})
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC_LINK} ${arg_PRIVATE_LINK})
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_library(duramen::${name} ALIAS ${target})
endfunction()
