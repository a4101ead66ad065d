"""alloc and verify of CUDA memory, on the stand-in of the driver."""

import os
import unittest

from support import Y4M_FRAME, ProgramTest, frames, run, y4m

VERIFY = ["verify", "--api", "cuda", "--slots", "2", "--bytes", "65536"]
CUDA = ["alloc", "--api", "cuda", "--slots", "3", "--bytes", "100000"]


class AllocCuda(ProgramTest):
    def test_tells_what_is_true_of_gpu_memory_and_nothing_of_host_pages(self):
        text = run(*CUDA).out
        self.assertRegex(text, r"(?m)^CUDA memory +vmm$")
        self.assertRegex(text, r"(?m)^BAR1 +\d+ \(256 GiB\), of which \d+ \(256 GiB\) were free$")
        self.assertRegex(text, r"(?m)^peer's writes +are seen in order by this GPU, by others after a flush$")
        for line in ("locked", "NUMA node", "memfd", "pinned by"):
            self.assertNotIn(f"\n{line} ", text)

    def test_sync_memops_was_tried_and_how_that_ended(self):
        facts = run(*CUDA, "--json").json["facts"]
        self.assertEqual((facts["sync_memops"], facts["sync_memops_error"]["code_name"]), ("no", "CUDA_ERROR_NOT_SUPPORTED"))
        self.assertEqual(facts["tolerated"], [])
        self.assertRegex(run(*CUDA).out, r"(?m)^SYNC_MEMOPS +no: .*cuPointerSetAttribute")

    def test_sync_memops_is_set_on_memory_that_takes_it(self):
        plain = {"env": {**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": "no-vmm-rdma"}}
        facts = run(*CUDA, "--json", **plain).json["facts"]
        self.assertEqual((facts["cuda_memory"], facts["sync_memops"], facts["sync_memops_error"]), ("mem-alloc", "yes", None))
        self.assertRegex(run(*CUDA, **plain).out, r"(?m)^SYNC_MEMOPS +yes$")

    def test_export_says_how_it_is_mapped(self):
        wanted = [*CUDA, "--export", "--pcie-mapping"]
        report = run(*wanted, "try", "--json").json
        self.assertIs(report["pcie_mapped"], False)
        self.assertEqual(report["pcie_error"]["code_name"], "NotPcieMappable")
        self.assertRegex(run(*wanted, "try").out, r"(?m)^export +one dma-buf for all slots, mapped in the driver's default way: ")

    def test_mapping_that_is_required_and_refused_is_a_failure(self):
        wanted = [*CUDA, "--export", "--pcie-mapping"]
        refused = run(*wanted, "require", "--json")
        self.assertEqual(refused.code, 1)
        error = refused.json["error"]
        self.assertEqual(error["code_name"], "NotPcieMappable")
        self.assertTrue(error["hints"][0].startswith("Leave --pcie-mapping out"))
        self.assertEqual(run(*CUDA, "--pcie-mapping", "try").code, 2, "it needs --export")

    def test_every_failure_of_the_driver_has_a_hint(self):
        for calls in (1, 3, 10):
            gone = run(*CUDA, "--json", env={**os.environ, "RDMAGPU_STANDIN_CUDA_SHUT_DOWN_AFTER": str(calls)})
            self.assertEqual(gone.code, 1)
            error = gone.json["error"]
            self.assertEqual(error["code_name"], "CUDA_ERROR_DEINITIALIZED")
            self.assertRegex(error["hints"][0], "^Start the program again")

    def test_sizes_that_no_memory_has_name_the_options(self):
        refused = run("alloc", "--api", "cuda", "--slots", "4000000000", "--bytes", "1000000000000000", "--json")
        self.assertEqual(refused.json["error"]["code_name"], "SizeOverflow")
        self.assertRegex(refused.json["error"]["hints"][0], "^Set --slots or --bytes lower")


class KindOfMemory(ProgramTest):
    def test_is_the_one_that_was_asked_for_in_each_command(self):
        clip = self.file("clip.y4m", y4m(frames(1, Y4M_FRAME)))
        for kind in ("vmm", "mem-alloc"):
            wanted = ["--api", "cuda", "--cuda-memory", kind]
            for command in (["alloc"], ["stream", clip], ["stream", clip, "--staged"]):
                self.assertEqual(run(*command, *wanted, "--json").json["facts"]["cuda_memory"], kind)
            self.assertIn(f"cuda {kind}, ", run("verify", *wanted).out)
        self.assertEqual(run("alloc", "--api", "cuda", "--cuda-memory", "auto", "--json").json["facts"]["cuda_memory"], "vmm")
        self.assertFails(run("alloc", "--cuda-memory", "Vmm"), 2, "'Vmm' is none of auto, vmm, mem-alloc")

    def test_one_that_is_not_offered_says_which_is(self):
        clip = self.file("clip.y4m", y4m(frames(1, Y4M_FRAME)))
        none = {"env": {**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": "no-vmm"}}
        wanted = ["--api", "cuda", "--cuda-memory", "vmm", "--json"]
        for command in (["alloc"], ["verify"], ["stream", clip], ["stream", clip, "--staged"]):
            error = run(*command, *wanted, **none).json["error"]
            self.assertRegex(error["hints"][0], "^Set --cuda-memory to mem-alloc, or to auto", command)


class NamedGpu(ProgramTest):
    def test_one_that_is_not_there_is_an_error_for_auto_too(self):
        clip = self.file("clip.y4m", y4m(frames(1, Y4M_FRAME)))
        for command in (["alloc"], ["verify"], ["stream", clip], ["stream", clip, "--staged"]):
            refused = run(*command, "--gpu", "99", "--json")
            self.assertEqual(refused.code, 1, command)
            self.assertEqual(refused.json["error"]["kind"], "NotFound")
            self.assertIn("asked 99, available 2", refused.err)

    def test_one_that_cannot_be_used_is_passed_over_and_the_note_says_why(self):
        outcome = run("alloc", "--gpu", "1", env={**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": "geforce"})
        self.assertEqual(outcome.code, 0)
        self.assertRegex(outcome.err, "--gpu has no effect: host memory lies on no GPU; cuda: .*GPU_DIRECT_RDMA.*device 1")


class SmallBar1(ProgramTest):
    """Of a T4 peers see 256 MiB: seven frames of 32 MiB, less the reserve."""

    T4 = {"env": {**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": "t4"}}
    LARGE = ["alloc", "--api", "cuda", "--bytes", "32M"]

    def test_more_slots_than_fit_are_refused_with_the_depth_that_does(self):
        refused = run(*self.LARGE, "--slots", "8", "--json", **self.T4)
        self.assertEqual(refused.code, 1)
        error = refused.json["error"]
        self.assertEqual(error["code_name"], "DeviceBudgetExceeded")
        self.assertEqual(error["hints"][0], "Keep the ring shallow: 7 slots of 33554432 bytes fit (--slots 7).")
        self.assertIn("hint: Keep the ring shallow: 7 slots", refused.err)
        huge = run("alloc", "--api", "cuda", "--bytes", "1G", "--json", **self.T4).json["error"]
        self.assertRegex(huge["hints"][0], "^Ask for smaller slots: not one of 1073741824 bytes fits")

    def test_auto_passes_the_gpu_over_and_says_what_would_have_fitted(self):
        report = run("alloc", "--bytes", "32M", "--slots", "8", "--json", **self.T4).json
        self.assertEqual(report["api"], "host")
        self.assertRegex(report["selection"][0]["reason"]["hints"][0], "^Keep the ring shallow: 7 slots")

    def test_what_fits_says_how_deep_the_ring_may_be(self):
        fits = [*self.LARGE, "--slots", "7"]
        self.assertEqual(run(*fits, "--json", **self.T4).json["facts"]["bar1_slots"], 7)
        self.assertRegex(run(*fits, **self.T4).out, r"(?m)^ring +keep it shallow: .* BAR1 has room for 7$")

    def test_small_frames_and_large_windows_need_no_advice(self):
        self.assertNotIn("\nring ", run(*CUDA, **self.T4).out)
        self.assertNotIn("\nring ", run(*self.LARGE).out)


class VerifyCuda(ProgramTest):
    def test_both_directions_are_proven_and_no_device(self):
        for profile, memory in (("h200", "vmm"), ("no-vmm-rdma", "mem-alloc")):
            on_profile = {"env": {**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": profile}}
            outcome = run(*VERIFY, "--json", **on_profile)
            self.assertEqual((outcome.code, outcome.err), (0, ""))
            report = outcome.json
            self.assertEqual((report["api"], report["peer"], report["slots"]), ("cuda", "software", 2))
            self.assertEqual((report["write"], report["read"], report["failures"]), ("proven", "proven", []))
            self.assertEqual(report["proof"]["by"], "software", "the stand-in has no copy engine")
            self.assertIn(f"cuda {memory}, 2 slots of", run(*VERIFY, **on_profile).out)

    def test_text_names_the_gpu_and_what_is_not_proven(self):
        text = run(*VERIFY).out
        self.assertRegex(text, r"(?m)^memory +cuda vmm, 2 slots of 65536 bytes on rdmagpu software device")
        self.assertRegex(text, r"(?m)^write +proven")
        self.assertRegex(text, r"(?m)^read +proven")
        self.assertRegex(text, r"(?m)^moved by +a software device in the GPU's place: .* no third-party device$")
        self.assertIn("no hardware path is proven", text)

    def test_failure_of_the_driver_has_a_hint(self):
        gone = run(*VERIFY, "--json", env={**os.environ, "RDMAGPU_STANDIN_CUDA_SHUT_DOWN_AFTER": "40"})
        self.assertEqual(gone.code, 1)
        self.assertTrue(gone.json["error"]["hints"])

    def test_gpu_that_no_peer_can_reach_is_refused(self):
        geforce = {**os.environ, "RDMAGPU_STANDIN_CUDA_PROFILE": "geforce"}
        self.assertFails(run(*VERIFY, env=geforce), 1, "GPU_DIRECT_RDMA")


if __name__ == "__main__":
    unittest.main()
