"""Padding, resampling, pooling and convolution: edge rules with literal expectations."""

import math

import numpy as np
import pytest

import minitorch as mt
import minitorch.nn.functional as F

NAN = math.nan


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), np.asarray(expected), rtol=1e-4, atol=1e-5)


def row(n):
    return mt.arange(float(n)).reshape(1, 1, n)


def image(height, width):
    return mt.arange(float(height * width)).reshape(1, 1, height, width)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("reflect", [2, 1, 0, 1, 2, 3, 2]),
        ("replicate", [0, 0, 0, 1, 2, 3, 3]),
        ("circular", [2, 3, 0, 1, 2, 3, 0]),
    ],
)
def test_padding_modes(mode, expected):
    close(F.pad(row(4), (2, 1), mode=mode), [[expected]])


@pytest.mark.parametrize(
    ("mode", "lines"),
    [
        (
            "reflect",
            [[7, 6, 7, 8, 7, 6], [4, 3, 4, 5, 4, 3], [1, 0, 1, 2, 1, 0], [4, 3, 4, 5, 4, 3], [7, 6, 7, 8, 7, 6]],
        ),
        ("replicate", [[0, 0, 1, 2, 2, 2]] * 3 + [[3, 3, 4, 5, 5, 5], [6, 6, 7, 8, 8, 8]]),
        (
            "circular",
            [[5, 3, 4, 5, 3, 4], [8, 6, 7, 8, 6, 7], [2, 0, 1, 2, 0, 1], [5, 3, 4, 5, 3, 4], [8, 6, 7, 8, 6, 7]],
        ),
    ],
)
def test_padding_of_images(mode, lines):
    close(F.pad(image(3, 3), (1, 2, 2, 0), mode=mode), [[lines]])


def test_negative_padding_cuts():
    close(F.pad(mt.arange(9.0).reshape(3, 3), (-1, 1, 0, -1), value=5), [[1, 2, 5], [4, 5, 5]])
    close(F.pad(row(5), (-1, 2), mode="replicate"), [[[1, 2, 3, 4, 4, 4]]])
    close(F.pad(row(5), (-1, 2), mode="circular"), [[[1, 2, 3, 4, 1, 2]]])


def test_reflection_must_fit():
    with pytest.raises(RuntimeError, match="less than the corresponding input dimension"):
        F.pad(row(4), (4, 1), mode="reflect")


@pytest.mark.parametrize(
    ("mode", "up", "down", "scaled", "recomputed"),
    [
        ("nearest", [0, 0, 1, 1, 2, 2, 3], [0, 2, 4], [0, 0, 1, 1, 2, 2], [0, 0, 1, 2, 2, 3]),
        ("nearest-exact", [0, 0, 1, 2, 2, 3, 3], [1, 3, 5], [0, 0, 1, 2, 2, 3], [0, 1, 1, 2, 3, 3]),
        (
            "linear", [0, 0.35714, 0.92857, 1.5, 2.07143, 2.64286, 3], [0.66667, 3, 5.33333],
            [0, 0.38235, 0.97059, 1.55882, 2.14706, 2.73529], [0, 0.5, 1.16667, 1.83333, 2.5, 3],
        ),
        ("area", [0, 0.5, 1, 1.5, 2, 2.5, 3], [1, 3, 5], [0, 0.5, 1, 2, 2.5, 3], [0, 0.5, 1, 2, 2.5, 3]),
    ],
)  # fmt: skip
def test_interpolation_of_a_row(mode, up, down, scaled, recomputed):
    close(F.interpolate(row(4), size=7, mode=mode), [[up]])
    close(F.interpolate(row(7), size=3, mode=mode), [[down]])
    close(F.interpolate(row(4), scale_factor=1.7, mode=mode), [[scaled]])
    close(F.interpolate(row(4), scale_factor=1.7, mode=mode, recompute_scale_factor=True), [[recomputed]])


@pytest.mark.parametrize(
    ("mode", "align", "columns", "lines", "single"),
    [
        ("bilinear", True, [0, 1.5, 3], [0, 2, 4, 6, 8], 0.0),
        ("bicubic", True, [0, 1.5, 3], [0, 1.625, 4, 6.375, 8], 0.0),
        ("bilinear", False, [0.16667, 1.5, 2.83333], [0, 1.6, 4, 6.4, 8], 5.5),
        ("bicubic", False, [0.12616, 1.5, 2.87384], [-0.384, 1.264, 4, 6.736, 8.384], 5.5),
    ],
)
def test_interpolation_of_an_image(mode, align, columns, lines, single):
    expected = np.add.outer(lines, columns)  # the image is a sum of a column and a row
    close(F.interpolate(image(3, 4), size=(5, 3), mode=mode, align_corners=align)[0, 0], expected)
    close(F.interpolate(image(3, 4), size=(1, 1), mode=mode, align_corners=align), [[[[single]]]])


