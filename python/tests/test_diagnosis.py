"""The doctor, on machines of two files."""
import pytest

import rdmagpu


@pytest.fixture
def machine(tmp_path):
    """A GPU whose driver lets no peer at its memory."""
    gpu = tmp_path / "sys/devices/pci0000:00/0000:01:00.0"
    gpu.mkdir(parents=True)
    for name, value in (("vendor", "0x10de"), ("device", "0x1db5"), ("class", "0x030200")):
        (gpu / name).write_text(value + "\n")
    (gpu / "driver").symlink_to("../../../bus/pci/drivers/nouveau")
    devices = tmp_path / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    (devices / "0000:01:00.0").symlink_to("../../../devices/pci0000:00/0000:01:00.0")
    return tmp_path


def test_a_machine_without_a_gpu_is_blocked(tmp_path):
    diagnosis = rdmagpu.diagnose(root=tmp_path)
    assert diagnosis.verdict == "blocked"
    assert [(finding.id, finding.severity) for finding in diagnosis.findings] == [("no-gpu", "blocker")]
    assert diagnosis.findings[0].title and diagnosis.findings[0].fix
    assert diagnosis.pairs == diagnosis.devices == ()


def test_pairs_and_devices_say_why_and_where(machine):
    diagnosis = rdmagpu.diagnose(root=str(machine))
    assert diagnosis.verdict == "staged"
    first = diagnosis.pairs[0]
    assert (first.gpu, first.peer, first.route, first.verdict) == ("0000:01:00.0", "", "dma-buf", "blocked")
    assert first.because[0] == "nouveau"
    device = diagnosis.devices[0]
    assert (device.role, device.driver, device.bar_bytes, device.numa_node) == ("gpu", "nouveau", None, None)
    assert device.path == ("pci0000:00", "0000:01:00.0")


def test_a_device_that_is_not_there_is_an_error(machine):
    with pytest.raises(rdmagpu.NotFoundError) as raised:
        rdmagpu.diagnose(root=machine, gpu="0000:99:00.0")
    assert raised.value.failure.code_name == "NoSuchGpu" and raised.value.hints
    with pytest.raises(rdmagpu.NotFoundError):
        rdmagpu.diagnose(root=machine, peer="mlx5_9")


def test_this_machine_is_the_default():
    assert rdmagpu.diagnose().verdict in ("direct", "write-only", "read-only", "unknown", "staged", "blocked")


def test_an_error_is_explained():
    best = rdmagpu.explain("ibv_reg_mr 14")[0]
    assert best.matched == "ibv_reg_mr EFAULT" and best.causes
    assert rdmagpu.explain("nothing of the kind") == []


@pytest.mark.parametrize("wrong", [1, b"x", ["0000:01:00.0"]])
def test_what_is_no_text_is_no_device(wrong):
    with pytest.raises((TypeError, AttributeError)):
        rdmagpu.diagnose(gpu=wrong)
