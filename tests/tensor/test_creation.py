"""`tensor`, `as_tensor`, `from_numpy` and their kin: types found, memory shared, errors."""

import array as python_array

import ml_dtypes
import numpy as np
import pytest

import minitorch


@pytest.mark.parametrize(
    ("data", "name", "values"),
    [
        (1, "int64", 1),
        (1.5, "float32", 1.5),
        (True, "bool", True),
        (2j, "complex64", 2j),
        ([], "float32", []),
        ([[], []], "float32", [[], []]),
        ([1, 2.5], "float32", [1, 2.5]),
        ([True, 2], "int64", [1, 2]),
        ([1, 2j], "complex64", [1, 2j]),
        (((1, 2), [3, 4]), "int64", [[1, 2], [3, 4]]),
        (range(3), "int64", [0, 1, 2]),
        (np.float64(1.5), "float64", 1.5),
        ([np.float64(1.5)], "float64", [1.5]),
        ([np.float32(1.5), 2.5], "float32", [1.5, 2.5]),
        ([np.int8(1), np.int16(2)], "int16", [1, 2]),
        ([np.float16(1), 1], "float16", [1, 1]),
        (np.array([1.0, 2.0]), "float64", [1, 2]),
        ([np.array([1.0, 2.0]), [3, 4]], "float64", [[1, 2], [3, 4]]),
        (np.array([1.5], ml_dtypes.bfloat16), "bfloat16", [1.5]),
        (python_array.array("i", [1, 2]), "int64", [1, 2]),
    ],
)
def test_type_is_found_from_the_data(data, name, values):
    x = minitorch.tensor(data)
    assert x.dtype is getattr(minitorch, name)
    assert x.tolist() == values


def test_tensors_in_lists():
    x = minitorch.tensor([minitorch.tensor(1), minitorch.tensor(2.5)])
    assert x.dtype is minitorch.float32
    assert x.tolist() == [1, 2.5]
    x = minitorch.tensor([minitorch.tensor(1.0, dtype=minitorch.float64), 2])
    assert x.dtype is minitorch.float64
    assert minitorch.tensor([minitorch.tensor([1]), minitorch.tensor([2])]).tolist() == [1, 2]
    assert minitorch.tensor([minitorch.ones(2), minitorch.zeros(2)]).tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize(
    ("data", "name", "values"),
    [
        ([1.7, -1.7], "int64", [1, -1]),
        ([-1, 255], "uint8", [255, 255]),
        ([2, 0, 0.5], "bool", [True, False, True]),
        (1j, "bool", True),
        (1e40, "float32", float("inf")),
        (70000, "float16", float("inf")),
        ([1.1], "bfloat16", [1.1015625]),
        ([1.1], "float8_e5m2", [1.0]),
        (2**63, "uint64", 2**63),
        (np.array([1.5]), "int64", [1]),
        (np.array([1 + 2j]), "float32", [1]),
    ],
)
def test_wanted_type(data, name, values):
    x = minitorch.tensor(data, dtype=getattr(minitorch, name))
    assert x.dtype is getattr(minitorch, name)
    assert x.tolist() == values


@pytest.mark.parametrize(
    ("data", "name", "error", "text"),
    [
        ([[1, 2], [3]], None, ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
        ([[[1]], [[2], [3]]], None, ValueError, r"length 1 at dim 1 \(got 2\)"),
        ([[1, 2], 3], None, TypeError, "not a sequence"),
        ([1, [2]], None, TypeError, "sequence stands beside the number"),
        ("a", None, TypeError, "invalid data type 'str'"),
        (["a"], None, ValueError, "too many dimensions 'str'"),
        (None, None, RuntimeError, "Could not infer dtype of NoneType"),
        ([None], None, RuntimeError, "Could not infer dtype of NoneType"),
        ({1}, None, RuntimeError, "Could not infer dtype of set"),
        (2**63, None, ValueError, "Overflow"),
        (300, "uint8", RuntimeError, "cannot be converted to type uint8 without overflow"),
        ([float("nan")], "int32", RuntimeError, "cannot be converted to type int32"),
        (1j, "float32", TypeError, "must be real number, not complex"),
        (np.array(["a"]), None, TypeError, "can't convert np.ndarray of type numpy.str_"),
        (np.array([1], ">i4"), None, ValueError, "byte order"),
    ],
)
def test_refusals(data, name, error, text):
    with pytest.raises(error, match=text):
        minitorch.tensor(data, dtype=name and getattr(minitorch, name))


def test_dtype_must_be_one():
    with pytest.raises(TypeError, match=r"must be torch.dtype, not str"):
        minitorch.tensor(1, dtype="float32")
    assert minitorch.tensor(1, dtype=float).dtype is minitorch.float64


def test_requires_grad():
    assert minitorch.tensor([1.0], requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="floating point and complex"):
        minitorch.tensor([1], requires_grad=True)


def test_tensor_copies():
    source = np.zeros(3)
    x = minitorch.tensor(source)
    source[0] = 1
    assert x.tolist() == [0, 0, 0]
    y = minitorch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="clone"):
        z = minitorch.tensor(y)
    assert not z.requires_grad
    assert z.data_ptr() != y.data_ptr()


