"""`stream` with a V4L2 device as its peer. In the emulated machine VIVID says that the kernel's virtual driver is there."""

import os
import re
import signal
import subprocess
import time
import unittest

from support import TIMEOUT, Y4M_FRAME, ProgramTest, finish, frames, run, start, y4m

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
        for others in (["--pix", "uyvy422"], ["--size", "2x2"], ["--bytes", 1], ["--preload"], ["--loop"], ["--check", "none"], [clip]):
            self.assertFails(run("stream", *PLACE, *others), 2, "cannot be together with --peer v4l2:...")
        self.assertFails(run("stream", *PLACE, "--rate", "input"), 2, "--rate")

    def test_playing_out_needs_an_input_and_sees_nothing_of_what_was_sent(self):
        clip = self.file("clip.y4m", y4m(frames(1, Y4M_FRAME)))
        self.assertFails(run("stream", *PLACE, "--playout"), 2, "INPUT is required")
        for others in (["--check", "all"], ["--out", self.path("out.raw")]):
            self.assertFails(run("stream", clip, "--playout", *PLACE, *others), 2, "nobody sees what the device has sent")
        self.assertFails(run("stream", clip, "--playout", *PLACE, "--proof"), 2, "a peer that reads leaves no trace")
        self.assertFails(run("stream", clip, "--playout", *PLACE), 1, "VIDIOC_QUERYCAP failed: ENOTTY", "hint: Name a V4L2 device")

    def test_playing_out_looks_at_its_input_first(self):
        raw = self.file("clip.raw", bytes(12))
        self.assertFails(run("stream", self.path("none.y4m"), "--playout", *PLACE), 1, "none.y4m")
        self.assertFails(run("stream", raw, "--playout", *PLACE), 1, "--pix")
        self.assertFails(run("stream", raw, "--bytes", 12, "--rate", "input", "--playout", *PLACE), 1, "does not say its rate")

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
        self.assertFails(run("stream", "--peer", "v4l2:/dev/video1"), 1, "/dev/video1: ", "the device must capture", "hint: Name another node")

    def test_an_input_does_not_play_out(self):
        clip = self.file("clip.raw", bytes(12))
        self.assertFails(run("stream", clip, "--bytes", 12, "--playout", "--peer", "v4l2:/dev/video0"), 1,
                         "/dev/video0: ", "a device that puts out", "hint: Name another node")

    def test_frames_of_another_size_are_refused(self):
        clip = self.file("clip.raw", bytes(1000))
        self.assertFails(run("stream", clip, "--bytes", 1000, "--playout", "--peer", "v4l2:/dev/video1,format=UYVY,size=640x360"), 1,
                         "has frames of 1000 bytes, and /dev/video1 takes 460800 bytes: UYVY 640x360, 1280 a line", "hint: Name the format and size")


