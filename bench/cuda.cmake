rdmagpu_bench(bench_cuda_create SOURCES cuda_create.cpp LIBRARIES ${CMAKE_DL_LIBS})
target_include_directories(bench_cuda_create PRIVATE ${PROJECT_SOURCE_DIR}/src)
