foreach(subject checksum create frame_proof staged stream)
  rdmagpu_bench(bench_cuda_${subject} SOURCES cuda_${subject}.cpp LIBRARIES ${CMAKE_DL_LIBS})
  target_include_directories(bench_cuda_${subject} PRIVATE ${PROJECT_SOURCE_DIR}/src)
endforeach()
