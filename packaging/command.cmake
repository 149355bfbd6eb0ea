# Installs the command line with what belongs to it, if it was built.
if(NOT TARGET duramen_cli)
  return()
endif()
include(GNUInstallDirs)
set_target_properties(duramen_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS duramen_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli)
install(FILES "${PROJECT_SOURCE_DIR}/cli/completion/duramen.bash" RENAME duramen
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT cli)
install(FILES "${PROJECT_SOURCE_DIR}/cli/completion/_duramen"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT cli)
if(EXISTS "${PROJECT_SOURCE_DIR}/cli/man/duramen.1")
  install(FILES "${PROJECT_SOURCE_DIR}/cli/man/duramen.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT cli)
endif()