def test_grid_sample_reflects():
    grid = mt.tensor([[[[-1.0, -1.0], [0.3, 1.2], [2.0, -2.0]]]])
    close(F.grid_sample(image(3, 3), grid, padding_mode="reflection", align_corners=False), [[[[0, 7.45, 4]]]])


def test_ceil_mode_starts_no_window_in_the_padding():
    values, indices = F.max_pool1d(row(6), 2, stride=3, ceil_mode=True, return_indices=True)
    close(values, [[[1, 4]]])
    close(indices, [[[1, 4]]])
    close(F.lp_pool1d(row(5), 2, 2, ceil_mode=True), [[[1, math.sqrt(13), math.sqrt(32)]]])
    close(F.avg_pool1d(row(7), 3, stride=2, padding=1, ceil_mode=True), [[[1 / 3, 2, 4, 11 / 3]]])
    close(
        F.avg_pool2d(image(5, 5), 3, stride=3, padding=1, ceil_mode=True, count_include_pad=False),
        [[[[3, 5.5], [15.5, 18]]]],
    )


def test_max_pool_passes_nan_on():
    values, indices = F.max_pool1d(mt.tensor([[[1.0, NAN, 2.0, 3.0]]]), 2, return_indices=True)
    close(values, [[[NAN, 3]]])
    close(indices, [[[1, 3]]])


def test_dilated_pooling():
    expected = [[6, 7, 8, 9, 8], [11, 12, 13, 14, 13], [16, 17, 18, 19, 18], [21, 22, 23, 24, 23], [16, 17, 18, 19, 18]]
    values, indices = F.max_pool2d(image(5, 5), 2, stride=1, dilation=2, padding=1, return_indices=True)
    close(values, [[expected]])
    close(indices, [[expected]])


def test_adaptive_windows_overlap():
    close(F.adaptive_avg_pool1d(row(7), 3), [[[1, 3, 5]]])
    close(F.adaptive_max_pool1d(row(7), 3), [[[2, 4, 6]]])


def test_integer_averages_are_cut_towards_zero():
    close(F.avg_pool1d(mt.tensor([[5, -7, -3, 9]]), 3), [[-1]])
    close(F.avg_pool2d(mt.tensor([[[5, -7], [3, -9]]]), 2), [[[-2]]])


def test_pooling_refuses_empty_channels():
    with pytest.raises(RuntimeError, match="2D or 3D"):
        F.max_pool1d(mt.empty(0, 10), 1)
    with pytest.raises(RuntimeError, match="non-empty"):
        F.max_pool3d(mt.empty(0, 1, 2, 10), 1)
    assert F.max_pool1d(mt.empty(0, 3, 10), 2).shape == (0, 3, 5)


def test_fractional_pooling_with_given_samples():
    samples = mt.tensor([[[0.25, 0.5]]])
    values, indices = F.fractional_max_pool2d(
        image(5, 5), 2, output_size=3, return_indices=True, _random_samples=samples
    )
    close(values, [[[[6, 7, 9], [16, 17, 19], [21, 22, 24]]]])
    close(indices, values.long())
    with pytest.raises(ValueError, match="output_size or an output_ratio"):
        F.fractional_max_pool2d(image(5, 5), 2)


def test_convolution_with_groups_and_dilation():
    x = mt.arange(36.0).reshape(1, 4, 3, 3)
    first, second = [[52, 60], [76, 84]], [[196, 204], [220, 228]]
    close(F.conv2d(x, mt.ones(4, 2, 2, 2), groups=2), [[first, first, second, second]])
    close(F.conv1d(row(8), mt.tensor([[[1.0, 2.0, 3.0]]]), dilation=2, padding=1, stride=2), [[[11, 22, 34]]])
    close(F.conv1d(row(5), mt.tensor([[[1.0, 2.0, 3.0, 4.0]]]), padding="same"), [[[11, 20, 30, 20, 11]]])
    close(F.conv1d(row(5)[0], mt.tensor([[[1.0, 2.0]]]), padding="valid"), [[2, 5, 8, 11]])


def test_transposed_convolution():
    weight = mt.tensor([[[1.0, 2.0, 3.0]]])
    close(F.conv_transpose1d(row(3), weight, stride=2, padding=1, output_padding=1), [[[0, 1, 2, 5, 4, 6]]])
    first, second = [0, 1, 0, 0, 1], [2, 3, 0, 2, 3]
    x = mt.arange(4.0).reshape(1, 2, 2)
    close(F.conv_transpose1d(x, mt.ones(2, 2, 2), groups=2, dilation=3), [[first, first, second, second]])


