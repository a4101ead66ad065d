include(CMakePackageConfigHelpers)

install(TARGETS rdmagpu rdmagpu_c EXPORT rdmagpuTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS rdmagpu_cufile EXPORT rdmagpuTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET rdmagpu_verbs)
  install(TARGETS rdmagpu_verbs rdmagpu_c_verbs EXPORT rdmagpuTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/rdmagpu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/include/rdmagpu/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rdmagpu)
install(EXPORT rdmagpuTargets NAMESPACE rdmagpu:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rdmagpu)

set(RDMAGPU_TESTKIT_DIR ${CMAKE_INSTALL_LIBDIR}/rdmagpu/testkit)
configure_package_config_file(cmake/rdmagpuConfig.cmake.in ${PROJECT_BINARY_DIR}/rdmagpuConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rdmagpu PATH_VARS RDMAGPU_TESTKIT_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rdmagpuConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rdmagpuConfig.cmake ${PROJECT_BINARY_DIR}/rdmagpuConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rdmagpu)

# pkg-config learns the prefix from where it finds the file, so that an install tree may be moved.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/rdmagpu.pc.in ${PROJECT_BINARY_DIR}/rdmagpu.pc @ONLY)
configure_file(cmake/rdmagpu-c.pc.in ${PROJECT_BINARY_DIR}/rdmagpu-c.pc @ONLY)
configure_file(cmake/rdmagpu-cufile.pc.in ${PROJECT_BINARY_DIR}/rdmagpu-cufile.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rdmagpu.pc ${PROJECT_BINARY_DIR}/rdmagpu-c.pc ${PROJECT_BINARY_DIR}/rdmagpu-cufile.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET rdmagpu_verbs)
  configure_file(cmake/rdmagpu-verbs.pc.in ${PROJECT_BINARY_DIR}/rdmagpu-verbs.pc @ONLY)
  configure_file(cmake/rdmagpu-c-verbs.pc.in ${PROJECT_BINARY_DIR}/rdmagpu-c-verbs.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/rdmagpu-verbs.pc ${PROJECT_BINARY_DIR}/rdmagpu-c-verbs.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
