# How our own targets are compiled. Nothing here reaches the targets of a user who embeds us.

option(DURAMEN_WERROR "Treat warnings as errors (the presets do; users' newer compilers need not)" OFF)
option(DURAMEN_MUTANTS "Let tests put old defects back: see include/duramen/detail/mutant.hpp. Not for programs" OFF)
option(DURAMEN_UNITY "Compile the sources of a library eight at a time: half the work, but in coarser steps" OFF)
option(DURAMEN_PCH "Compile headers that many sources include once for all of them" ${PROJECT_IS_TOP_LEVEL})
set(DURAMEN_SANITIZE "" CACHE STRING "Sanitizers for the whole build, e.g. \"address,undefined\" or \"thread\"")

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

  # A faster linker, if there is one.
  find_program(DURAMEN_MOLD NAMES mold)
  find_program(DURAMEN_LLD NAMES ld.lld-19 ld.lld)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND DURAMEN_MOLD)
    add_link_options("-fuse-ld=mold")
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND DURAMEN_LLD)
    add_link_options("-fuse-ld=lld")
  endif()

  # ccache, told that precompiled headers are fine.
  find_program(DURAMEN_CCACHE NAMES ccache)
  if(DURAMEN_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros "${DURAMEN_CCACHE}")
  endif()
endif()

if(DURAMEN_SANITIZE)
  add_compile_options("-fsanitize=${DURAMEN_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options("-fsanitize=${DURAMEN_SANITIZE}")
endif()

if(DURAMEN_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Language level, warnings and the version, for a target of ours.
function(duramen_compile_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_definitions(${target} PRIVATE
    "DURAMEN_VERSION=\"${PROJECT_VERSION}\"" $<$<BOOL:${DURAMEN_MUTANTS}>:DURAMEN_MUTANTS>)
  if(DURAMEN_SANITIZE)
    target_compile_options(${target} PRIVATE -w)  # the plain build has reported them
  elseif(NOT MSVC)
    # Designated initialisers that leave fields to their defaults are an idiom here, not an oversight.
    target_compile_options(${target} PRIVATE
      -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wextra-semi
      -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wno-missing-field-initializers
      $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-designated-field-initializers>
      $<$<BOOL:${DURAMEN_WERROR}>:-Werror>)
  endif()
endfunction()

# Compiles the sources of a target eight at a time: the compiler reads their headers once per eight files.
function(duramen_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  if(NOT MSVC)
    target_compile_options(${target} PRIVATE -Wno-shadow)  # a local name may repeat one of a neighbouring file
  endif()
endfunction()

# duramen_precompile(<target> <name>): the target reads cmake/<name>_pch.hpp from memory. All targets with the same name
# share one compiled header, so they must be compiled with the same options.
function(duramen_precompile target name)
  if(NOT TARGET duramen_${name}_pch)
    message(FATAL_ERROR "duramen_precompile(${target} ${name}): no duramen_precompiled_header(${name})")
  endif()
  target_precompile_headers(${target} REUSE_FROM duramen_${name}_pch)
endfunction()

# duramen_precompiled_header(<name> [<target>...]): compiles cmake/<name>_pch.hpp with the headers of the targets.
function(duramen_precompiled_header name)
  set(target duramen_${name}_pch)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/pch.cpp")
  duramen_compile_settings(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PRIVATE ${ARGN})
  target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/${name}_pch.hpp")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Without a time in it ccache can keep the header.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

if(DURAMEN_PCH)
  duramen_precompiled_header(program)  # the command line and the benchmarks
endif()
