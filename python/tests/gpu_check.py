"""PyTorch, CuPy, JAX and NumPy on slots in a real GPU's memory; tools/gpu-check runs it. Needs nothing but Python's
unittest: a library that is not installed is a skip that says so."""
import importlib
import unittest

import rdmagpu

SHAPE = (1080, 1920, 2)
NBYTES = 1080 * 1920 * 2
PATTERN = bytes(range(256)) * (NBYTES // 256)


def library(name):
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise unittest.SkipTest(f"{name}: {error}") from error


class OnTheGpu(unittest.TestCase):
    def setUp(self):
        self.buffer = rdmagpu.Buffer("cuda", slots=2, frame_bytes=NBYTES)
        self.buffer[1].upload(PATTERN)
        self.view = self.buffer[1].view(SHAPE)

    def tearDown(self):
        self.buffer.close()

    def holds(self, value, index=5):
        self.assertEqual(self.buffer[1].tobytes()[index], value)


class PyTorch(OnTheGpu):
    def setUp(self):
        self.torch = library("torch")
        self.torch.zeros(1, device="cuda")
        super().setUp()

    def check(self, tensor):
        self.assertEqual((tuple(tensor.shape), tensor.data_ptr()), (SHAPE, self.buffer[1].cuda_pointer))
        self.assertEqual(tensor.flatten()[:256].cpu().tolist(), list(range(256)))
        tensor[0, 2, 1] = 99
        self.torch.cuda.synchronize()
        self.holds(99)

    def test_from_dlpack(self):
        self.check(self.torch.from_dlpack(self.view))

    def test_from_an_unversioned_capsule(self):
        self.check(self.torch.utils.dlpack.from_dlpack(self.view.__dlpack__()))

    def test_cuda_array_interface(self):
        self.check(self.torch.as_tensor(self.view, device="cuda"))

    def test_a_tensor_outlives_the_buffer(self):
        tensor = self.torch.from_dlpack(self.view)
        del self.view
        self.buffer.close()
        self.assertEqual(int(tensor[0, 2, 1]), 5)

    def test_on_a_stream_of_its_own(self):
        with self.torch.cuda.stream(self.torch.cuda.Stream()):
            self.check(self.torch.from_dlpack(self.view))

    def test_inspect_tells_what_a_tensor_is(self):
        self.assertIsNotNone(rdmagpu.inspect(self.torch.zeros(2**20, device="cuda")).gpu)


class CuPy(OnTheGpu):
    def setUp(self):
        self.cupy = library("cupy")
        super().setUp()

    def check(self, array):
        self.assertEqual((array.shape, array.data.ptr), (SHAPE, self.buffer[1].cuda_pointer))
        self.assertEqual(array.ravel()[:256].tolist(), list(range(256)))
        array[0, 2, 1] = 98
        self.cupy.cuda.Device().synchronize()
        self.holds(98)

    def test_from_dlpack(self):
        self.check(self.cupy.from_dlpack(self.view))

    def test_cuda_array_interface(self):
        self.check(self.cupy.asarray(self.view))

    def test_padded_lines(self):
        array = self.cupy.asarray(self.buffer[1].view((1000, 900, 2), strides=(3840, 2, 1)))
        self.assertEqual(int(array[3, 1, 1]), PATTERN[3 * 3840 + 3])


class Jax(OnTheGpu):
    def setUp(self):
        self.jax = library("jax")
        self.dlpack = library("jax.dlpack")
        super().setUp()

    def test_from_dlpack(self):
        array = self.dlpack.from_dlpack(self.view)
        self.assertEqual((array.shape, array.unsafe_buffer_pointer()), (SHAPE, self.buffer[1].cuda_pointer))
        self.assertEqual(array.ravel()[:256].tolist(), list(range(256)))


class NumPy(OnTheGpu):
    def test_a_gpus_slot_is_copied_when_it_is_asked_for_on_the_cpu(self):
        numpy = library("numpy")
        if numpy.lib.NumpyVersion(numpy.__version__) < "2.1.0":
            raise unittest.SkipTest(f"numpy {numpy.__version__} asks for no copies")
        self.assertEqual(numpy.from_dlpack(self.view, device="cpu", copy=True).tobytes(), PATTERN)

    def test_pinned_memory_is_read_where_it_lies(self):
        numpy = library("numpy")
        with rdmagpu.Buffer("host", slots=1, frame_bytes=NBYTES, gpu_pin="require") as pinned:
            array = numpy.from_dlpack(pinned[0].view(SHAPE))
            self.assertEqual(array.ctypes.data, pinned[0].cpu_address)


if __name__ == "__main__":
    for name in ("numpy", "torch", "cupy", "jax"):
        try:
            print(name, importlib.import_module(name).__version__)
        except Exception as error:
            print(f"{name}: {error}")
    unittest.main(verbosity=2)