def v4l2_ctl(node, *options):
    done = subprocess.run(["v4l2-ctl", "-d", f"/dev/video{node}", *options], capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


def connect(device):
    """A cable from the HDMI output to the HDMI input of vivid's device of that number, which has two nodes."""
    capture, playout = 2 * device, 2 * device + 1
    v4l2_ctl(capture, "--set-input=3")
    v4l2_ctl(playout, "--set-output=1")
    controls = v4l2_ctl(capture, "--list-ctrls-menus")
    if menu := re.search(rf"hdmi_00{device}_0_is_connected_to.*?(\d+): Output HDMI 00{device}-0", controls, re.S):  # from 6.12 on
        v4l2_ctl(capture, f"--set-ctrl=hdmi_00{device}_0_is_connected_to={menu.group(1)}")
    else:
        v4l2_ctl(capture, "--set-ctrl=loop_video=1")
    v4l2_ctl(capture, "--set-ctrl=osd_text_mode=2")  # none
    return capture, playout


@unittest.skipUnless("VIVID" in os.environ, "the kernel's virtual video driver is not there")
class VividLoop(ProgramTest):
    """What is played out comes back through the driver, byte for byte."""

    FRAMES = 24

    def loop(self, device, name, size, frame_bytes, *options, letters, rounds=1, moved_by="device"):
        """Plays the clip out while another program captures. Returns the report and which frames came back."""
        capture, playout = connect(device)
        width, height = size.split("x")
        for node in (capture, playout):
            v4l2_ctl(node, f"--set-dv-bt-timings=cvt,width={width},height={height},fps=60")
        sent = frames(self.FRAMES, frame_bytes)
        clip = self.file("clip.raw", b"".join(sent))
        out = self.file("out.raw", b"")
        place = f",format={letters},size={size}"
        back = start("stream", "--json", "--slots", 12, "--out", out, "--peer", f"v4l2:/dev/video{capture}{place},input=3")
        self.addCleanup(back.kill)
        while os.path.getsize(out) < frame_bytes:  # until it captures
            self.assertIsNone(back.poll(), "the capture has ended")
            time.sleep(0.05)
        outcome = run("stream", clip, "--json", "--playout", "--pix", name, "--size", size, f"--loop={rounds}", *options,
                      "--peer", f"v4l2:/dev/video{playout}{place},input=1")
        back.send_signal(signal.SIGINT)
        finish(back)
        self.assertEqual(outcome.code, 0, outcome.err)
        report = outcome.json
        self.assertEqual((report["frames"], report["checked"], report["direction"], report["moved_by"]), (rounds * self.FRAMES, 0, "playout", moved_by))
        self.assertEqual(report["underruns"], report["device"]["lost"])
        self.assertEqual((report["device"]["format"], report["device"]["frame_bytes"]), (letters, frame_bytes))
        return report, self.compare(sent, out, frame_bytes)

    def compare(self, sent, out, frame_bytes):
        """From the first to the last of ours nothing came that was not sent, and the last is the last."""
        number = {frame: n for n, frame in enumerate(sent)}
        with open(out, "rb") as file:
            got = [number.get(frame) for frame in iter(lambda: file.read(frame_bytes), b"")]
        seen = [n for n in got if n is not None]
        self.assertTrue(seen, "nothing came back")
        first = got.index(seen[0])
        last = len(got) - got[::-1].index(seen[-1])
        self.assertNotIn(None, got[first:last], f"a frame that was not sent: {got}")
        self.assertEqual(seen[-1], self.FRAMES - 1)
        return seen

    def assertComesBack(self, *arguments, **options):
        """Nothing else comes back, and the last does. The two run by clocks of their own, so that some frames are seen
        twice and some not at all."""
        report, seen = self.loop(*arguments, **options)
        self.assertGreaterEqual(len(set(seen)), self.FRAMES // 4)
        return report, seen

    def test_uyvy_in_order_and_none_lost(self):
        # All are queued before the first is sent, so that what is lost would be the device's loss.
        report, seen = self.assertComesBack(0, "uyvy422", "640x480", 640 * 480 * 2, "--slots", self.FRAMES, letters="UYVY")
        self.assertEqual(report["device"]["lost"], 0)
        self.assertEqual(seen, sorted(seen))

    def test_nv12_of_a_multi_planar_device(self):
        self.assertComesBack(1, "nv12", "640x480", 640 * 480 * 3 // 2, letters="NV12", rounds=4)

    def test_planes_one_behind_the_other(self):
        self.assertComesBack(0, "yuv420p", "800x600", 800 * 600 * 3 // 2, "--preload", letters="YU12", rounds=4)

    def test_bgra_through_slots_of_the_devices_own(self):
        report, _ = self.assertComesBack(1, "bgra", "640x480", 640 * 480 * 4, "--staged", letters="AR24", rounds=4, moved_by="software")
        self.assertEqual(report["path"], "staged")


if __name__ == "__main__":
    unittest.main()
