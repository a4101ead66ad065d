rdmagpu_bench(bench_frame_proof SOURCES frame_proof.cpp)
rdmagpu_bench(bench_host_create SOURCES host_create.cpp)
rdmagpu_bench(bench_host_stream SOURCES host_stream.cpp)
