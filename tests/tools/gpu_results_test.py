import json

import tree

import gpu_results

LOG = """\
a_test.cpp:1: Skipped
this machine has one GPU

a_test.cpp:2: Skipped
this machine has one GPU

"""


class GpuResults(tree.TreeTest):
    def setUp(self):
        super().setUp()
        tests = [
            {"name": "Holds", "result": "COMPLETED"},
            {"name": "Breaks", "result": "COMPLETED", "failures": [{}]},
            {"name": "Waits", "result": "SKIPPED"},
        ]
        suites = {"timestamp": "2026-12-02T03:57:00Z", "testsuites": [{"name": "Cuda", "testsuite": tests}]}
        row = {"name": "Create/slots:64/iterations:50", "ours_us": 2.0, "theirs_us": 1.0, "ratio": 2.0}
        self.write("contract.json", json.dumps(suites))
        self.write("contract.log", LOG)
        self.write("cuda_create.json", json.dumps({"context": {"num_cpus": 16, "bar1_charged_bytes": "65536"}, "benchmarks": [row]}))
        self.write("cuda_core.json", '{"skipped": "cuda.core: none"}')
        self.write("nvcc.log", "No tests were found!!!\n")
        self.write("commit.txt", "abc\n")
        self.write("stream_1080p_capture.json", '{"frames": 129, "mismatches": 0, "facts": {}}')
        self.write("stream_1080p_playout.json", '{"error": {"kind": "Unsupported"}}')
        self.write("replay.log", "109353 calls\n0 divergences\n")
        row = {"name": "Stream/capture/bytes:64/iterations:7", "ours_gbps": 49.0, "bare2_gbps": 50.0, "ratio": 0.98}
        self.write("cuda_stream.json", json.dumps({"context": {}, "benchmarks": [row]}))
        row = {"name": "LastByte/capture", "real_time": 9.0, "sliced_p50_us": 24.0, "slice_bytes": 65536}
        self.write("cuda_staged.json", json.dumps({"context": {}, "benchmarks": [row]}))
        row = {"name": "Check/bytes:8", "ours_us": 1.0, "theirs_us": 2.0, "ratio": 0.5}
        context = {"num_cpus": 16, "first_checksum_us": "30.5"}
        self.write("cuda_checksum.json", json.dumps({"context": context, "benchmarks": [row]}))
        row = {"name": "ArmAndCheck/bytes:8", "ours_us": 9.0, "theirs_us": 5.0, "ratio": 1.8}
        self.write("cuda_frame_proof.json", json.dumps({"context": {}, "benchmarks": [row]}))
        self.write("before.txt", "NVIDIA H200, 580.159.04, 0 MiB\n")
        self.write("after.txt", "NVIDIA H200, 580.159.04, 1 MiB\n")

    def test_failures_and_reasons_are_told_apart_from_what_passed(self):
        contract = gpu_results.results(self.root)["contract"]
        self.assertEqual(contract["passed"], 1)
        self.assertEqual(contract["failed"], ["Cuda.Breaks"])
        self.assertEqual(contract["skipped"], {"this machine has one GPU": 2})

    def test_what_needs_the_toolkit_says_so_where_it_is_not(self):
        told = gpu_results.results(self.root)
        self.assertTrue(told["abi"].startswith("skipped"))
        self.assertTrue(told["nvcc"].startswith("skipped"))
        (self.root / "nvcc.log").unlink()
        self.assertTrue(gpu_results.results(self.root)["nvcc"].startswith("skipped"), "it was not even built")

    def test_compilation_passes_or_fails(self):
        self.write("nvcc.log", "100% tests passed, 0 tests failed out of 1\n")
        self.assertEqual(gpu_results.results(self.root)["nvcc"], "passed")
        self.write("nvcc.log", "0% tests passed, 1 tests failed out of 1\n")
        self.assertEqual(gpu_results.results(self.root)["nvcc"], "failed")

    def test_memory_that_was_not_given_back_shows(self):
        told = gpu_results.results(self.root)
        self.assertNotEqual(told["gpu_driver_used_before"], told["gpu_driver_used_after"])

    def test_rows_carry_the_ratios(self):
        creation = gpu_results.results(self.root)["creation"]
        self.assertEqual(creation["bar1_charged_bytes"], 65536)
        rows = creation["rows"]
        self.assertEqual(rows, {"Create/slots:64": {"ours_us": 2.0, "theirs_us": 1.0, "ratio": 2.0}})

    def test_a_stream_tells_its_counts_or_its_error(self):
        told = gpu_results.results(self.root)["program"]
        self.assertEqual(told["stream_1080p_capture"], {"frames": 129, "mismatches": 0})
        self.assertEqual(told["stream_1080p_playout"], {"error": {"kind": "Unsupported"}})

    def test_what_happens_once_is_told_beside_the_rows(self):
        checksum = gpu_results.results(self.root)["checksum"]
        self.assertEqual(checksum["first_checksum_us"], 30.5)
        self.assertEqual(list(checksum["rows"]), ["Check/bytes:8"])

    def test_proof_of_frames_is_told_beside_a_bare_launch(self):
        rows = gpu_results.results(self.root)["frame_proof"]["rows"]
        self.assertEqual(rows, {"ArmAndCheck/bytes:8": {"ours_us": 9.0, "theirs_us": 5.0, "ratio": 1.8}})

    def test_streaming_is_told_beside_bare_copies(self):
        rows = gpu_results.results(self.root)["streaming"]["rows"]
        self.assertEqual(rows, {"Stream/capture/bytes:64": {"ours_gbps": 49.0, "bare2_gbps": 50.0, "ratio": 0.98}})

    def test_staging_tells_its_latencies_and_what_a_slice_was(self):
        rows = gpu_results.results(self.root)["staging"]["rows"]
        self.assertEqual(rows, {"LastByte/capture": {"sliced_p50_us": 24.0, "slice_bytes": 65536}})

    def test_trace_tells_its_last_line(self):
        self.assertEqual(gpu_results.results(self.root)["trace"], "0 divergences")

    def test_what_was_skipped_says_why(self):
        told = gpu_results.results(self.root)["creation_with_cuda_core"]
        self.assertEqual(told, {"skipped": "cuda.core: none"})

    def test_python_tells_how_each_test_ended(self):
        self.assertEqual(gpu_results.results(self.root)["python"], "skipped: not run")
        self.write("python.log", "torch 2.9.0\ntest_a (__main__.PyTorch.test_a) ... ok\ntest_a (__main__.Jax) ... FAIL\n\nFAILED (failures=1)\n")
        self.assertEqual(gpu_results.results(self.root)["python"], {
            "versions": ["torch 2.9.0"], "tests": {"PyTorch.test_a": "ok", "Jax.test_a": "FAIL"},
            "summary": "FAILED (failures=1)",
        })
        self.write("python.log", "skipped: the pack has no library for Python\n")
        self.assertEqual(gpu_results.results(self.root)["python"], "skipped: the pack has no library for Python")


if __name__ == "__main__":
    tree.unittest.main()
