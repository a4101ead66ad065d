import ctypes
import gc
import subprocess
import sys
import threading

import numpy as np
import pytest
import rdmagpu
from conftest import FRAME, FRAME_BYTES
from rdmagpu import dlpack

VERSIONED_NUMPY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"

is_valid = ctypes.pythonapi.PyCapsule_IsValid
is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
pointer_in.argtypes, pointer_in.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = ctypes.create_string_buffer(b"used_dltensor")


def managed_in(capsule, name, struct):
    assert is_valid(capsule, name)
    managed = struct.from_address(pointer_in(capsule, name))
    managed.capsule = capsule  # which deletes the tensor when it goes
    return managed


def unversioned(capsule):
    return managed_in(capsule, b"dltensor", dlpack.DLManagedTensor)


def versioned(capsule):
    return managed_in(capsule, b"dltensor_versioned", dlpack.DLManagedTensorVersioned)


class Unversioned:
    """A producer as they were before DLPack 1.0."""

    def __init__(self, view):
        self.view = view

    def __dlpack__(self, **_):
        return self.view.__dlpack__()

    def __dlpack_device__(self):
        return self.view.__dlpack_device__()



@pytest.mark.parametrize("wrap", [Unversioned, lambda view: view], ids=["unversioned", "as NumPy asks"])
@pytest.mark.parametrize("fixture", ["host", "pinned"])
def test_numpy_sees_the_slot_itself(request, fixture, wrap):
    buffer = request.getfixturevalue(fixture)
    array = np.from_dlpack(wrap(buffer[1].view(FRAME)))
    assert array.shape == FRAME and array.dtype == np.uint8
    assert array.ctypes.data == buffer[1].cpu_address
    buffer[1].memory[7] = 42
    assert array[0, 3, 1] == 42


@pytest.mark.skipif(not VERSIONED_NUMPY, reason=f"NumPy {np.__version__} knows DLPack before 1.0 only")
def test_numpy_writes_through_a_versioned_tensor_unless_it_is_read_only(host):
    array = np.from_dlpack(host[0].view(FRAME))
    array[0, 0, 0] = 9
    assert host[0].memory[0] == 9
    assert not np.from_dlpack(host[0].view(FRAME, read_only=True)).flags.writeable


@pytest.mark.skipif(not VERSIONED_NUMPY, reason=f"NumPy {np.__version__} asks for no copies and no devices")
def test_numpy_gets_copies_when_it_asks(buffer):
    buffer[0].upload(b"frame")
    array = np.from_dlpack(buffer[0].view(), device="cpu", copy=True)
    assert bytes(array[:5]) == b"frame"
    buffer[0].upload(b"other")
    assert bytes(array[:5]) == b"frame"


def test_a_whole_slot_is_an_array_of_bytes(host):
    assert np.from_dlpack(host[0]).shape == (FRAME_BYTES,)
    array = np.asarray(host[0])
    array[:] = 3
    assert bytes(host[0].memory[-2:]) == b"\3\3"


@pytest.mark.parametrize("dtype", ["uint16", "int16", "float32", "bool", np.dtype("uint16"), np.float64, "complex64"])
def test_the_dtype_is_numpys(host, dtype):
    view = host[0].view((-1, 3, 4), dtype)
    array = np.asarray(view)
    assert array.dtype == np.dtype(dtype) and array.shape == view.shape and array.shape[0] > 0
    if dtype != "bool":  # NumPy 1.24 knows no bool in DLPack
        assert np.from_dlpack(view).dtype == np.dtype(dtype)


def test_names_of_other_libraries_dtypes_are_known(host):
    class Torch:
        def __repr__(self):
            return "torch.bfloat16"

    view = host[0].view((4,), Torch())
    assert view.dtype == "bfloat16"
    assert versioned(view.__dlpack__(max_version=(1, 0))).dl_tensor.code == 4
    with pytest.raises(AttributeError):
        view.__array_interface__
    for wrong in ("uint12", object(), np.dtype(">u2")):
        with pytest.raises(TypeError):
            host[0].view(dtype=wrong)


def test_padded_lines_are_strides(host):
    view = host[0].view((10, 100, 2), strides=(256, 2, 1), offset=64)
    array = np.from_dlpack(view)
    host[0].memory[64 + 256 * 3 + 5] = 77
    assert array[3, 2, 1] == 77 and array.strides == (256, 2, 1)
    assert np.asarray(view)[3, 2, 1] == 77
    assert view.nbytes == 9 * 256 + 99 * 2 + 1 + 1


@pytest.mark.parametrize(
    "arguments",
    [
        dict(shape=(10**6, 10)), dict(shape=(-1, -1)), dict(shape=(-2,)), dict(shape=(-1, 7, 11)),
        dict(shape=(2, 2), strides=(1,)), dict(shape=(2,), strides=(-1,)), dict(shape=(2,), dtype="uint16", strides=(3,)),
        dict(shape=(1,), offset=-1), dict(shape=(1,), offset=10**9), dict(shape=(2,), stream=1),
    ],
)
def test_what_is_not_in_the_slot_is_a_value_error(host, arguments):
    with pytest.raises(ValueError):
        host[0].view(**arguments)


