# The version is written in CMakeLists.txt; the manifest that must repeat it says the same.
cmake_minimum_required(VERSION 3.25)
file(READ "${SOURCE_DIR}/vcpkg.json" manifest)
string(JSON version GET "${manifest}" version-semver)
if(NOT version STREQUAL VERSION)
  message(FATAL_ERROR "vcpkg.json says ${version}, CMakeLists.txt ${VERSION}")
endif()
