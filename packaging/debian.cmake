# `cpack` in the build folder makes Debian packages. Needs dpkg-dev and file.
#
#   libduramen0.1    the shared libraries; what they need is read from them
#   libduramen-dev   headers, static libraries, CMake and pkg-config files
#   duramen          the command line, if it was built

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME duramen)
set(CPACK_PACKAGE_VENDOR "Duramen")
set(CPACK_PACKAGE_CONTACT "Duramen maintainers <duramen@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL development)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libduramen-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(development_depends nlohmann-json3-dev libsimdjson-dev libsqlite3-dev)
if(TARGET duramen_postgres)
  list(APPEND development_depends libpq-dev)
endif()
set(so_version "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
if(TARGET libduramen_shared)
  list(APPEND CPACK_COMPONENTS_ALL libraries)
  set(CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME libduramen${so_version})
  # The libraries of one package find each other here while their dependencies are read.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/packaging")
  list(PREPEND development_depends "libduramen${so_version} (= ${PROJECT_VERSION})")
endif()
list(JOIN development_depends ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
if(TARGET duramen_cli)
  list(APPEND CPACK_COMPONENTS_ALL cli)
  set(CPACK_DEBIAN_CLI_PACKAGE_NAME duramen)
  set(CPACK_DEBIAN_CLI_PACKAGE_SECTION devel)
  if(TARGET libduramen_shared)
    set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS "libduramen${so_version} (= ${PROJECT_VERSION})")
  endif()
endif()

include(CPack)
