"""The operators of fake quantization against PyTorch, bit for bit, with gradients."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt

F = mt.ops.aten
LEARNED = (-8, 7, 0.5)


def inputs(dtype, special=False):
    """Return a (3, 300) tensor: ordinary numbers, and ties of the first row's scale."""
    values = np.random.default_rng(0).normal(scale=3, size=(3, 300)).astype(np.float32)
    values[0, :100] = (np.arange(100) - 50) * np.float32(0.5) * np.float32(0.2371)
    if special:
        values[1, :5] = [np.inf, -np.inf, np.nan, 1e30, -0.0]
    return mt.from_numpy(values).to(getattr(mt, dtype))


def bits(tensor):
    """Return float32 or float64 values for comparison; both libraries' narrow types widen exactly."""
    tensor = tensor.detach()
    return (tensor if str(tensor.dtype).endswith("64") else tensor.float()).numpy()


def assert_same_bits(found, expected):
    assert str(found.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    np.testing.assert_array_equal(bits(found), bits(expected))


def in_torch(torch, tensor):
    if tensor.dtype is mt.bool:
        return torch.from_numpy(tensor.numpy())
    return torch.from_numpy(np.ascontiguousarray(bits(tensor))).to(getattr(torch, tensor.dtype.name))


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_per_tensor_has_torchs_bits(torch, dtype):
    x = inputs(dtype, special=True)
    arguments = (0.2371, 2, -80, 70)
    found = F.fake_quantize_per_tensor_affine_cachemask(x, *arguments)
    expected = torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(in_torch(torch, x), *arguments)
    assert_same_bits(found[0], expected[0])
    assert found[1].tolist() == expected[1].tolist()
    scale, zero_point = mt.tensor([0.2371]), mt.tensor([2])
    assert_same_bits(mt.fake_quantize_per_tensor_affine(x, scale, zero_point, -80, 70), expected[0])


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("points", [[2, 0, -3], [2.5, 0.25, -3.0]], ids=["integers", "floats"])
def test_per_channel_has_torchs_bits(torch, dtype, points):
    # Without infinities, which PyTorch's sends to the lower end: they overflow its integers.
    x = inputs(dtype)
    scale, zero_point = (
        [0.2371, 0.1, 0.003],
        np.asarray(points, np.float32 if isinstance(points[0], float) else np.int32),
    )
    if dtype in ("float32", "float64") and zero_point.dtype == np.float32:
        # PyTorch's vectorised loop fuses the product with the zero point, so that ties may fall either way.
        x = x[:, 100:]
    found = F.fake_quantize_per_channel_affine_cachemask(x, mt.tensor(scale), mt.from_numpy(zero_point), 0, -80, 70)
    expected = torch.ops.aten.fake_quantize_per_channel_affine_cachemask(
        in_torch(torch, x), torch.tensor(scale), torch.from_numpy(zero_point), 0, -80, 70
    )
    assert_same_bits(found[0], expected[0])
    assert found[1].tolist() == expected[1].tolist()


def test_infinities_go_to_the_ends_and_nan_to_the_lower_one():
    x = mt.tensor([[float("inf"), -float("inf"), float("nan")]])
    expected = [[3.5, -4.0, -4.0]]
    assert mt.fake_quantize_per_tensor_affine(x, 0.5, 0, -8, 7).tolist() == expected
    scale, zero_point = mt.tensor([0.5]), mt.zeros(1, dtype=mt.int32)
    assert mt.fake_quantize_per_channel_affine(x, scale, zero_point, 0, -8, 7).tolist() == expected


@pytest.mark.oracle
def test_gradients_are_torchs(torch):
    x = inputs("float32", special=True)
    weights = inputs("float32")
    for ours, name in ((mt, "fake_quantize_per_tensor_affine"), (mt, "fake_quantize_per_channel_affine")):
        results = []
        for library, convert in ((ours, lambda t: t), (torch, lambda t: in_torch(torch, t))):
            leaf = convert(x).detach().clone().requires_grad_()
            if name.endswith("tensor_affine"):
                arguments = (0.1, 3, -8, 7)
            else:
                scale = library.tensor([0.1, 0.2, 0.3])
                arguments = (scale, library.tensor([0, 1, 2], dtype=library.int32), 0, -8, 7)
            output = getattr(library, name)(leaf, *arguments)
            (output * convert(weights)).sum().backward()
            results.append(leaf.grad)
        assert_same_bits(*results)


@pytest.mark.oracle
@pytest.mark.parametrize("point", [2.6, 2.4, -30.0])
def test_learnable_parameters_get_torchs_gradients(torch, point):
    x, weights = inputs("float32"), inputs("float32") + 1
    found, expected = [], []
    for library, convert, into in ((mt, lambda t: t, found), (torch, lambda t: in_torch(torch, t), expected)):
        for size, name, axis in ((1, "tensor", ()), (3, "channel", (0,))):
            leaf = convert(x).detach().clone().requires_grad_()
            scale = library.tensor([0.1, 0.2, 0.3][:size], requires_grad=True)
            zero_point = library.tensor([point, 0.4, -1.7][:size], requires_grad=True)
            operator = getattr(library.ops.aten, f"_fake_quantize_learnable_per_{name}_affine")
            output = operator(leaf, scale, zero_point, *axis, *LEARNED)
            (output * convert(weights)).sum().backward()
            into.extend([output, leaf.grad, scale.grad, zero_point.grad])
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == tuple(theirs.shape)
        np.testing.assert_allclose(bits(ours), bits(theirs), rtol=2e-5, atol=1e-4)
    assert_same_bits(found[0], expected[0])
    assert_same_bits(found[4], expected[4])


@pytest.mark.oracle
@pytest.mark.parametrize("observe", [0, 1])
@pytest.mark.parametrize("round_off", [0, 1])
@pytest.mark.parametrize("per_row", [False, True])
def test_moving_ranges_are_torchs(torch, observe, round_off, per_row):
    arrays = [inputs("float32").numpy() * factor for factor in (1.0, 3.0, 0.1)]
    results = []
    for library, to in ((mt, mt.from_numpy), (torch, torch.from_numpy)):
        if per_row:
            low, high = library.tensor([]), library.tensor([])
        else:
            low, high = library.tensor(float("inf")), library.tensor(float("-inf"))
        scale, zero_point = library.tensor([1.0]), library.tensor([0], dtype=library.int32)
        on, off = library.tensor([1]), library.tensor([observe])
        seen = []
        for i, array in enumerate(arrays):
            leaf = to(array.astype(np.float32)).requires_grad_()
            result = library.fused_moving_avg_obs_fake_quant(
                leaf, on if i == 0 else off, library.tensor([round_off]), low, high, scale, zero_point, 0.25, -8, 7, 0, per_row,
                True,
            )  # fmt: skip
            result.sum().backward()
            seen += [result, leaf.grad, low.clone(), high.clone()]
            if round_off:  # otherwise PyTorch's are not set, and not even initialized where there is one for each row
                seen += [scale.clone(), zero_point.clone()]
        results.append(seen)
    for found, expected in zip(*results, strict=True):
        assert tuple(found.shape) == tuple(expected.shape)
        assert_same_bits(found, expected)


def test_disabled_fake_quantization_returns_the_input():
    x = inputs("float32")
    output, mask = F._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
        x, mt.tensor([0.1]), mt.tensor([0]), mt.tensor([0]), -8, 7
    )
    assert mt.equal(output, x)
    assert mask.all()