def test_the_views_memory_is_the_views(host):
    view = host[0].view((4,), offset=8, read_only=True)
    host[0].memory[8] = 5
    assert view.memory[0] == 5 and len(view.memory) == 4 and view.memory.readonly
    assert not np.asarray(view).flags.writeable
    assert host[0].view((0, 5)).nbytes == 0 and np.from_dlpack(host[0].view((0, 5))).shape == (0, 5)


def test_the_version_is_negotiated(buffer):
    view = buffer[0].view(FRAME)
    for asked in (None, (0, 8)):
        unversioned(view.__dlpack__(max_version=asked))
    for asked in ((1, 0), (1, 3), (2, 0)):
        managed = versioned(view.__dlpack__(max_version=asked))
        assert (managed.major, managed.flags) == (1, 0)
    read_only = buffer[0].view(FRAME, read_only=True)
    assert versioned(read_only.__dlpack__(max_version=(1, 0))).flags == 1
    with pytest.raises(BufferError):
        read_only.__dlpack__()


def test_the_device_is_told(host, cuda, pinned):
    for buffer, device in ((host, (1, 0)), (cuda, (2, 0)), (pinned, (3, 0))):
        assert buffer[0].__dlpack_device__() == buffer[0].view().__dlpack_device__() == device
        tensor = unversioned(buffer[0].__dlpack__()).dl_tensor
        assert (tensor.device_type, tensor.device_id) == device


def test_a_tensor_of_a_gpu_has_the_gpus_pointer(cuda):
    tensor = unversioned(cuda[1].view(FRAME, offset=128).__dlpack__()).dl_tensor
    assert tensor.data == cuda[1].cuda_pointer + 128 and tensor.byte_offset == 0
    assert [tensor.shape[i] for i in range(3)] == list(FRAME)
    assert [tensor.strides[i] for i in range(3)] == [384, 2, 1]


def test_a_device_that_it_is_not_on_is_a_buffer_error(host, pinned, cuda):
    assert unversioned(pinned[0].__dlpack__(dl_device=(1, 0))).dl_tensor.device_type == 1
    for buffer, device in ((host, (2, 0)), (pinned, (2, 0)), (cuda, (2, 1)), (host, (1, 1))):
        with pytest.raises(BufferError):
            buffer[0].__dlpack__(dl_device=device)


def test_copies_are_copies(host, cuda):
    for buffer in (host, cuda):
        buffer[0].upload(b"frame")
        capsule = buffer[0].view((5,)).__dlpack__(copy=True, dl_device=(1, 0), max_version=(1, 0))
        buffer[0].upload(b"other")
        managed = versioned(capsule)
        assert managed.flags == 2 and ctypes.string_at(managed.dl_tensor.data, 5) == b"frame"
    unversioned(host[0].__dlpack__(copy=True))
    unversioned(cuda[0].__dlpack__(dl_device=(1, 0)))
    for arguments in (dict(copy=True), dict(copy=False, dl_device=(1, 0))):
        with pytest.raises(BufferError):
            cuda[0].__dlpack__(**arguments)


def test_streams_follow_the_array_api(host, pinned, cuda):
    for stream in (None, -1, 1, 2, 0x7F0000001000):
        unversioned(cuda[0].__dlpack__(stream=stream))
    for stream in (0, -2):
        with pytest.raises(ValueError):
            cuda[0].__dlpack__(stream=stream)
    for stream in ("1", 1.0, True):
        with pytest.raises(TypeError):
            cuda[0].__dlpack__(stream=stream)
    for buffer in (host, pinned):
        unversioned(buffer[0].__dlpack__(stream=None))
        for stream in (-1, 1):
            with pytest.raises(ValueError):
                buffer[0].__dlpack__(stream=stream)


def test_the_cuda_array_interface(cuda, host):
    interface = cuda[1].view(FRAME, "uint8", read_only=True).__cuda_array_interface__
    assert interface == {
        "shape": FRAME, "typestr": "|u1", "data": (cuda[1].cuda_pointer, True), "strides": None, "version": 3,
        "stream": None,
    }
    padded = cuda[1].view((2, 3), "uint16", strides=(64, 2), stream=2).__cuda_array_interface__
    assert (padded["typestr"], padded["strides"], padded["stream"]) == ("<u2", (64, 2), 2)
    assert cuda[0].__cuda_array_interface__["shape"] == (FRAME_BYTES,)
    assert not hasattr(cuda[0], "__array_interface__") and not hasattr(host[0], "__cuda_array_interface__")
    for stream in (0, -1):
        with pytest.raises(ValueError):
            cuda[0].view(stream=stream)


