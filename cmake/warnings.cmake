# Warnings for this project's own targets only: a consumer's build is not ours to tighten.
add_library(rdmagpu_warnings INTERFACE)
if(MSVC)
  target_compile_options(rdmagpu_warnings INTERFACE /W4 $<$<BOOL:${RDMAGPU_WERROR}>:/WX>)
else()
  target_compile_options(rdmagpu_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
    -Woverloaded-virtual -Wdouble-promotion -Wformat=2
    $<$<BOOL:${RDMAGPU_WERROR}>:-Werror>)
endif()