def test_unfold_and_fold():
    expected = [[0, 0, 0, 4], [0, 0, 3, 5], [0, 1, 0, 7], [0, 2, 6, 8]]
    close(F.unfold(image(3, 3), 2, padding=1, stride=2), [expected])
    close(F.fold(mt.ones(1, 4, 4), (3, 3), 2), [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]])
    x = mt.ones(1, 4, 4, dtype=mt.complex64)
    assert F.fold(x * 1j, (3, 3), 2)[0, 0, 1, 1].item() == 4j


# ---------------------------------------------------------------- memory formats


def channels_last(*shape):
    return mt.arange(float(math.prod(shape))).reshape(shape).to(memory_format=mt.channels_last)


CHANNELS_LAST = [
    lambda x: F.max_pool2d(x, 2),
    lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    lambda x: F.avg_pool2d(x, 2),
    lambda x: F.adaptive_avg_pool2d(x, 3),
    lambda x: F.adaptive_avg_pool2d(x, 1),
    lambda x: F.adaptive_max_pool2d(x, 3),
    lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    lambda x: F.interpolate(x, size=(5, 5)),
    lambda x: F.interpolate(x, size=(5, 5), mode="bilinear"),
    lambda x: F.interpolate(x, size=(5, 5), mode="bicubic", antialias=True),
    lambda x: F.pad(x, (1, 1, 1, 1)),
    lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"),
    lambda x: F.conv2d(x, mt.ones(4, 6, 3, 3)),
    lambda x: F.conv2d(x.contiguous(), mt.ones(4, 6, 3, 3).to(memory_format=mt.channels_last)),
    lambda x: F.conv_transpose2d(x, mt.ones(6, 4, 3, 3)),
    lambda x: F.batch_norm(x, None, None, training=True),
    lambda x: F.group_norm(x, 2),
    lambda x: F.pixel_unshuffle(x, 2),
    lambda x: F.channel_shuffle(x, 2),
    lambda x: mt.roll(x, 1, 2),
]


@pytest.mark.parametrize("number", range(len(CHANNELS_LAST)))
def test_channels_last_goes_through(number):
    x = channels_last(2, 6, 8, 8)
    call = CHANNELS_LAST[number]
    result, plain = call(x), call(x.contiguous())
    assert result.is_contiguous(memory_format=mt.channels_last)
    n, c, h, w = result.shape
    assert result.stride() == (h * w * c, 1, w * c, c)
    np.testing.assert_allclose(result.numpy(), plain.numpy(), rtol=1e-5, atol=1e-5)
    meta = x.to("meta")
    if number not in (6, 14):  # these make tensors of their own on the CPU
        with mt.device("meta"):
            assert call(meta).stride() == result.stride()


def test_images_of_one_pixel_keep_their_format():
    x = F.adaptive_avg_pool2d(channels_last(2, 6, 8, 8), 1)
    assert x.stride() == (6, 1, 6, 6)
    assert F.conv2d(x, mt.ones(4, 6, 1, 1)).stride() == (4, 1, 4, 4)
    assert F.conv2d(mt.ones(2, 6, 1, 1), mt.ones(4, 6, 1, 1)).stride() == (4, 1, 1, 1)


def test_one_channel_is_not_taken_for_channels_last():
    assert F.max_pool2d(mt.ones(2, 1, 4, 4), 2).stride() == (4, 4, 2, 1)


def test_casts_to_integers_follow_the_memory_format():
    x = mt.ones(2, 3).t()
    assert x.int().stride() == (1, 3)
    assert x.int(memory_format=mt.contiguous_format).stride() == (2, 1)
    assert x.float(memory_format=mt.contiguous_format) is x


def test_strides_of_empty_tensors():
    assert mt.empty(2, 0, 3).stride() == (3, 3, 1)
    assert mt.empty(0).stride() == (1,)
    assert mt.empty(2, 0, 3).relu().stride() == (3, 3, 1)
    assert mt.empty(2, 0, 3, device="meta").stride() == (3, 3, 1)


def test_resampling_of_bytes_rounds_after_each_pass():
    x = mt.tensor([[0, 100, 255], [30, 7, 90]], dtype=mt.uint8).reshape(1, 1, 2, 3)
    for mode, antialias, size, expected in BYTES:
        result = F.interpolate(x, size=size, mode=mode, antialias=antialias)
        assert result.dtype is mt.uint8
        assert result[0, 0].tolist() == expected


BYTES = [
    ("bilinear", False, (3, 4), [[0, 63, 158, 255], [15, 40, 98, 173], [30, 16, 38, 90]]),
    ("bilinear", True, (1, 2), [[30, 128]]),
    ("bicubic", False, (3, 4), [[0, 51, 179, 255], [16, 27, 101, 176], [35, 2, 22, 82]]),
    ("bicubic", True, (1, 2), [[24, 133]]),
]
