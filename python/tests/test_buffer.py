import array
import json
import os
import pickle
import socket
import subprocess
import sys

import pytest
import rdmagpu
from conftest import FRAME_BYTES


def test_a_slot_is_writable_memory(host):
    assert len(host) == 3
    memory = host[1].memory
    memory[:5] = b"frame"
    assert (len(memory), memory.format, memory.readonly) == (FRAME_BYTES, "B", False)
    assert host[1].tobytes()[:6] == b"frame\0"
    assert host[-2].cpu_address == host[1].cpu_address
    assert host[1].size >= host[1].nbytes == FRAME_BYTES
    assert [slot.index for slot in host] == [0, 1, 2]


def test_a_slot_that_is_not_there_is_an_index_error(host):
    for index in (3, -4):
        with pytest.raises(IndexError):
            host[index]


def test_bytes_go_in_and_come_out(buffer):
    slot = buffer[2]
    slot.upload(array.array("H", [1, 2, 3]), offset=10)
    into = bytearray(6)
    slot.download(into, offset=10)
    assert bytes(into) == array.array("H", [1, 2, 3]).tobytes()
    slot.clear()
    assert slot.tobytes() == bytes(FRAME_BYTES)
    slot.poison(seed=7)
    assert slot.checksum() == rdmagpu.checksum(slot.tobytes())
    assert slot.checksum(100, offset=8) == rdmagpu.checksum(slot.tobytes()[8:108])


def test_what_would_pass_the_end_of_the_slot_is_refused(buffer):
    slot = buffer[0]
    with pytest.raises(rdmagpu.InvalidArgumentError) as caught:
        slot.upload(bytes(2), offset=slot.size - 1)
    assert caught.value.code_name == "RangeOutOfSlot"
    with pytest.raises(ValueError):
        slot.download(bytearray(2), offset=-1)
    with pytest.raises(ValueError):
        slot.checksum(-1)


def test_what_is_no_memory_of_the_right_kind_is_a_type_error(host):
    with pytest.raises(TypeError):
        host[0].upload("text")
    with pytest.raises(BufferError):
        host[0].download(bytes(2))
    with pytest.raises(BufferError):
        host[0].upload(memoryview(bytes(10))[::2])


def test_the_handoff_has_its_kind(host, cuda):
    assert host[0].handoff == rdmagpu.Handoff("host-pointer", host[0].cpu_address)
    assert cuda[1].handoff == rdmagpu.Handoff("cuda-pointer", cuda[1].cuda_pointer)
    with pytest.raises(TypeError, match="host-pointer"):
        host[0].cuda_pointer
    for look in (lambda: cuda[0].cpu_address, lambda: cuda[0].memory, lambda: cuda[0].view().memory):
        with pytest.raises(TypeError, match="cuda-pointer"):
            look()


def test_a_closed_buffer_keeps_its_facts_and_refuses_the_rest(buffer):
    slot = buffer[0]
    buffer.close()
    buffer.close()
    assert buffer.closed and buffer.facts.slot_count == 3
    for use in (slot.tobytes, slot.view, buffer.export, lambda: buffer[1], lambda: slot.upload(b"x"),
                lambda: buffer.proof, buffer.copy_queue):
        with pytest.raises(rdmagpu.ClosedError):
            use()


def test_facts_tell_what_was_got(host, cuda):
    assert host.facts.api == "host" and host.facts.memfd
    assert host.facts.requested_bytes == 3 * FRAME_BYTES <= host.facts.committed_bytes
    assert cuda.facts.rdma_capable is True and cuda.facts.pci is not None
    assert cuda.proof.allocated is True and cuda.proof.written is None
    with pytest.raises(AttributeError):
        host.facts.api = "cuda"


def test_auto_says_why_not_a_better_one(monkeypatch):
    with rdmagpu.Buffer(slots=1, frame_bytes=100) as buffer:
        apis = [backend.api for backend in rdmagpu.backends() if not backend.available]
        assert {rejected.api for rejected in buffer.facts.rejected} <= {*apis, "cuda"}
        assert all(rejected.why.message for rejected in buffer.facts.rejected)


@pytest.mark.parametrize(
    "option, value",
    [("api", "cude"), ("page_lock", "maybe"), ("slots", -1), ("slots", 2**32), ("frame_bytes", 2**64),
     ("peer", "nonsense"), ("gpu", "65:00"), ("accepts", ["post"]), ("rdma", "no"), ("huge_pages", "yes")],
)
def test_an_option_that_is_none_is_a_value_error(option, value):
    with pytest.raises(ValueError, match=str(value).strip("[]'")):
        rdmagpu.Buffer(**{"slots": 1, "frame_bytes": 1, **{option: value}})


