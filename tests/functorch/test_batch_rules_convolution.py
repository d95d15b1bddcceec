"""Batch rules of convolution, pooling and resampling."""

from __future__ import annotations

import pytest
from loop_oracle import check, check_all, gradients, random, stacked

import minitorch as mt
from minitorch.func import vmap, vmap_fallback_policy

nn = mt.nn.functional

CONVOLUTIONS = {
    "plain": (nn.conv2d, (2, 4, 5, 5), (6, 4, 3, 3), {}),
    "padding, stride, dilation": (nn.conv2d, (2, 3, 7, 6), (2, 3, 3, 2), {"padding": 1, "stride": 2, "dilation": (1, 2)}),
    "groups": (nn.conv2d, (2, 4, 5, 5), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
    "depthwise": (nn.conv1d, (1, 4, 6), (4, 1, 3), {"groups": 4}),
    "no batch": (nn.conv2d, (4, 5, 5), (3, 4, 2, 2), {}),
    "volume": (nn.conv3d, (1, 2, 3, 4, 4), (3, 2, 2, 2, 2), {}),
    "pointwise": (nn.conv2d, (2, 4, 3, 3), (5, 4, 1, 1), {}),
    "transposed": (nn.conv_transpose2d, (2, 4, 4, 4), (4, 3, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    "transposed groups": (nn.conv_transpose1d, (2, 4, 5), (4, 3, 3), {"groups": 2, "dilation": 2}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name):
    function, x, w, options = CONVOLUTIONS[name]
    outputs = w[1] * options.get("groups", 1) if "transposed" in name else w[0]
    check_all(lambda x, w, b: function(x, w, b, **options), [x, w, (outputs,)])
    check_all(lambda x, w: function(x, w, None, **options), [x, w])


@pytest.mark.parametrize("mask", [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1) if a + b + c])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_backward_gives_what_is_asked_for(mask, transposed):
    mask = [bool(m) for m in mask]

    def backward(g, x, w):
        outputs = 6 if not transposed else 4
        found = mt.ops.aten.convolution_backward(g, x, w, [outputs], [1], [0], [1], transposed, [0], 2, mask)
        assert [f is not None for f in found] == mask
        return [f for f in found if f is not None]

    shapes = [(2, 4, 7), (2, 6, 5), (6, 2, 3)] if transposed else [(2, 6, 3), (2, 4, 5), (6, 2, 3)]
    check_all(backward, shapes, backward=False)


def test_second_derivatives_of_convolution():
    def first(x, w):
        return gradients(lambda x, w: nn.conv2d(x, w, padding=1).sin(), x, w)[1]

    check(lambda *t: gradients(first, *t), stacked([(1, 2, 4, 4), (3, 2, 3, 3)], (0, None), 3), (0, None))


def test_batches_of_none_and_of_one():
    x, w = random(0, 1, 2, 4, 4), random(3, 2, 3, 3)
    assert vmap(nn.conv2d, in_dims=(0, None))(x, w).shape == (0, 1, 3, 2, 2)
    out, (grad_x, grad_w) = vmap(lambda x, w: gradients(nn.conv2d, x, w), in_dims=(0, None))(x, w)
    assert (out.shape, grad_x.shape, grad_w.shape) == ((0, 1, 3, 2, 2), (0, 1, 2, 4, 4), (0, 3, 2, 3, 3))
    check(nn.conv2d, [random(1, 1, 2, 4, 4), random(1, 3, 2, 3, 3)], (0, 0), count=1)


@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((3, 2, 4, 5, 5), (6, 4, 3, 3), {"groups": 4}),  # 3 x 6 outputs would divide by 3 x ...
        ((3, 2, 4, 5, 5), (6, 3, 3, 3), {}),
        ((3, 4, 5), (6, 4, 3, 3), {}),
    ],
)
def test_convolution_refuses_what_one_example_would_be_refused_for(x, w, options):
    with pytest.raises(RuntimeError, match="conv"):
        vmap(lambda x, w: nn.conv2d(x, w, **options), in_dims=(0, None))(random(*x), random(*w))


def test_channels_last_examples():
    x = random(3, 2, 4, 5, 5).permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
    check(nn.conv2d, [x, random(3, 6, 4, 3, 3)], (0, 0))


POOLS = {
    "max_pool2d": (lambda x: nn.max_pool2d(x, 2, padding=1), (2, 3, 5, 6)),
    "max_pool2d one image": (lambda x: nn.max_pool2d(x, 3, 2, ceil_mode=True), (3, 6, 6)),
    "max_pool1d": (lambda x: nn.max_pool1d(x, 2), (2, 3, 7)),
    "max_pool3d": (lambda x: nn.max_pool3d(x, 2), (2, 3, 4, 4, 4)),
    "avg_pool2d": (lambda x: nn.avg_pool2d(x, 2, 1, 1, count_include_pad=False), (2, 3, 5, 6)),
    "avg_pool1d": (lambda x: nn.avg_pool1d(x, 2), (3, 7)),
    "avg_pool3d": (lambda x: nn.avg_pool3d(x, 2), (1, 2, 4, 4, 4)),
    "adaptive_avg_pool2d": (lambda x: nn.adaptive_avg_pool2d(x, (2, 3)), (2, 3, 5, 7)),
    "adaptive_avg_pool3d": (lambda x: nn.adaptive_avg_pool3d(x, 2), (3, 5, 4, 4)),
    "adaptive_max_pool2d": (lambda x: nn.adaptive_max_pool2d(x, (2, 3)), (3, 5, 7)),
    "adaptive_max_pool3d": (lambda x: nn.adaptive_max_pool3d(x, 2), (2, 3, 4, 4, 4)),
    "lp_pool2d": (lambda x: nn.lp_pool2d(x.abs() + 1, 2, 2), (2, 3, 4, 4)),
    "unfold": (lambda x: nn.unfold(x, 2, padding=1), (2, 3, 4, 4)),
    "unfold one image": (lambda x: nn.unfold(x, 2), (3, 4, 4)),
    "fold": (lambda x: nn.fold(x, (4, 4), 2), (2, 12, 9)),
    "fold one image": (lambda x: nn.fold(x, (4, 4), 2), (12, 9)),
    "nearest": (lambda x: nn.interpolate(x, scale_factor=2), (2, 3, 4)),
    "nearest-exact": (lambda x: nn.interpolate(x, size=(3, 7), mode="nearest-exact"), (2, 3, 4, 5)),
    "nearest volume": (lambda x: nn.interpolate(x, scale_factor=1.5), (1, 2, 4, 4, 2)),
    "linear": (lambda x: nn.interpolate(x, scale_factor=2, mode="linear"), (2, 3, 4)),
    "bilinear": (lambda x: nn.interpolate(x, size=(3, 7), mode="bilinear", align_corners=True), (2, 3, 4, 5)),
    "antialiased": (lambda x: nn.interpolate(x, size=(2, 3), mode="bilinear", antialias=True), (2, 3, 6, 7)),
    "bicubic": (lambda x: nn.interpolate(x, size=(3, 7), mode="bicubic"), (2, 3, 4, 5)),
    "trilinear": (lambda x: nn.interpolate(x, size=(3, 4, 5), mode="trilinear"), (1, 2, 2, 3, 4)),
    "pixel_shuffle": (lambda x: nn.pixel_shuffle(x, 2), (2, 4, 3, 3)),
    "pixel_unshuffle": (lambda x: nn.pixel_unshuffle(x, 2), (2, 1, 4, 4)),
    "channel_shuffle": (lambda x: nn.channel_shuffle(x, 2), (2, 4, 3, 3)),
}


@pytest.mark.parametrize("name", POOLS)
def test_images(name):
    function, shape = POOLS[name]
    check_all(function, [shape])


def test_indices_of_pooling_and_back():
    def function(x):
        values, indices = nn.max_pool2d(x, 2, return_indices=True)
        return nn.max_unpool2d(values, indices, 2)

    check_all(function, [(2, 3, 4, 4)])
    check_all(function, [(3, 4, 4)])
    check_all(lambda x: nn.max_unpool3d(*nn.max_pool3d(x, 2, return_indices=True), 2), [(1, 2, 4, 4, 2)])


def test_grids():
    check_all(lambda x, g: nn.grid_sample(x, mt.tanh(g), align_corners=False), [(2, 3, 4, 4), (2, 3, 2, 2)])
    check_all(lambda t: nn.affine_grid(t, (2, 3, 4, 5), align_corners=True), [(2, 2, 3)])


@pytest.mark.parametrize("shape", [(3, 4, 4), (3, 1, 2, 3, 4, 4)])
def test_pooling_refuses_other_ranks(shape):
    with pytest.raises(RuntimeError, match="max_pool2d"):
        vmap(lambda x: nn.max_pool2d(x, 2))(random(*shape))


def test_pooling_of_no_examples():
    with vmap_fallback_policy("error"):
        assert vmap(lambda x: nn.max_pool2d(x, 2))(random(0, 2, 3, 4, 4)).shape == (0, 2, 3, 2, 2)
        assert vmap(lambda x: nn.avg_pool2d(x, 2))(random(0, 3, 4, 4)).shape == (0, 3, 2, 2)
        assert vmap(lambda x: nn.interpolate(x, scale_factor=2))(random(0, 2, 3, 4)).shape == (0, 2, 3, 8)