def test_a_consumer_waits_for_the_views_stream(cuda):
    driver = ctypes.CDLL("libcuda.so.1")
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxPushCurrent_v2(context) == 0
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    with cuda.copy_queue(cuda_stream=stream.value) as queue:
        copy = queue.upload(0, b"frame")
        unversioned(cuda[0].view(stream=stream.value).__dlpack__(stream=1))
        assert copy.done()
    assert driver.cuStreamDestroy_v2(stream) == 0
    assert driver.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
    assert driver.cuDevicePrimaryCtxRelease_v2(0) == 0


def test_a_stream_that_is_none_is_a_buffer_error(cuda, monkeypatch):
    class Driver:
        @staticmethod
        def cuStreamSynchronize(_):
            return 400

    monkeypatch.setattr(rdmagpu._cuda.ctypes, "CDLL", lambda _: Driver)
    with pytest.raises(BufferError, match="400"):
        cuda[0].view(stream=2).__dlpack__(stream=1)


# Lifetimes.


def mapped(address):
    try:
        return rdmagpu.inspect(address, 4096).kind == "memfd"
    except rdmagpu.Error:
        return False


def shown(buffer, how):
    view = buffer[0].view(FRAME)
    return {
        "memoryview": lambda: buffer[0].memory,
        "view": lambda: view,
        "memoryview of a view": lambda: view.memory,
        "numpy.asarray": lambda: np.asarray(view),
        "numpy.from_dlpack": lambda: np.from_dlpack(view),
        "an older tensor": lambda: np.from_dlpack(Unversioned(view)),
        "capsule": lambda: view.__dlpack__(),
        "versioned capsule": lambda: view.__dlpack__(max_version=(1, 0)),
    }[how]()


@pytest.mark.parametrize("how", [
    "memoryview", "view", "memoryview of a view", "numpy.asarray", "numpy.from_dlpack", "an older tensor", "capsule",
    "versioned capsule",
])
def test_what_shows_the_memory_keeps_it_after_close_and_nothing_else_does(how):
    buffer = rdmagpu.Buffer("host", slots=2, frame_bytes=FRAME_BYTES, page_lock="off")
    address = buffer[0].cpu_address
    slot = buffer[1]
    kept = shown(buffer, how)
    buffer.close()
    gc.collect()
    assert mapped(address)
    del kept
    gc.collect()
    assert not mapped(address)
    del slot


def test_close_frees_what_nobody_shows():
    buffer = rdmagpu.Buffer("host", slots=2, frame_bytes=FRAME_BYTES, page_lock="off")
    address, slot = buffer[0].cpu_address, buffer[0]
    buffer.close()
    assert not mapped(address)
    assert slot.nbytes == FRAME_BYTES


def test_a_view_makes_tensors_after_close(buffer):
    view = buffer[0].view(FRAME)
    buffer.close()
    capsule = view.__dlpack__()
    del view
    assert unversioned(capsule).dl_tensor.ndim == 3


def test_a_tensor_dies_on_a_thread_that_python_does_not_know(host):
    capsule = host[0].view(FRAME).__dlpack__(max_version=(1, 0))
    managed = pointer_in(capsule, b"dltensor_versioned")
    deleter = dlpack.DLManagedTensorVersioned.from_address(managed).deleter
    rename(capsule, USED)
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(deleter), ctypes.c_void_p(managed)) == 0
    assert libc.pthread_join(thread, None) == 0


def test_a_buffer_that_is_closed_while_it_is_used_is_used_to_the_end():
    buffer = rdmagpu.Buffer("host", slots=1, frame_bytes=2**20, page_lock="off")
    slot, frame = buffer[0], bytes(2**20)
    ended = []

    def upload():
        try:
            while True:
                slot.upload(frame)
        except rdmagpu.ClosedError:
            ended.append(True)

    threads = [threading.Thread(target=upload) for _ in range(2)]
    for thread in threads:
        thread.start()
    buffer.close()
    for thread in threads:
        thread.join(60)
    assert ended == [True, True]


@pytest.mark.parametrize("order", ["buffer, slot, view, array", "array, view, slot, buffer", ""])
def test_the_interpreter_ends_with_everything_alive(order):
    program = (
        "import atexit, numpy, sys, rdmagpu\n"
        "buffer = rdmagpu.Buffer('host', slots=2, frame_bytes=100, page_lock='off')\n"
        "slot = buffer[0]; view = slot.view(); array = numpy.from_dlpack(view); capsule = view.__dlpack__()\n"
        "memory = slot.memory; ring = rdmagpu.Ring(2); queue = buffer.copy_queue(); copy = queue.upload(0, b'x')\n"
        "ring.acquire(); ring.publish(ring.acquire(), after=copy); cycle = [array, capsule]; cycle.append(cycle)\n"
        "sys.kept = capsule, view, memory\n"
    )
    if order:
        program += f"del {order}\n"
    ended = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