def test_options_reach_the_library(cuda):
    gpu = cuda.facts.pci
    with rdmagpu.Buffer("cuda", slots=1, frame_bytes=1, gpu=gpu, rdma="off", cuda_memory="mem-alloc") as buffer:
        assert buffer.facts.pci == gpu and buffer.facts.cuda_memory == "mem-alloc"
    with rdmagpu.Buffer("cuda", slots=1, frame_bytes=1, gpu=1, zero_fill=True) as second:
        assert second.facts.pci != gpu
        second.grant_access(0)
        assert second[0].__dlpack_device__() == (2, 1)
    with rdmagpu.Buffer("host", slots=1, frame_bytes=1, forbid_memfd=True, accepts=["host-pointer"]) as buffer:
        assert not buffer.facts.memfd
    assert rdmagpu.max_slots(2**20) > 0
    cuda.flush_peer_writes()


def test_an_error_carries_what_the_library_knows():
    with pytest.raises(rdmagpu.NotFoundError) as caught:
        rdmagpu.Buffer("cuda", slots=1, frame_bytes=1, cuda_device=99)
    error = caught.value
    assert error.kind is rdmagpu.Kind.NOT_FOUND
    assert error.origin == "Library" and error.call and error.code > 0 and error.code_name
    assert error.finding and error.hints
    assert error.hints[0] in str(error) and error.failure.message in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and again.failure == error.failure
    with pytest.raises(rdmagpu.InvalidArgumentError) as caught:
        rdmagpu.Buffer("host", slots=0, frame_bytes=1)
    assert isinstance(caught.value, ValueError)


def test_memory_that_there_is_not_is_a_memory_error():
    with pytest.raises(MemoryError) as caught:
        rdmagpu.Buffer("host", slots=1000, frame_bytes=2**40)
    assert isinstance(caught.value, rdmagpu.OutOfMemoryError)
    assert caught.value.failure.bytes > caught.value.failure.available


def test_an_export_owns_its_descriptor(cuda):
    export = cuda.export()
    fd = export.fileno()
    own = export.dup()
    assert own != fd and export.size >= 3 * FRAME_BYTES and export.offset == 0
    assert (export.pcie_mapped, export.pcie_reason) == (False, None)
    export.close()
    with pytest.raises(OSError):
        os.fstat(fd)
    with pytest.raises(rdmagpu.ClosedError):
        export.fileno()
    os.close(own)
    with cuda[1].export() as export:
        released = export.release()
    os.fstat(released)
    os.close(released)


def test_an_export_outlives_its_buffer(cuda):
    export = cuda.export()
    cuda.close()
    os.fstat(export.fileno())


def test_another_process_attaches(host):
    host[1].memory[:5] = b"frame"
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs, host.share() as shared:
        shared.send(ours)
        with rdmagpu.Buffer.attach(theirs) as twin:
            assert bytes(twin[1].memory[:5]) == b"frame"
        token = shared.token()
        program = (
            "import sys, rdmagpu\n"
            "with rdmagpu.Buffer.attach(sys.argv[1]) as buffer: buffer[1].memory[:5] = b'child'\n"
        )
        subprocess.run([sys.executable, "-c", program, token], check=True, pass_fds=[shared.fileno()])
    assert bytes(host[1].memory[:5]) == b"child"


def test_a_token_that_is_none_is_refused():
    with pytest.raises(rdmagpu.Error):
        rdmagpu.Buffer.attach("nonsense")


def test_a_pci_address_is_read_and_written():
    address = rdmagpu.PciAddress.parse("65:00.1")
    assert address == rdmagpu.PciAddress(0, 0x65, 0, 1) and str(address) == "0000:65:00.1"
    with pytest.raises(ValueError):
        rdmagpu.PciAddress.parse("65")


def test_inspect_tells_what_memory_is(host, cuda):
    assert rdmagpu.inspect(bytearray(100_000)).kind == "private"
    assert rdmagpu.inspect(host[0].memory).kind == "memfd"
    assert rdmagpu.inspect(host[0].view()).kind == "memfd"
    found = rdmagpu.inspect(cuda[0])
    assert found.kind == "gpu-virtual" and found.gpu.ordinal == 0 and found.gpu.rdma_capable is True
    assert found == rdmagpu.inspect(cuda[0].cuda_pointer, FRAME_BYTES)

    class Reversed:
        """Strides that go backwards: the memory begins before the first element."""

        __array_interface__ = {
            "data": (host[0].cpu_address + 4095, False), "shape": (4096,), "strides": (-1,), "typestr": "|u1"
        }

    assert rdmagpu.inspect(Reversed()).kind == "memfd"
    with pytest.raises(TypeError):
        rdmagpu.inspect(4096)
    with pytest.raises(rdmagpu.InvalidArgumentError):
        rdmagpu.inspect(0, 10)


