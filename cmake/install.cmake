include(CMakePackageConfigHelpers)

# Each part is a component, which cmake/package.cmake makes a package of.
function(rdmagpu_install_library target component)
  install(TARGETS ${target} EXPORT rdmagpuTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endfunction()
rdmagpu_install_library(rdmagpu library)
rdmagpu_install_library(rdmagpu_c library_c)
rdmagpu_install_library(rdmagpu_cufile library_cufile)
rdmagpu_install_library(rdmagpu_c_cufile library_c_cufile)
if(TARGET rdmagpu_verbs)
  rdmagpu_install_library(rdmagpu_verbs library_verbs)
  rdmagpu_install_library(rdmagpu_c_verbs library_c_verbs)
endif()
install(DIRECTORY include/rdmagpu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/include/rdmagpu/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rdmagpu
  COMPONENT development)
install(EXPORT rdmagpuTargets NAMESPACE rdmagpu:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rdmagpu COMPONENT development)

set(RDMAGPU_TESTKIT_DIR ${CMAKE_INSTALL_LIBDIR}/rdmagpu/testkit)
configure_package_config_file(cmake/rdmagpuConfig.cmake.in ${PROJECT_BINARY_DIR}/rdmagpuConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rdmagpu PATH_VARS RDMAGPU_TESTKIT_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rdmagpuConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rdmagpuConfig.cmake ${PROJECT_BINARY_DIR}/rdmagpuConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rdmagpu COMPONENT development)

# pkg-config learns the prefix from where it finds the file, so that an install tree may be moved.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/rdmagpu.pc.in ${PROJECT_BINARY_DIR}/rdmagpu.pc @ONLY)
configure_file(cmake/rdmagpu-c.pc.in ${PROJECT_BINARY_DIR}/rdmagpu-c.pc @ONLY)
configure_file(cmake/rdmagpu-cufile.pc.in ${PROJECT_BINARY_DIR}/rdmagpu-cufile.pc @ONLY)
configure_file(cmake/rdmagpu-c-cufile.pc.in ${PROJECT_BINARY_DIR}/rdmagpu-c-cufile.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rdmagpu.pc ${PROJECT_BINARY_DIR}/rdmagpu-c.pc ${PROJECT_BINARY_DIR}/rdmagpu-cufile.pc
  ${PROJECT_BINARY_DIR}/rdmagpu-c-cufile.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
if(TARGET rdmagpu_verbs)
  configure_file(cmake/rdmagpu-verbs.pc.in ${PROJECT_BINARY_DIR}/rdmagpu-verbs.pc @ONLY)
  configure_file(cmake/rdmagpu-c-verbs.pc.in ${PROJECT_BINARY_DIR}/rdmagpu-c-verbs.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/rdmagpu-verbs.pc ${PROJECT_BINARY_DIR}/rdmagpu-c-verbs.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
