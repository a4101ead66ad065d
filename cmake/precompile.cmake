# Headers of others that most files of a target include, compiled once. Not where users build, so that a file which leaves
# an include out is found.
option(RDMAGPU_PCH "Precompile headers, for the tests, the program and the library" OFF)
set(RDMAGPU_STANDARD_HEADERS <algorithm> <array> <atomic> <charconv> <chrono> <functional> <memory> <mutex> <optional> <span>
  <string> <vector>)

# Not for Windows, whose headers a file may shape by macros before it includes any.
function(rdmagpu_precompile target)
  if(RDMAGPU_PCH AND NOT WIN32)
    target_precompile_headers(${target} PRIVATE ${RDMAGPU_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()
