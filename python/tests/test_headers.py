"""What the package says of the C interface is what the headers say. Structs may have grown since."""
import ctypes
import re

import pytest
from conftest import ROOT
from rdmagpu import _library, _structs

HEADERS = ROOT / "include/rdmagpu/c"
TEXT = "\n".join(
    re.sub(r"/\*.*?\*/", " ", header.read_text(encoding="utf-8"), flags=re.S) for header in sorted(HEADERS.glob("*.h"))
) if HEADERS.exists() else ""
pytestmark = pytest.mark.skipif(not TEXT, reason="the headers are not beside the package")

STRUCTS = dict(
    (name, body) for body, name in re.findall(r"typedef struct rdmagpu_\w+ \{(.*?)\} (rdmagpu_\w+);", TEXT, re.S)
)
SCALARS = {
    "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16, "uint32_t": ctypes.c_uint32, "int32_t": ctypes.c_int32,
    "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64, "const char*": ctypes.c_char_p,
    "const void*": ctypes.c_void_p, "void*": ctypes.c_void_p, "rdmagpu_pci_address": _structs.PciAddress,
    "rdmagpu_gpu_selector": _structs.GpuSelector, "const int64_t*": ctypes.POINTER(ctypes.c_int64),
    "const rdmagpu_config*": ctypes.POINTER(_structs.Config),
    "const rdmagpu_frame_proof_config*": ctypes.POINTER(_structs.FrameProofConfig),
    "const char* const*": ctypes.POINTER(ctypes.c_char_p),
}


def members(body):
    """Name and type of each; a callback is called so."""
    for member in filter(None, (part.strip() for part in body.split(";"))):
        callback = re.search(r"\(\*(\w+)\)", member)
        if callback:
            yield callback[1], "callback"
            continue
        kind, name, count = re.fullmatch(r"(.*?[\s*])(\w+)(?:\[(\d+)\])?", " ".join(member.split())).groups()
        kind = SCALARS[kind.strip()]
        yield name, kind * int(count) if count else kind


def c_name(struct):
    return "rdmagpu_" + re.sub(r"(?<!^)([A-Z])", r"_\1", struct.__name__).lower()


DECLARED = [
    struct for struct in vars(_structs).values()
    if isinstance(struct, type) and issubclass(struct, ctypes.Structure) and getattr(struct, "_fields_", None)
]


@pytest.mark.parametrize("struct", DECLARED, ids=lambda struct: struct.__name__)
def test_a_struct_begins_as_the_headers_say(struct):
    wanted = list(members(STRUCTS[c_name(struct)]))
    ours = list(struct._fields_)
    assert [name for name, _ in ours] == [name for name, _ in wanted][: len(ours)]
    for (name, kind), (_, want) in zip(ours, wanted):
        if want == "callback":
            assert ctypes.sizeof(kind) == ctypes.sizeof(ctypes.c_void_p), name
        else:
            assert kind is want or (kind._type_, getattr(kind, "_length_", 0)) == (want._type_, want._length_), name


PROTOTYPES = {
    name: (result.strip(), parameters)
    for result, name, parameters in re.findall(r"RDMAGPU_C_API\s+([^;(]*?)\b(rdmagpu_\w+)\(([^;]*?)\);", TEXT, re.S)
}
WIDTHS = {"size_t": ctypes.sizeof(ctypes.c_size_t), "int": 4, "bool": 1, "uint32_t": 4, "int32_t": 4, "uint64_t": 8,
          "int64_t": 8}


def width(declaration):
    declaration = " ".join(declaration.split())
    if declaration == "void":
        return None
    kind = re.sub(r"\s+\w+$", "", declaration) if not declaration.endswith("*") and declaration not in WIDTHS else declaration
    if "*" in declaration or kind == "rdmagpu_log_sink":
        return ctypes.sizeof(ctypes.c_void_p)
    if kind.startswith("rdmagpu_"):
        return ctypes.sizeof(next(struct for struct in DECLARED if c_name(struct) == kind))
    return WIDTHS[kind]


@pytest.mark.parametrize("name", _library.FUNCTIONS)
def test_a_function_is_called_as_the_headers_say(name):
    result, parameters = PROTOTYPES[name]
    ours, arguments = _library.FUNCTIONS[name]
    wanted = [] if parameters.strip() == "void" else [width(parameter) for parameter in parameters.split(",")]
    assert [ctypes.sizeof(argument) for argument in arguments] == wanted
    assert (ctypes.sizeof(ours) if ours else None) == width(result)
