# Packages of the components, by cpack -G DEB and cpack -G RPM; tools/package does all of it, docs/packages.md says
# more. Of a shared build only: a Debian package of a library is named after its soname.
set(CPACK_PACKAGE_VENDOR rdmagpu)
set(CPACK_PACKAGE_CONTACT "rdmagpu maintainers <rdmagpu@users.noreply.github.com>")
set(CPACK_PACKAGE_HOMEPAGE_URL ${PROJECT_HOMEPAGE_URL})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_contents.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package_description.cmake)
set(CPACK_RDMAGPU_PACKAGING ${PROJECT_SOURCE_DIR}/packaging)
set(CPACK_RDMAGPU_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE rdmagpu)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_RELEASE 1)

# rdmagpu_package(component DEB name section RPM name [NEEDS component...] [ALSO_DEB dependency...]
#   [ALSO_RPM dependency...] SUMMARY text TEXT text): NEEDS are packages of the same version.
set(CPACK_COMPONENTS_ALL)
set(debian_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(rpm_version ${PROJECT_VERSION}-${CPACK_RPM_PACKAGE_RELEASE})
macro(rdmagpu_package component)
  cmake_parse_arguments(arg "" "SUMMARY;TEXT" "DEB;RPM;NEEDS;ALSO_DEB;ALSO_RPM" ${ARGN})
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${arg_TEXT}")
  list(GET arg_DEB 0 CPACK_DEBIAN_${upper}_PACKAGE_NAME)
  list(GET arg_DEB 1 CPACK_DEBIAN_${upper}_PACKAGE_SECTION)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${arg_SUMMARY}\n${arg_TEXT}")
  set(CPACK_RPM_${component}_PACKAGE_NAME ${arg_RPM})
  set(CPACK_RPM_${component}_FILE_NAME RPM-DEFAULT)
  set(CPACK_RPM_${component}_PACKAGE_SUMMARY "${arg_SUMMARY}")
  set(deb_needs ${arg_ALSO_DEB})
  set(rpm_needs ${arg_ALSO_RPM})
  foreach(needed IN LISTS arg_NEEDS)
    string(TOUPPER ${needed} needed_upper)
    list(APPEND deb_needs "${CPACK_DEBIAN_${needed_upper}_PACKAGE_NAME} (= ${debian_version})")
    list(APPEND rpm_needs "${CPACK_RPM_${needed}_PACKAGE_NAME} = ${rpm_version}")
  endforeach()
  list(JOIN deb_needs ", " CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS)
  list(JOIN rpm_needs ", " CPACK_RPM_${component}_PACKAGE_REQUIRES)
endmacro()

set(about "Slots of GPU memory or host memory, each the size of a frame, for capture\ncards, RDMA NICs, FPGAs and NVMe drives, handed over in the form that the\ndevice's SDK wants.\n\n")
set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(libraries library library_c library_cufile library_c_cufile)
rdmagpu_package(library DEB librdmagpu${abi} libs RPM rdmagpu-libs
  SUMMARY "memory that another device reads and writes by DMA"
  TEXT "${about}This package has the library of C++.")
rdmagpu_package(library_c DEB librdmagpu-c${PROJECT_VERSION_MAJOR} libs RPM rdmagpu-c-libs
  SUMMARY "memory that another device reads and writes by DMA, for C"
  TEXT "${about}This package has the library of C, whose ABI is promised.")
rdmagpu_package(library_cufile DEB librdmagpu-cufile${abi} libs RPM rdmagpu-cufile-libs
  SUMMARY "rdmagpu's slots read from files and written to them"
  TEXT "${about}This package has the library that moves bytes between slots and files, by\nGPUDirect Storage (cuFile) where that is installed.")
rdmagpu_package(library_c_cufile DEB librdmagpu-c-cufile${PROJECT_VERSION_MAJOR} libs RPM rdmagpu-c-cufile-libs NEEDS library_c
  SUMMARY "rdmagpu's slots read from files and written to them, for C"
  TEXT "${about}This package has the library of C that moves bytes between slots and files.\nIt is used with librdmagpu_c of the same version.")
if(TARGET rdmagpu_verbs)
  list(APPEND libraries library_verbs library_c_verbs)
  rdmagpu_package(library_verbs DEB librdmagpu-verbs${abi} libs RPM rdmagpu-verbs-libs
    SUMMARY "registration of rdmagpu's slots with RDMA NICs"
    TEXT "${about}This package has the library that registers slots with RDMA NICs through\nlibibverbs.")
  rdmagpu_package(library_c_verbs DEB librdmagpu-c-verbs${PROJECT_VERSION_MAJOR} libs RPM rdmagpu-c-verbs-libs NEEDS library_c
    SUMMARY "registration of rdmagpu's slots with RDMA NICs, for C"
    TEXT "${about}This package has the library of C that registers slots with RDMA NICs. It is\nused with librdmagpu_c of the same version.")
  set(verbs_deb ALSO_DEB libibverbs-dev)
  set(verbs_rpm ALSO_RPM rdma-core-devel)
endif()
rdmagpu_package(development DEB librdmagpu-dev libdevel RPM rdmagpu-devel NEEDS ${libraries} ${verbs_deb} ${verbs_rpm}
  SUMMARY "memory that another device reads and writes by DMA, headers"
  TEXT "${about}This package has the headers for C++ and C, and what CMake and pkg-config\nfind them by.")
if(RDMAGPU_BUILD_CLI)
  rdmagpu_package(tools DEB rdmagpu-tools utils RPM rdmagpu-tools
    SUMMARY "allocates memory for DMA by other devices, and proves it"
    TEXT "${about}This package has the program rdmagpu, which lists what a machine can\nallocate, streams video frames through slots, and proves that a device's\nwrites arrive.")
endif()
if(RDMAGPU_BUILD_TESTKIT)
  rdmagpu_package(testkit DEB rdmagpu-testkit devel RPM rdmagpu-testkit
    SUMMARY "software devices to test GPU code with where there is no GPU"
    TEXT "Stand-ins of the libraries libcuda.so.1 and libnvidia-ml.so.1, as far as\nrdmagpu calls them, that run on the CPU; in a folder where no program finds\nthem unless it is told to. The program rdmagpu-testkit says where, and\ncompares them with a real driver.")
  set(CPACK_RPM_testkit_PACKAGE_AUTOPROV no) # it is no driver for other packages
endif()
include(CPack)
