"""`stream` with a V4L2 device as its peer. In the emulated machine VIVID says that the kernel's virtual driver is there."""

import os
import unittest

from support import Y4M_FRAME, ProgramTest, frames, run, y4m

PLACE = ["--peer", "v4l2:/dev/null"]


class WithoutDevice(ProgramTest):
    def test_what_is_no_device_is_refused_with_a_hint(self):
        self.assertFails(run("stream", *PLACE), 1, "VIDIOC_QUERYCAP failed: ENOTTY", "hint: Name a V4L2 device")
        self.assertFails(run("stream", "--peer", "v4l2:/dev/nothing"), 1, "stream: /dev/nothing: ", "failed: ENOENT", "hint: List the devices")

    def test_the_refusal_is_in_the_json(self):
        outcome = run("stream", "--json", *PLACE)
        self.assertEqual((outcome.code, outcome.json["error"]["call"]), (1, "VIDIOC_QUERYCAP"))

    def test_what_a_device_cannot_be_asked_for_is_a_wrong_command_line(self):
        clip = self.file("clip.y4m", y4m(frames(1, Y4M_FRAME)))
        for others in (["--pix", "uyvy422"], ["--size", "2x2"], ["--bytes", 1], ["--preload"], ["--loop"], ["--playout"],
                       ["--check", "none"], [clip]):
            self.assertFails(run("stream", *PLACE, *others), 2, "cannot be together with --peer v4l2:...")
        self.assertFails(run("stream", *PLACE, "--rate", "input"), 2, "--rate")

    def test_a_device_that_is_named_wrongly_is_a_wrong_command_line(self):
        for tail, told in (("", "name a device"), ("/dev/video0,x=1", "behind the device come"),
                           ("/dev/video0,format=UYVYX", "four letters"), ("/dev/video0,format=", "four letters"),
                           ("/dev/video0,size=3", "3"), ("/dev/video0,input=-1", "number"),
                           ("/dev/video0,memory=mmap", "dma-buf or user-pointer"),
                           ("/dev/video0,format=UYVY,format=YUYV", "each once")):
            self.assertFails(run("stream", "--peer", "v4l2:" + tail), 2, told)

    def test_without_a_device_an_input_is_required(self):
        self.assertFails(run("stream"), 2, "INPUT is required")

    def test_verify_takes_none(self):
        self.assertFails(run("verify", *PLACE), 1, "no peer 'v4l2:/dev/null'")


@unittest.skipUnless("VIVID" in os.environ, "the kernel's virtual video driver is not there")
class Vivid(ProgramTest):
    def test_captures_to_a_file(self):
        out = os.path.join(self.folder, "out.raw")
        outcome = run("stream", "--json", "--frames", 10, "--rate", 15, "--out", out, "--proof",
                      "--peer", "v4l2:/dev/video0,format=UYVY,size=640x360,input=0")
        self.assertEqual(outcome.code, 0, outcome.err)
        report = outcome.json
        self.assertEqual((report["frames"], report["drops"], report["moved_by"]), (10, 0, "device"))
        device = report["device"]
        self.assertEqual((device["format"], device["width"], device["height"]), ("UYVY", 640, 360))
        self.assertEqual((device["frame_bytes"], device["rate"]), (640 * 360 * 2, [15, 1]))
        self.assertEqual((device["lost"], device["faulty"], device["timeouts"]), (0, 0, 0))
        self.assertEqual(device["memory"], "dma-buf" if os.path.exists("/dev/udmabuf") else "user-pointer")
        self.assertEqual(device["memory_reason"] is None, os.path.exists("/dev/udmabuf"))
        self.assertEqual(report["frame_proof"]["stale"], 0)
        with open(out, "rb") as file:
            pictures = [file.read(640 * 360 * 2) for _ in range(10)]
            self.assertEqual(file.read(), b"")
        self.assertEqual(len(set(pictures)), 10)

    def test_text_report(self):
        outcome = run("stream", "--frames", 3, "--staged", "--peer", "v4l2:/dev/video0,format=NV12,size=320x180,input=0,memory=user-pointer")
        self.assertEqual(outcome.code, 0, outcome.err)
        for line in (r"input +/dev/video0 \(NV12 320x180\)", r"device +NV12 320x180, 86400 bytes a frame, 320 a line, \d+/\d+ fps; slots by user-pointer",
                     r"frames +3 \(", r"drops +\d+ \(\d+ lost by the device, 0 damaged\), 0 timeouts", r"path +staged"):
            self.assertRegex(outcome.out, f"(?m)^{line}")

    def test_a_format_that_it_has_not_is_told_by_its_letters(self):
        self.assertFails(run("stream", "--peer", "v4l2:/dev/video0,format=H264"), 1, "no format H264: it took ")
        self.assertFails(run("stream", "--peer", "v4l2:/dev/video0,size=333x77,input=0"), 1, "no picture 333 pixels wide or high")

    def test_an_output_does_not_capture(self):
        self.assertFails(run("stream", "--peer", "v4l2:/dev/video1"), 1, "must capture")


if __name__ == "__main__":
    unittest.main()