def test_mapped_over_scales():
    x = mt.randn(4, 5)
    scales = mt.tensor([0.1, 0.2, 0.3])
    found = mt.func.vmap(lambda s: mt.fake_quantize_per_tensor_affine(x, s, mt.tensor(0), -8, 7))(scales)
    for i, scale in enumerate(scales):
        assert mt.equal(found[i], mt.fake_quantize_per_tensor_affine(x, scale, mt.tensor(0), -8, 7))


def test_errors_name_the_values():
    x = mt.randn(2, 3)
    with pytest.raises(RuntimeError, match=r"`zero_point` must be between.* 9 is not in \[0, 8\]"):
        mt.fake_quantize_per_tensor_affine(x, 0.1, 9, 0, 8)
    with pytest.raises(RuntimeError, match="there are 2 scales, and dimension 1 of the input has size 3"):
        mt.fake_quantize_per_channel_affine(x, mt.ones(2), mt.zeros(2, dtype=mt.int32), 1, 0, 8)
    with pytest.raises(RuntimeError, match="zero_point must be int32 or floating"):
        mt.fake_quantize_per_channel_affine(x, mt.ones(2), mt.zeros(2, dtype=mt.int64), 0, 0, 8)
    with pytest.raises(RuntimeError, match="mask must be bool"):
        F.fake_quantize_per_tensor_affine_cachemask_backward(x, x)