def test_the_log_hears_what_cannot_be_returned(cuda):
    heard = []
    rdmagpu.set_log_sink(lambda *event: heard.append(event))
    try:
        export = cuda.export()
        os.close(export.fileno())
        export.close()
    finally:
        rdmagpu.set_log_sink(None)
    (level, text, failure), = heard
    assert level == "failure" and text and failure.origin == "Os"


class InMemory(rdmagpu.Peer):
    name = "memory"

    def __init__(self, buffer):
        self.slots = [slot.memory for slot in buffer]

    def write(self, slot, data):
        self.slots[slot][: len(data)] = data

    def read(self, slot, into):
        into[:] = self.slots[slot][: len(into)]


def test_verify_proves_through_the_software_peer(buffer):
    report = rdmagpu.verify(buffer, seed=3)
    assert report.ok and report.write and report.read and report.slots == 3
    assert report.proof.written is True and report.proof.by in ("software", "copy-engine")


def test_verify_takes_a_peer_of_ones_own(host):
    report = rdmagpu.verify(host, InMemory(host), nbytes=FRAME_BYTES)
    assert report.ok and report.peer == "memory" and report.proof.by == "software"


def test_verify_tells_what_a_peer_did_not_do(host):
    class Forgetful(InMemory):
        def write(self, slot, data):
            if slot != 1:
                super().write(slot, data)

        def read(self, slot, into):
            raise NotImplementedError

    report = rdmagpu.verify(host, Forgetful(host), nbytes=FRAME_BYTES)
    assert not report.ok and report.write is False and report.read is None
    failure, = report.failures
    assert (failure.slot, failure.direction, failure.untouched) == (1, "write", True)


def test_what_a_peer_raises_is_in_the_report(host):
    class Broken(InMemory):
        def write(self, slot, data):
            raise OSError(5, "broken")

    report = rdmagpu.verify(host, Broken(host), nbytes=FRAME_BYTES)
    assert report.write is False and report.failures[0].cause.code == 5

    class Interrupted(InMemory):
        def write(self, slot, data):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rdmagpu.verify(host, Interrupted(host), nbytes=FRAME_BYTES)


def run(*words):
    return subprocess.run([sys.executable, "-m", "rdmagpu", *words], capture_output=True, text=True)


def test_the_module_prints_what_there_is():
    told = json.loads(run("--json").stdout)
    assert told["version"] == rdmagpu.__version__ and told["library"] == rdmagpu.library_path
    assert "host" in [backend["api"] for backend in told["backends"]]
    assert told["facts"]["slot_count"] == 1
    text = run().stdout
    assert f"version: {rdmagpu.__version__}\n" in text and "backends:" in text


def test_the_module_lists_allocates_and_verifies():
    assert json.loads(run("list", "--json").stdout)["backends"]
    alloc = json.loads(run("alloc", "--api", "host", "--slots", "2", "--bytes", "100", "--json").stdout)
    assert [handoff["kind"] for handoff in alloc["handoffs"]] == ["host-pointer"] * 2
    verified = run("verify", "--api", "host", "--slots", "2", "--bytes", "100", "--json")
    assert verified.returncode == 0 and json.loads(verified.stdout)["ok"] is True


def test_the_module_tells_failures():
    failed = run("alloc", "--api", "host", "--slots", "0")
    assert failed.returncode == 2 and "hint:" in failed.stderr
    failed = run("--json", "alloc", "--api", "nonsense")
    assert failed.returncode == 2 and "nonsense" in json.loads(failed.stdout)["error"]


def test_a_library_that_is_not_there_is_told_with_what_was_tried(tmp_path):
    environment = {**os.environ, "RDMAGPU_LIBRARY": str(tmp_path / "none.so")}
    program = (
        "import rdmagpu._library as l\n"
        "raise SystemExit(0 if l.path.endswith('rdmagpu/librdmagpu_c.so.0') else 3)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    if ended.returncode == 0:
        pytest.skip("the library in the wheel comes first")
    assert "LibraryNotFoundError" in ended.stderr and "none.so (named by RDMAGPU_LIBRARY)" in ended.stderr


def test_a_library_that_is_too_old_is_told():
    environment = {**os.environ, "RDMAGPU_LIBRARY": "libc.so.6"}
    ended = subprocess.run([sys.executable, "-c", "import rdmagpu"], env=environment, capture_output=True, text=True)
    if ended.returncode == 0:
        pytest.skip("the library in the wheel comes first")
    assert "is older than this package" in ended.stderr
