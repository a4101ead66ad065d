# Read by cpack for each generator: CPack puts the summary of the project before a Debian description, which has its
# own (CPACK_DEBIAN_<COMPONENT>_DESCRIPTION).
if(CPACK_GENERATOR STREQUAL "DEB")
  unset(CPACK_PACKAGE_DESCRIPTION_SUMMARY)
endif()