def test_device():
    assert minitorch.tensor([1.0], device="meta").is_meta
    with minitorch.device("meta"):
        assert minitorch.tensor([1.0]).is_meta
        assert minitorch.zeros(2).is_meta
        assert not minitorch.zeros(2, device="cpu").is_meta
    assert not minitorch.tensor([1.0]).is_meta


@pytest.mark.parametrize("share", [minitorch.from_numpy, minitorch.as_tensor, minitorch.asarray])
def test_numpy_memory_is_shared(share):
    source = np.zeros((2, 3))
    x = share(source)
    source[0, 1] = 5
    assert x[0, 1].item() == 5
    x[1, 2] = 7
    assert source[1, 2] == 7


def test_from_numpy_keeps_strides_and_leaves_the_array_alone():
    source = np.arange(6).reshape(2, 3)
    assert minitorch.from_numpy(source.T).stride() == (1, 3)
    assert minitorch.from_numpy(source[:, ::-1]).tolist() == [[2, 1, 0], [5, 4, 3]]
    with pytest.raises(TypeError, match=r"expected np.ndarray"):
        minitorch.from_numpy([1])
    with pytest.raises(TypeError, match=r"expected np.ndarray"):
        minitorch.from_numpy(np.float32(1))


def test_read_only_memory_is_warned_of():
    source = np.arange(3)
    source.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        minitorch.from_numpy(source)
    with pytest.warns(UserWarning, match="not writable"):
        minitorch.frombuffer(b"abcd", dtype=minitorch.uint8)


def test_as_tensor():
    x = minitorch.ones(2, requires_grad=True)
    assert minitorch.as_tensor(x) is x
    assert minitorch.as_tensor(x, dtype=minitorch.float64).dtype is minitorch.float64
    assert minitorch.as_tensor([1, 2]).tolist() == [1, 2]
    assert minitorch.as_tensor(np.arange(3), dtype=minitorch.float32).tolist() == [0, 1, 2]


def test_asarray():
    source = np.arange(3)
    assert minitorch.asarray(source, copy=True).data_ptr() != source.ctypes.data
    with pytest.raises(ValueError, match="can't alias"):
        minitorch.asarray([1], copy=False)
    with pytest.raises(ValueError, match="into dtype 'Float'"):
        minitorch.asarray(source, dtype=minitorch.float32, copy=False)
    x = minitorch.ones(2, requires_grad=True)
    assert minitorch.asarray(x) is x
    assert minitorch.asarray(bytearray(b"abcd"), dtype=minitorch.uint8).tolist() == [
        97,
        98,
        99,
        100,
    ]


def test_frombuffer():
    data = bytearray(b"\x01\x00\x00\x00\x02\x00\x00\x00")
    x = minitorch.frombuffer(data, dtype=minitorch.int32)
    assert x.tolist() == [1, 2]
    data[0] = 9
    assert x.tolist() == [9, 2]
    assert minitorch.frombuffer(data, dtype=minitorch.int32, count=1, offset=4).tolist() == [2]
    for keywords, text in [
        ({"count": 3}, "must not be greater than actual buffer length"),
        ({"offset": 3}, "must be a multiple of element size"),
        ({"offset": 9}, "must be non-negative and no greater"),
        ({"count": 0}, "must not be 0"),
    ]:
        with pytest.raises(ValueError, match=text):
            minitorch.frombuffer(data, dtype=minitorch.int32, **keywords)
    with pytest.raises(ValueError, match="buffer protocol"):
        minitorch.frombuffer([1], dtype=minitorch.int32)


def test_from_dlpack():
    source = np.arange(3.0)
    x = minitorch.from_dlpack(source)
    source[0] = 5
    assert x.tolist() == [5, 1, 2]


def test_result_type():
    x = minitorch.ones(2, dtype=minitorch.int32)
    assert minitorch.result_type(x, 1.5) is minitorch.float32
    assert minitorch.result_type(x, minitorch.tensor(1, dtype=minitorch.int64)) is minitorch.int32
    assert minitorch.result_type(1, 2) is minitorch.int64
